"""What Ctrl-C and the end from outside do to the processes that draw pages."""

from __future__ import annotations

import signal
import sys


def ends_whole() -> None:
    """From now on SIGTERM ends this process as an exit does, which leaves nothing half written."""
    from experiments.interrupts import raise_again

    raise_again(SystemExit, signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def leave_held_interrupts() -> None:
    """Ignore Ctrl-C where it was withheld from this process, also after ``multiprocessing`` has lifted the mask.

    Its tracker of resources unblocks SIGINT when it starts, whether it was blocked before or not.
    """
    if signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
