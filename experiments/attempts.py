"""Work of which some may fail and the rest goes on: computed once, timed, and what it raises is its result."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")
ORPHAN_SECONDS = 1.0  # how often a worker looks whether its parent is still there


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


def end_with(parent: int) -> None:
    """End this process soon after its parent has, even if that was killed and could tell nobody.

    It is the first thing that a worker does: one that was just being started when its parent was killed is never
    handed any work, and would wait for ever.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
