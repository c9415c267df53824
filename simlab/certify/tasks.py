"""What a process that calls somebody's code is asked to do with one case."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify import exact
from simlab.certify.base import Broken, Case, Function
from simlab.certify.scripted import NotScripted

ASKED_AGAIN = 8  # calls that are made twice to see whether the same generator gives the same tokens


class Task(ABC):
    """Work on case number :attr:`case` of a list."""

    case: int

    @abstractmethod
    def run(self, case: Case, function: Function, seed: int) -> Any:
        """What comes of it. Raises what ``function`` raises, and ``Broken``."""

    def inputs(self, case: Case, seed: int) -> Any:
        """The inputs of the calls it makes, in order, where that is known."""
        return None


@dataclass(frozen=True)
class Counts:
    """Counts of every kind of events of a case, and the seconds the calls took."""

    task: Sample
    counts: tuple[Array, ...]
    seconds: float


@dataclass(frozen=True)
class Sample(Task):
    """``calls`` calls; ``number`` tells the batches of a case apart."""

    case: int
    number: int
    calls: int

    def _streams(self, seed: int) -> list[np.random.Generator]:
        """Three generators: for drafts, for the callable, for completion."""
        return [np.random.default_rng([seed, self.case, self.number, purpose]) for purpose in range(3)]

    def inputs(self, case: Case, seed: int) -> Any:
        return case.inputs(self.calls, self._streams(seed)[0])

    def run(self, case: Case, function: Function, seed: int) -> Counts:
        _, verifying, completing = self._streams(seed)
        inputs = self.inputs(case, seed)
        tokens = np.full((self.calls, case.length), -1, np.int64)
        start = time.perf_counter()
        for i in range(self.calls):
            emitted = case.ask(function, inputs, i, verifying)
            tokens[i, : len(emitted)] = emitted
        seconds = time.perf_counter() - start
        done = case.completed(tokens, completing)
        counts = tuple(np.bincount(events.codes(done), minlength=len(events.law)) for events in case.events)
        return Counts(self, counts, seconds)


@dataclass(frozen=True)
class Conduct(Task):
    """Whether the arguments are left alone, and the same generator gives the same tokens."""

    case: int

    def inputs(self, case: Case, seed: int) -> Any:
        return case.inputs(ASKED_AGAIN, np.random.default_rng([seed, self.case]))

    def run(self, case: Case, function: Function, seed: int) -> tuple[str, ...]:
        inputs, notes = self.inputs(case, seed), list[str]()
        watched = _Watching(function)
        answers = []
        for _ in range(2):
            rng = np.random.default_rng([seed, self.case, 1])
            before = _global_state()
            answers.append([case.ask(watched, inputs, i, rng) for i in range(ASKED_AGAIN)])
            if _global_state() != before:
                notes.append("draws from NumPy's global generator beside the one it is given")
        if answers[0] != answers[1]:
            notes.append("the same arguments and generator give other tokens when it is called again: hidden state")
        notes += [f"changes its argument {name} in place" for name in sorted(watched.changed)]
        return tuple(dict.fromkeys(notes))


def _global_state() -> str:
    """NumPy's global generator, which a callable should leave alone."""
    return repr(np.random.get_state())  # noqa: NPY002


@dataclass
class _Watching:
    """A function whose arguments are compared before and after."""

    function: Function
    changed: set[str] = field(default_factory=set)

    def __call__(self, *arguments: Any) -> Any:
        before = [argument.copy() if isinstance(argument, np.ndarray) else None for argument in arguments]
        answer = self.function(*arguments)
        for place, (old, new) in enumerate(zip(before, arguments, strict=True)):
            if old is not None and not np.array_equal(old, new, equal_nan=old.dtype.kind == "f"):
                self.changed.add(str(place + 1))
        return answer


@dataclass(frozen=True)
class Impossible:
    """Why something cannot be done with this code."""

    reason: str


@dataclass(frozen=True)
class Enumerate(Task):
    """The exact law of the outcomes."""

    case: int

    def run(self, case: Case, function: Function, seed: int) -> exact.Exact | Impossible:
        try:
            found = exact.exactly(self.case, case, function, np.random.default_rng([seed, self.case, 2]))
        except NotScripted as why:
            return Impossible(str(why))
        return found or Impossible("an enumeration does not predict what it does")


@dataclass(frozen=True)
class Edges(Task):
    """Coins at their ends; raises :class:`~simlab.certify.exact.AtTheEdge`."""

    case: int

    def run(self, case: Case, function: Function, seed: int) -> Impossible | None:
        try:
            exact.check_edges(case, function)
        except NotScripted as why:
            return Impossible(str(why))
        return None


@dataclass(frozen=True)
class Fault:
    """What went wrong, in which call of which task; ``uniforms`` where they were given."""

    task: Task
    kind: str  # broken, raises, hangs, dies, edge
    message: str
    call: int
    inputs: Any = None
    uniforms: tuple[float, ...] = ()


def attempt(task: Task, case: Case, function: Function, seed: int, calls: Callable[[], int]) -> Any:
    """What comes of a task, or the :class:`Fault` that ends it; ``calls`` tells how many calls have ended."""
    first = calls()
    try:
        return task.run(case, function, seed)
    except exact.AtTheEdge as edge:
        return Fault(task, edge.kind, str(edge), 0, edge.inputs, edge.uniforms)
    except Broken as broken:  # the call has ended, and was counted
        return Fault(task, "broken", str(broken), calls() - first - 1)
    except (Exception, SystemExit) as error:
        return Fault(task, "raises", exact.raised(error), calls() - first)
