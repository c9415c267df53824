"""Run what may end, hang or split its process in a process of its own; what becomes of it is told, whatever it is.

Importing a module runs it, so that a command that judges code of somebody else must not import it itself: an
``os._exit(0)`` there would be the exit status of the command. Here the command is the one that waits, and a process
that ends without an answer is an answer: :class:`Lost`.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from experiments.interrupts import held_interrupts
from simlab.messages import SPLIT, raised

LOOK = 0.2  # seconds after which a process that says nothing is looked at

Progress = Callable[..., None]


class Unfit(ValueError):
    """There is nothing of what was asked for."""


@dataclass(frozen=True)
class Lost:
    """How a process ended without an answer: ``kind`` is ``dies``, ``hangs``, ``raises`` or ``broken``."""

    kind: str
    message: str
    details: str = ""


class Link:
    """The other end, for the work: it tells how far it is, and says while code of somebody else runs."""

    def __init__(self, pipe: Connection, beat: Any, limit: Any, split: Any) -> None:
        self.pipe, self.beat, self.limit, self.split, self.own = pipe, beat, limit, split, os.getpid()

    def tell(self, *said: Any) -> None:
        """Pass on what the other end says."""
        self.send("told", said)

    def send(self, kind: str, what: Any) -> None:
        self.alone()
        self.pipe.send_bytes(json.dumps([kind, what]).encode("utf-8", "backslashreplace"))

    def alone(self) -> None:
        """End here in a copy of the process, made by the code that is run, which goes on as if it were the process."""
        if os.getpid() != self.own:
            self.split.value = 1
            os._exit(1)

    def within(self, limit: float, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of somebody else, each call of which may take so many seconds."""

        def call(*arguments: Any, **named: Any) -> Any:
            with self.asking(limit):
                return function(*arguments, **named)

        return call

    @contextlib.contextmanager
    def asking(self, limit: float) -> Iterator[None]:
        """Within, code of somebody else runs, for at most so many seconds."""
        self.limit.value = limit
        self.beat.value += 1  # odd while it runs
        try:
            yield
        finally:
            self.alone()
            self.beat.value += 1


class Apart:
    """A process that does ``work(link)``, whose answer is made of lists, dicts, texts and numbers.

    What it prints is not shown. Use it as a context: at its end the process and what it has started are gone.
    """

    def __init__(self, work: Callable[[Link], Any]) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.beat, self.limit, self.split = (context.RawValue(kind, 0) for kind in "QdB")
        self.process = context.Process(target=_serve, args=(self.pipe, theirs, self.beat, self.limit, self.split, work))
        with warnings.catch_warnings(), held_interrupts():  # an interrupt is for the one that waits
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: none is used there
            self.process.start()
        theirs.close()

    def answer(self, progress: Progress) -> Any:
        """The answer of the work, or :class:`Lost`; ``progress`` is called with what it tells before."""
        beat, since = 0, time.monotonic()
        while True:
            if self.split.value:
                return self._lost("broken", SPLIT)
            alive = self.process.is_alive()  # before the last look: a copy of it may hold the pipe open
            if self.pipe.poll(LOOK if alive else 0):
                try:
                    kind, what = json.loads(self.pipe.recv_bytes())
                except (EOFError, OSError, ValueError):
                    return self._ended()
                if kind == "told":
                    progress(*what)
                elif kind == "raised":
                    return Lost("raises", *what)
                else:
                    return what
            elif not alive:
                return self._ended()
            elif self.beat.value != beat:
                beat, since = self.beat.value, time.monotonic()
            elif beat % 2 and time.monotonic() - since > self.limit.value:
                return self._lost("hangs", f"does not return within {self.limit.value:g} s")

    def _ended(self) -> Lost:
        self.process.join(1)
        status = self.process.exitcode
        how = "it closes what it should answer through" if status is None else f"exit status {status}"
        return self._lost("dies", f"ends the process that runs it ({how})")

    def _lost(self, kind: str, message: str) -> Lost:
        self.end()
        return Lost(kind, message)

    def end(self) -> None:
        """End the process and its group."""
        assert self.process.pid, "it was started"
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.is_alive():  # it had no time to make a group
            self.process.kill()
        self.process.join()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.pipe.close()


def answer_apart(work: Callable[[Link], Any], found: Callable[[], None], progress: Progress) -> tuple[Any, bool]:
    """The answer of ``work(link)`` in a process of its own, or :class:`Lost`, and whether it told anything before.

    ``found`` is called once, before ``progress`` is with what the work tells; not at all where it tells nothing.
    Raises :class:`Unfit` where the work does.
    """
    there = list[bool]()

    def hear(*told: Any) -> None:
        if not there:
            there.append(True)
            found()
        progress(*told)

    def unless_unfit(link: Link) -> Any:
        try:
            return {"answer": work(link)}
        except Unfit as error:
            return {"unfit": str(error)}

    with Apart(unless_unfit) as process:
        answer = process.answer(hear)
    if isinstance(answer, Lost):
        if not there:
            found()
        return answer, bool(there)
    if "unfit" in answer:
        raise Unfit(answer["unfit"])
    return answer["answer"], bool(there)


def _serve(
    parents: Connection, pipe: Connection, beat: Any, limit: Any, split: Any, work: Callable[[Link], Any]
) -> None:
    os.setsid()
    parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    devnull = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(devnull, stream)
    sys.stdout = sys.stderr = os.fdopen(devnull, "w")
    link = Link(pipe, beat, limit, split)
    try:
        answer = "done", work(link)
    except BaseException as error:
        answer = "raised", (raised(error), "".join(traceback.format_exception(error)[-3:])[-2000:])
    with contextlib.suppress(BaseException):
        link.send(*answer)
    os._exit(0)  # threads that were started are not waited for
