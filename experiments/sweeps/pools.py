"""Pools that compute cells: in this process, in worker processes, or on a Dask cluster.

A pool takes cells and yields an :class:`Outcome` for each as it comes, in any order. It computes and nothing else:
results are written by the caller. What a cell raises is its outcome; :class:`Lost` is raised where no
workers are left.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from functools import cache
from time import perf_counter
from typing import NamedTuple

import pandas as pd
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from experiments.sweeps.cells import Cell, compute

ORPHAN_SECONDS = 1.0  # how often a worker looks whether its parent is still there


class Lost(RuntimeError):
    """The workers are gone."""


class Failure(str):
    """Why a cell failed, for people: the last line says what, the rest where."""


class Outcome(NamedTuple):
    """What became of a cell, and the seconds it took."""

    key: str
    result: pd.DataFrame | Failure
    seconds: float


Outcomes = Generator[Outcome, None, None]
Pool = Callable[[Sequence[Cell]], Outcomes]


def attempt(cell: Cell) -> Outcome:
    """Compute a cell, whatever happens."""
    started = perf_counter()
    result: pd.DataFrame | Failure
    try:
        result = compute(cell)
    except Exception:  # the others go on
        result = Failure(traceback.format_exc().strip())
    return Outcome(cell.key, result, perf_counter() - started)


def local(workers: int) -> Pool:
    """A pool of ``workers`` processes on this machine; a single one is this process itself."""

    def here(cells: Sequence[Cell]) -> Outcomes:
        with threadpool_limits(1):
            yield from map(attempt, cells)

    def beside(cells: Sequence[Cell]) -> Outcomes:
        pool = Parallel(workers, "loky", batch_size=1, return_as="generator_unordered")
        try:
            yield from pool(delayed(_attempt_beside)(cell, os.getpid()) for cell in cells)
        except TerminatedWorkerError:
            raise Lost(
                "a worker ended without a result: it was killed, perhaps for want of memory; fewer --workers need less"
            ) from None

    return here if workers == 1 else beside


def _attempt_beside(cell: Cell, parent: int) -> Outcome:
    settle()
    _end_with(parent)
    return attempt(cell)


@cache
def settle() -> None:
    """What a worker does first: a process a core, so a thread a process."""
    threadpool_limits(1)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent has, even if that was killed and could tell nobody."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
