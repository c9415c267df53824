"""Calls of a function one by one, or several at once where it has ``ask_many``, as processes do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from simlab.certify.contracts.base import Case, Function
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.scripted import NotScripted, Scripted

TOO_SLOW = "too slow"
FIRST_TOGETHER = 8  # calls that are asked for at once before it is known how long they take
TOGETHER_BYTES = 1 << 26  # of the arguments of calls that are asked for at once, about
TOGETHER = 0.1  # seconds of calls that are asked for at once, about


class Asking:
    """Asks a function for calls of a case; several at once if it has ``ask_many``, the more the faster it answers."""

    def __init__(self, case: Case, function: Function) -> None:
        self.case, self.function = case, function
        self.together = 1 if case.kinds else FIRST_TOGETHER  # drawn ones may be large

    @property
    def at_once(self) -> bool:
        """Whether several calls can be asked for at once."""
        return hasattr(self.function, "ask_many")

    def answers(self, calls: Iterable[tuple[Any, int, np.random.Generator]]) -> Iterator[Tokens]:
        """What is emitted in calls one after the other; each is inputs, a number among them, and a generator."""
        if not self.at_once:
            yield from (self.case.ask(self.function, *call) for call in calls)
            return
        left = iter(calls)
        while part := list(islice(left, self.together)):
            start = time.perf_counter()
            given = [self._arguments(*call) for call in part]
            for (inputs, i, rng), answer in zip(part, self.function.ask_many(given), strict=True):  # type: ignore[attr-defined]
                unused = Scripted(()) if isinstance(rng, Scripted) else rng  # it counts what is asked of it
                yield self.case.ask(lambda *_, answer=answer: answer, inputs, i, unused)
            seconds = max(1e-6, time.perf_counter() - start)
            most = min(TOGETHER * len(part) / seconds, TOGETHER_BYTES / _bytes(given[0]))
            self.together = int(min(4 * self.together, max(1, most)))

    def _arguments(self, inputs: Any, i: int, rng: np.random.Generator) -> tuple[Any, ...]:
        def called(*arguments: Any) -> Any:
            raise _Arguments(arguments)

        try:
            self.case.ask(called, inputs, i, rng)
        except _Arguments as found:
            arguments: tuple[Any, ...] = found.args[0]
            return arguments
        raise AssertionError("asking a case calls the function")


def _bytes(arguments: tuple[Any, ...]) -> int:
    return max(1, sum(int(getattr(one, "nbytes", 0)) for one in arguments))


class _Arguments(Exception):
    """What a call would be given."""


class Patient:
    """A function that is not called any more once ``patience`` is at an end."""

    def __init__(self, function: Function, patience: Callable[[], bool]) -> None:
        self.function, self.patience = function, patience

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self._check()
        return self.function(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        if name == "ask_many":
            self._check()
        return found

    def _check(self) -> None:
        if not self.patience():
            raise NotScripted(TOO_SLOW)
