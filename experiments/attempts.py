"""Work of which some may fail and the rest goes on: computed once, timed, and what it raises is its result."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")


class Failure(str):
    """Why work failed, for people: the last line says what, the rest where."""


def attempt(work: Callable[[], Result], clock: Callable[[], float]) -> tuple[Result | Failure, float]:
    """What ``work`` returns, or the :class:`Failure` it ends in, and the seconds it took on ``clock``."""
    started = clock()
    result: Result | Failure
    try:
        result = work()
    except Exception:  # the others go on
        result = Failure(traceback.format_exc().strip())
    return result, clock() - started


@cache
def settle() -> None:
    """What a worker does first: a process a core, so a thread a process."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
