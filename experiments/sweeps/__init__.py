"""Sweeps: a grid of process x decoder x rule x seeds, computed in cells; an interrupted run can be resumed."""

from experiments.attempts import Failure
from experiments.locks import Busy
from experiments.sweeps.cells import Cell, cells
from experiments.sweeps.frames import summary
from experiments.sweeps.pools import Lost, Outcome, Pool, local
from experiments.sweeps.run import Done, Failed, Listener, run_sweep
from experiments.sweeps.spec import Spec, parse_spec, read_spec

__all__ = [
    "Busy",
    "Cell",
    "Done",
    "Failed",
    "Failure",
    "Listener",
    "Lost",
    "Outcome",
    "Pool",
    "Spec",
    "cells",
    "local",
    "parse_spec",
    "read_spec",
    "run_sweep",
    "summary",
]
