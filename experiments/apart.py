"""Run what may end, hang or split its process in a process of its own; what becomes of it is told, whatever it is.

Importing a module runs it, so that a command that judges code of somebody else must not import it itself: an
``os._exit(0)`` there would be the exit status of the command. Here the command is the one that waits, and a process
that ends without an answer is an answer: :class:`Lost`.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from experiments.interrupts import held_interrupts
from simlab.child import Child, Shared
from simlab.messages import SPLIT, raised

LOOK = 0.2  # seconds after which a process that says nothing is looked at
IMPORTING = 120.0  # seconds that an import may take

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

    def __init__(self, pipe: Connection, shared: Shared) -> None:
        self.pipe, self.shared = pipe, shared

    def tell(self, *said: Any) -> None:
        """Pass on what the other end says."""
        self.send("told", said)

    def send(self, kind: str, what: Any) -> None:
        self.shared.end_copy()
        self.pipe.send_bytes(json.dumps([kind, what]).encode("utf-8", "backslashreplace"))

    def within(self, limit: float, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of somebody else, each call of which may take so many seconds."""

        def call(*arguments: Any, **named: Any) -> Any:
            with self.asking(limit):
                return function(*arguments, **named)

        return call

    def importing(self) -> AbstractContextManager[None]:
        """Within, a module of somebody else is imported."""
        return self.asking(IMPORTING)

    @contextmanager
    def asking(self, limit: float) -> Iterator[None]:
        """Within, code of somebody else runs, for at most so many seconds."""
        self.shared.limit.value = limit
        self.shared.beat.value += 1  # odd while it runs
        try:
            yield
        finally:
            self.shared.end_copy()
            self.shared.beat.value += 1


class Apart(Child):
    """A process that does ``work(link)``, whose answer is made of lists, dicts, texts and numbers.

    Use it as a context: at its end the process and what it has started are gone.
    """

    def __init__(self, work: Callable[[Link], Any]) -> None:
        with held_interrupts():  # an interrupt is for the one that waits
            super().__init__(lambda pipe, shared: _serve(Link(pipe, shared), work))

    def answer(self, progress: Progress) -> Any:
        """The answer of the work, or :class:`Lost`; ``progress`` is called with what it tells before."""
        while True:
            if self.shared.split.value:
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
            elif self._hangs():
                return self._lost("hangs", f"does not return within {self.shared.limit.value:g} s")

    def _hangs(self) -> bool:
        silent = self.silent()  # first: what it has begun is as it was seen there
        return self.seen % 2 == 1 and silent > self.shared.limit.value

    def _ended(self) -> Lost:
        return self._lost("dies", f"ends the process that runs it ({self.how_it_ended()})")

    def _lost(self, kind: str, message: str) -> Lost:
        self.end()
        return Lost(kind, message)

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


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


def _serve(link: Link, work: Callable[[Link], Any]) -> None:
    try:
        answer = "done", work(link)
    except BaseException as error:
        answer = "raised", (raised(error), "".join(traceback.format_exception(error)[-3:])[-2000:])
    with suppress(BaseException):
        link.send(*answer)
