"""Ctrl-C that cannot be lost."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 0.2  # seconds until an interrupt that was dropped is raised again


@contextmanager
def insistent_interrupts() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` on Ctrl-C in this process, and again until it is handled.

    Python drops an exception that is raised in a finaliser or a fork hook, such as the one that releases the locks of
    ``logging``; an interrupt that comes then would be lost. Interrupts that are ignored or handled otherwise, as in a
    process started in the background, stay so.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    process = os.getpid()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGALRM and _is_handled():
            return
        if os.getpid() == process:  # a fork has its own end
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_handled() -> bool:
    """Whether the code that a signal has stopped is at work because of an interrupt."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
