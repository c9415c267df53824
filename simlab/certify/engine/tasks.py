"""Tasks of a worker process: sample, check the conduct, enumerate, or force the coins of one case."""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Broken, Case, Function
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.decoding import as_token
from simlab.certify.contracts.scripted import NotScripted
from simlab.certify.engine import exact
from simlab.certify.engine.asking import Asking, Patient
from simlab.messages import declines, raised, tampered

LOST = ("hangs", "dies")  # kinds of faults after which the process that calls is gone
HIDDEN = (
    "the same arguments and generator give other tokens when it is called again: hidden state; one process alone calls "
    "it, for another could repeat what it draws"
)
ASKED_AGAIN = 8  # calls that are made twice to see whether the same generator gives the same tokens


class Task(ABC):
    """Work on case number :attr:`case` of a list."""

    case: int

    @abstractmethod
    def run(self, case: Case, function: Function, seed: int) -> Any:
        """What comes of it. Raises what ``function`` raises, and ``Broken``."""

    def inputs(self, case: Case, seed: int) -> Any:
        """The inputs of the calls it makes, where they are known."""
        return None

    def place(self, call: int) -> int:
        """The place of a call's input among them."""
        return call


@dataclass(frozen=True)
class Counts:
    """Counts of every kind of events of a case, after so many calls, and the seconds these took."""

    task: Sample
    calls: int
    counts: tuple[Array, ...]
    seconds: float
    kept: float = 0.0  # first drafts, where the case knows what is possible
    names: tuple[str, ...] = ()  # of the kinds of events
    kinds: tuple[str, ...] = ()  # of the case
    distances: tuple[int, ...] = ()  # of two places that each kind of events has to do with; 0 where it has not
    placed: tuple[dict[int, Array], ...] = ()  # those counts of each kind that are of one position, by the position


@dataclass(frozen=True)
class Sample(Task):
    """``calls`` calls, or fewer if they take more than ``seconds``; ``number`` tells the batches of a case apart."""

    case: int
    number: int
    calls: int
    seconds: float = inf

    def _streams(self, seed: int) -> list[np.random.Generator]:
        """Three generators: for drafts, for the callable, for completion."""
        return [np.random.default_rng([seed, self.case, self.number, purpose]) for purpose in range(3)]

    def inputs(self, case: Case, seed: int) -> Any:
        return case.inputs(self.calls, self._streams(seed)[0])

    def run(self, case: Case, function: Function, seed: int) -> Counts:
        _, verifying, completing = self._streams(seed)
        begun = time.perf_counter()
        inputs = case.prepare(self.inputs(case, seed))
        tokens = np.full((self.calls, case.length), -1, np.int64)
        start = time.perf_counter()
        enough = max(self.seconds, start - begun)  # or large rows would take most of the time, and calls little
        made, seconds = 0, 0.0
        for emitted in Asking(case, function).answers((inputs, i, verifying) for i in range(self.calls)):
            tokens[made, : len(emitted)] = emitted
            made, seconds = made + 1, time.perf_counter() - start
            if seconds >= enough:
                break
        done = case.completed(tokens[:made], completing)
        counts = tuple(np.bincount(events.codes(done), minlength=len(events.law)) for events in case.events)
        kept = float(case.kept(inputs[:made], tokens[:made]).sum()) if case.possible else 0.0
        names = tuple(events.name for events in case.events)
        distances = tuple(events.distance for events in case.events)
        placed = tuple(events.by_place(done) for events in case.events)
        return Counts(self, made, counts, seconds, kept, names, case.kinds, distances, placed)


@dataclass(frozen=True)
class Conduct(Task):
    """Whether the arguments are left alone, and the same generator gives the same tokens."""

    case: int
    seconds: float = inf

    def inputs(self, case: Case, seed: int) -> Any:
        return case.inputs(ASKED_AGAIN, np.random.default_rng([seed, self.case]))

    def place(self, call: int) -> int:
        return call % ASKED_AGAIN  # all are made twice

    def run(self, case: Case, function: Function, seed: int) -> tuple[str, ...]:
        inputs, notes = self.inputs(case, seed), list[str]()
        watched = _ArgumentWatcher(function)
        answers: list[list[Tokens]] = []
        end = time.perf_counter() + self.seconds
        for _ in range(2):
            rng = np.random.default_rng([seed, self.case, 1])
            before = _global_state()
            answers.append([])
            while len(answers[-1]) < ASKED_AGAIN and not (answers[-1] and time.perf_counter() > end):
                answers[-1].append(case.ask(watched, inputs, len(answers[-1]), rng))
            if _global_state() != before:
                notes.append("draws from NumPy's global generator beside the one it is given")
        own = getattr(function, "own_randomness", False)  # then other tokens are no sign of anything
        if not own and any(one != other for one, other in zip(*answers, strict=False)):  # one list may be shorter
            notes.append(HIDDEN)
        notes += [f"changes its argument {name} in place" for name in sorted(watched.changed.difference(case.filled))]
        return tuple(dict.fromkeys(notes))


