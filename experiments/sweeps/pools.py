"""Pools that compute cells: in this process, in worker processes, or on a Dask cluster.

A pool takes cells and yields an :class:`Outcome` for each as it comes, in any order. It computes and nothing else:
results are written by the caller. What a cell raises is its outcome; :class:`Lost` is raised where no
workers are left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

import pandas as pd
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from experiments.attempts import Failure, attempt, end_with, settle
from experiments.sweeps.cells import Cell, compute


class Lost(RuntimeError):
    """The workers are gone."""


class Outcome(NamedTuple):
    """What became of a cell, and the seconds it took."""

    key: str
    result: pd.DataFrame | Failure
    seconds: float


Outcomes = Generator[Outcome, None, None]
Pool = Callable[[Sequence[Cell]], Outcomes]


def outcome_of(cell: Cell) -> Outcome:
    """Compute a cell, whatever happens."""
    return Outcome(cell.key, *attempt(partial(compute, cell), perf_counter))


def local(workers: int) -> Pool:
    """A pool of ``workers`` processes on this machine; a single one is this process itself."""

    def here(cells: Sequence[Cell]) -> Outcomes:
        with threadpool_limits(1):
            yield from map(outcome_of, cells)

    def beside(cells: Sequence[Cell]) -> Outcomes:
        pool = Parallel(
            workers,
            "loky",
            batch_size=1,
            return_as="generator_unordered",
            initializer=end_with,
            initargs=(os.getpid(),),
        )
        try:
            yield from pool(delayed(outcome_beside)(cell) for cell in cells)
        except TerminatedWorkerError:
            raise Lost(
                "a worker ended without a result: it was killed, perhaps for want of memory; fewer --workers need less"
            ) from None

    return here if workers == 1 else beside


def outcome_beside(cell: Cell) -> Outcome:
    """The same in a worker, here or on another machine."""
    settle()
    return outcome_of(cell)
