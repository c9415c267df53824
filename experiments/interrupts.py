"""Handling of Ctrl-C: an interrupt is never lost, and worker processes leave it to the parent.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be. In a callback that nobody can catch from, a
finaliser or what runs around a fork (``logging`` takes its lock there), it is printed as "Exception ignored in" and
gone. :func:`lasting_interrupts` has it raised again, and takes for it what a library raises in the meantime, as a
compiler whose callback was cut short; :func:`held_interrupts` withholds it from processes that start.
What has been written by then is in :data:`WRITTEN`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

WRITTEN: list[Path] = []  # the files that the command has put in place so far
AGAIN_SECONDS = 0.05  # until an interrupt that was ignored comes back: by then the callback has returned


@contextmanager
def lasting_interrupts() -> Iterator[None]:
    """Within, a ``KeyboardInterrupt`` that Python ignored in a callback is raised again soon after.

    What is raised until then is raised as a ``KeyboardInterrupt``: the callback has not done what it was called for.
    """
    before = sys.unraisablehook
    timers = raise_again(KeyboardInterrupt, signal.SIGINT)
    try:
        yield
    except Exception as error:
        if not timers:
            raise
        raise KeyboardInterrupt from error
    finally:
        sys.unraisablehook = before
        for timer in timers:
            timer.cancel()
            timer.join()  # one that has just begun interrupts here, and not whoever comes after


def raise_again(kind: type[BaseException], number: signal.Signals) -> list[threading.Timer]:
    """From now on this signal is sent to this process again, soon after Python ignored what its handler raised.

    ``kind`` is what the handler raises. Returns what sends the signals, a list that grows as they are needed.
    """
    before, main, timers = sys.unraisablehook, threading.main_thread(), list[threading.Timer]()

    def again(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, kind):
            before(unraisable)
            return
        timer = threading.Timer(AGAIN_SECONDS, lambda: signal.pthread_kill(main.ident or 0, number))
        timer.daemon = True
        timers.append(timer)
        timer.start()

    sys.unraisablehook = again
    return timers


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Within, an interrupt waits until the end; processes that are started here never get one: they inherit the mask.

    The mask is that of this thread alone. Any other may receive an interrupt, one of a numerical library too, and
    Python handles it in the main thread all the same, so that its handler waits as well.
    """
    main = threading.current_thread() is threading.main_thread()
    with waiting(signal.SIGINT) if main else nullcontext():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def waiting(number: signal.Signals) -> Iterator[None]:
    """Within, signals of this number are noted; one that was is raised at the end. For the main thread alone."""
    noted: list[int] = []
    handler = signal.signal(number, lambda number, frame: noted.append(number))
    try:
        yield
    finally:
        signal.signal(number, handler)
        if noted:
            signal.raise_signal(number)


def run_held(command: Sequence[str]) -> int:
    """The exit status of another process, which leaves interrupts to this one: here they end it."""
    process = None
    try:
        with held_interrupts():
            process = subprocess.Popen(command)
        return process.wait()
    finally:
        if process is not None and process.poll() is None:
            process.terminate()
            process.wait()


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt is what ``error`` came of: libraries may raise another error in its place."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
