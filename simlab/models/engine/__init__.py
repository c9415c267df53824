"""Many requests on one model: each with a seed, a condition and settings of its own, told as soon as it is over."""

from simlab.models.engine.requests import Request, Result
from simlab.models.engine.serve import serve

__all__ = ["Request", "Result", "serve"]
