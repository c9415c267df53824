"""Processes: where p and q come from."""

from simlab.processes.base import Process
from simlab.processes.processed import Processed
from simlab.processes.table import TableProcess

__all__ = ["Process", "Processed", "TableProcess"]
