"""A process of one's own, forked, for what may end, hang or split it: whoever waits for it lives on, and knows.

It has a group of its own, so that it ends with all that it has started; it ends when its parent does; what it prints is
not shown, and an interrupt is for the parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawValue
from typing import Any

PARENT_DIES = 1  # of prctl: the signal that a process gets when its parent has ended


class Shared:
    """What a process and its parent both see.

    ``beat`` counts what it has begun or done, ``limit`` is the seconds that what it does now may take, and ``split`` is
    1 once a copy of it was found.
    """

    def __init__(self) -> None:
        self.beat: Any = RawValue("Q", 0)
        self.limit: Any = RawValue("d", 0)
        self.split: Any = RawValue("B", 0)
        self.owner = os.getpid()

    def end_copy(self) -> None:
        """End here in a copy of the process, made by the code that is run, which goes on as if it were the process."""
        if os.getpid() != self.owner:
            self.split.value = 1
            os._exit(1)


class Child:
    """A process that does ``work(pipe, shared)``; ``pipe`` here is the other end of the one that it is given."""

    def __init__(self, work: Callable[[Connection, Shared], None]) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.shared = Shared()
        self.ended = False
        self.process = context.Process(target=_begin, args=(os.getpid(), self.pipe, theirs, self.shared, work))
        self.watch()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: none is used there
            self.process.start()
        theirs.close()

    def watch(self) -> None:
        """Count from now how long its beat stands still."""
        self.seen, self._since = int(self.shared.beat.value), time.monotonic()

    def silent(self) -> float:
        """Seconds since its beat was first ``seen`` as it is."""
        if int(self.shared.beat.value) != self.seen:
            self.watch()
        return time.monotonic() - self._since

    def how_it_ended(self) -> str:
        """How a process ended whose pipe has ended."""
        self.process.join(1)
        status = self.process.exitcode
        return "it closes what it should answer through" if status is None else f"exit status {status}"

    def end(self) -> None:
        """End the process and its group."""
        if self.ended:
            return
        self.ended = True
        assert self.process.pid, "it was started"
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.is_alive():  # it had no time to make a group
            self.process.kill()
        self.process.join()
        self.pipe.close()


def _begin(
    parent: int, parents: Connection, pipe: Connection, shared: Shared, work: Callable[[Connection, Shared], None]
) -> None:
    _end_with(parent)
    os.setsid()  # a group of its own
    parents.close()  # or the end of the parent would not be seen
    signal.signal(signal.SIGINT, lambda *_: None)  # unlike one that is ignored, what it starts has it as usual
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # what it starts has the usual mask
    devnull = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(devnull, stream)
    sys.stdout = sys.stderr = os.fdopen(devnull, "w")  # in a notebook or a test they are something else
    shared.owner = os.getpid()
    status = 1
    try:
        work(pipe, shared)
        status = 0
    finally:
        os._exit(status)  # threads that were started are not waited for


def _end_with(parent: int) -> None:
    """End this process when its parent ends, also in the middle of a call; where the system can.

    On Linux it is the thread that started it whose end counts: start no child in a thread that ends before.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
