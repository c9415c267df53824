"""What Ctrl-C and the end from outside do to the processes that draw pages."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def ends_whole() -> None:
    """From now on SIGTERM ends this process as an exit does, which leaves nothing half written."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def leave_held_interrupts() -> None:
    """Ignore Ctrl-C where it was withheld from this process, also after ``multiprocessing`` has lifted the mask.

    Its tracker of resources unblocks SIGINT when it starts, whether it was blocked before or not.
    """
    if signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def starting() -> Iterator[None]:
    """Within, Ctrl-C does nothing, and SIGTERM waits: a process that loses who starts it prints a traceback.

    Processes that are started here ignore Ctrl-C for good.
    """
    noted = list[int]()
    ended = signal.signal(signal.SIGTERM, lambda number, frame: noted.append(number))
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupted)
        signal.signal(signal.SIGTERM, ended)
        if noted:
            signal.raise_signal(signal.SIGTERM)