def _global_state() -> tuple[Any, ...]:
    """NumPy's global generator, which a callable should leave alone."""
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    return kind, np.asarray(words).tobytes(), *rest


@dataclass
class _ArgumentWatcher:
    """A function whose arguments are compared before and after."""

    function: Function
    changed: set[int] = field(default_factory=set)

    def __call__(self, *arguments: Any) -> Any:
        before = [_copied(argument) for argument in arguments]
        answer = self.function(*arguments)
        for place, (old, new) in enumerate(zip(before, arguments, strict=True)):
            if old is not None and not _alike(old, new):
                self.changed.add(place + 1)
        return answer


def _copied(argument: Any) -> Any:
    """A copy of an array or a tensor; None of anything else."""
    if isinstance(argument, np.ndarray):
        return argument.copy()
    return argument.clone() if hasattr(argument, "clone") else None


def _alike(old: Any, new: Any) -> bool:
    """Whether an array or a tensor holds what its copy does."""
    if isinstance(old, np.ndarray):
        return np.array_equal(old, new, equal_nan=old.dtype.kind == "f")
    return bool(old.shape == new.shape and (old == new).all())


@dataclass(frozen=True)
class Impossible:
    """Why something cannot be done with this code."""

    reason: str


@dataclass(frozen=True)
class Enumerate(Task):
    """The exact law of the outcomes."""

    case: int
    seconds: float = inf
    number: int = 0  # tells those of one case apart

    def run(self, case: Case, function: Function, seed: int) -> exact.Exact | Impossible:
        rng, end = np.random.default_rng([seed, self.case, 2, self.number]), time.perf_counter() + self.seconds
        try:
            found = exact.enumerate_law(self.case, case, function, rng, lambda: time.perf_counter() < end)
        except NotScripted as why:
            return Impossible(str(why))
        return found or Impossible("an enumeration does not predict what it does")


@dataclass(frozen=True)
class Edges(Task):
    """Coins at their ends; raises :class:`~simlab.certify.engine.exact.AtTheEdge`."""

    case: int
    seconds: float = inf

    def run(self, case: Case, function: Function, seed: int) -> Impossible | None:
        end = time.perf_counter() + self.seconds
        try:
            exact.check_edges(case, Patient(function, lambda: time.perf_counter() < end))
        except NotScripted as why:
            return Impossible(str(why))
        return None


@dataclass(frozen=True)
class Fault:
    """What went wrong, in which call of which task; ``uniforms`` where they were given."""

    task: Task
    kind: str  # broken, raises, declines, hangs, dies, edge
    message: str
    call: int
    inputs: Any = None
    uniforms: tuple[float, ...] = ()
    rare: bool = False  # whether it takes a coin that is next to its end

    @property
    def at_the_ends(self) -> bool:
        """Whether it only shows with coins at their ends, which are known then, and no process is lost."""
        return self.kind == "edge" or self.rare or (isinstance(self.task, Edges) and bool(self.uniforms))


def attempt(task: Task, case: Case, function: Function, seed: int, calls: Callable[[], int], interrupts: bool) -> Any:
    """What comes of a task, or the :class:`Fault` that ends it; ``calls`` tells how many calls have ended.

    ``interrupts`` is whether an interrupt may be one of the user's, which ends it all; else the function raises it.
    """
    first = calls()
    try:
        found = task.run(case, function, seed)
    except exact.AtTheEdge as edge:
        found = Fault(task, edge.kind, str(edge), 0, edge.inputs, edge.uniforms)
    except Broken as broken:  # the call has ended, and was counted
        found = Fault(task, "broken", str(broken), calls() - first - 1)
    except BaseException as error:  # some languages have errors that are no Exception, as Rust's panics
        if interrupts and isinstance(error, KeyboardInterrupt):
            raise
        own = getattr(function, "function", function)  # not what counts its calls
        declined = declines(error, own) and not _of_the_model(error)
        found = Fault(task, "declines" if declined else "raises", raised(error), calls() - first)
    changed = tampered()
    return Fault(task, "broken", changed, max(0, calls() - first - 1)) if changed else found


def _of_the_model(error: BaseException) -> bool:
    """Whether the model that a call is given raised it, asked for tokens that there are not: adapters are of simlab
    too, and do not decline a shape by that."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_globals.get("__name__") == as_token.__module__
