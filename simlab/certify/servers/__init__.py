"""Servers: the tokens of an engine with speculation against those of the same engine without."""

from simlab.certify.servers.client import Endpoint, Request, Unanswered
from simlab.certify.servers.comparison import Comparison, Round

__all__ = ["Comparison", "Endpoint", "Request", "Round", "Unanswered"]
