"""Decoders of somebody else, held to their contract while something is proven of them.

As for rules (:mod:`experiments.judging.in_bounds`), what sums up to the target's law need not be drawn by anybody: a
coin of 2 cancels one of -1. Besides, what is proven of each step alone is of sequences only where a step depends on
nothing but its state, where that state is no more than what steps are proven from, and where sequences end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from simlab.arrays import Array, grid
from simlab.decoders import Decoder, Info
from simlab.decoders.drafted import SpeculativeState
from simlab.decoders.sjd import SjdState
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.randomness.base import Lane
from simlab.rules import Rule
from theory.judge.user_rule import NEGLIGIBLE
from theory.symbolic.unknown import Refused, Unknown

NO_TOKEN = np.iinfo(np.int32).max  # or more stands where a state from which a step is proven holds nothing
HOUSE = "simlab", "builtins", "abc", "typing"  # of whose classes nobody keeps anything
CALLS = "forward", "forward_tree"  # of a process


class BrokenDecoder(ValueError):
    """A decoder does what no decoder may."""


class DecoderInBounds(Decoder[Any]):
    """A decoder on exact rows, as it is.

    It raises :class:`BrokenDecoder` where what it draws with is no probability and no pmf, where it asks for a random
    number twice in one step, where a step does not commit a token at least, or says something else of it than it does,
    and where the decoder itself is changed. With ``calls``, also where a step calls the target more than once.

    Where steps are proven of what a state may hold, it raises :class:`~theory.symbolic.unknown.Refused` if a step
    leaves more in its state, so that whole sequences are looked at.
    """

    def __init__(self, decoder: Decoder, calls: bool = False) -> None:
        self.decoder, self.calls = decoder, calls
        self.needs_draft = decoder.needs_draft  # type: ignore[misc]  # of this one
        self._starts_with_more = False

    def __repr__(self) -> str:
        return repr(self.decoder)

    def __getattr__(self, name: str) -> Any:
        if name == "decoder":  # which is not there while a copy is made
            raise AttributeError(name)
        return getattr(self.decoder, name)

    def init(self, process: Process, randomness: Randomness, batch: int) -> Any:
        with _as_it_was(self.decoder, "init"), self._calling(process, "init", 0):
            state = self.decoder.init(process, ChoicesInBounds(randomness), batch)
        if np.any(state.length != 0):
            raise BrokenDecoder("init commits tokens; expected none before the first step")
        self._starts_with_more |= _holds_more(state)
        return state

    def step(
        self, state: Any, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[Any, Info]:
        with _as_it_was(self.decoder, "a step"), self._calling(process, "a step", 1):
            tokens, length = state.tokens.copy(), state.length.copy()
            shapes, is_any = [each.shape for each in state], bool(np.any(tokens >= NO_TOKEN))
            if is_any:  # in a run a 0 stands there, since nothing else is left there
                state = state._replace(tokens=np.where(tokens >= NO_TOKEN, 0, tokens))
            after, info = self.decoder.step(state, process, rule, ChoicesInBounds(randomness), draft)
        _check_committed(tokens, length, after, info, process)
        if is_any:
            alike = type(after) is type(state) and [each.shape for each in after] == shapes
            if not alike or self._starts_with_more or _holds_more(after, after.length < process.length):
                raise Refused("it leaves more in its state than tokens, drafts and the rows declared for them")
        return after, info

    @contextmanager
    def _calling(self, process: Process, who: str, most: int) -> Iterator[None]:
        """Within, the target is called so many times at most; not looked at where no calls are counted."""
        if not self.calls:
            yield
            return
        count, within = 0, False

        def counted(function: Any) -> Any:
            def call(*given: Any, **named: Any) -> Any:
                nonlocal count, within
                if within:
                    return function(*given, **named)
                count, within = count + 1, True
                try:
                    return function(*given, **named)
                finally:
                    within = False

            return call

        for name in CALLS:
            setattr(process, name, counted(getattr(process, name)))
        try:
            yield
        finally:
            for name in CALLS:
                delattr(process, name)
        if count > most:
            raise BrokenDecoder(f"{who} calls the target {count} times; expected at most {most}")


class ChoicesInBounds(Randomness):
    """Random choices of one step, as they are; raises :class:`BrokenDecoder` where they are made with what is no
    probability and no pmf, or with the random number of another choice.

    Of rows that are not known it is not asked whether they leave a choice, so that a number that is asked for twice is
    seen where rows are numbers.
    """

    def __init__(self, choices: Randomness) -> None:
        self.choices = choices
        self._asked: set[tuple[int, ...]] = set()

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        tossed = self.choices.accept(probability, position, lane)
        self._coins(probability.tolist(), position, lane)
        return tossed

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        count = self.choices.accept_prefix(probability, position)
        coins = zip(probability.tolist(), count.tolist(), strict=True)
        self._coins([chances[: reached + 1] for chances, reached in coins], position, 0)  # nobody looks at the others
        return count

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: Lane = 0) -> Array:
        tokens = self.choices.draw(pmf, position, purpose, lane)
        for row in pmf.reshape(-1, pmf.shape[-1]).tolist():
            _check_weights(row)
        places = position if position.ndim == 2 else grid(position, pmf.shape[1])
        lanes = np.broadcast_to(np.asarray(lane), places.shape).tolist()
        for b, rows in enumerate(pmf.tolist()):
            for row, place, one in zip(rows, places[b].tolist(), lanes[b], strict=True):
                if not any(isinstance(mass, Unknown) for mass in row) and sum(map(bool, row)) > 1:
                    self._use(b, purpose, one, place)
        return tokens

    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        drawn = self.choices.draw_fixed(pmf, position, interval)
        for row in pmf.reshape(-1, pmf.shape[-1]).tolist():
            _check_weights(row)
            if (whole := sum(row)) != 1 and not (isinstance(whole, float) and abs(whole - 1) <= NEGLIGIBLE):
                raise BrokenDecoder(f"it draws from masses that sum to {whole}; expected 1")
        return drawn

    def unseen(self, batch: int, count: int, uniform: Array) -> Array:
        return self.choices.unseen(batch, count, uniform)

    def draw_raced(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        drawn = self.choices.draw_raced(pmf, position, known)
        for row in pmf.reshape(-1, pmf.shape[-1]).tolist():
            _check_weights(row)
        return drawn

    def _coins(self, chances: Sequence[Sequence[Any]], position: Array, lane: int) -> None:
        for b, (first, row) in enumerate(zip(position.tolist(), chances, strict=True)):
            for j, chance in enumerate(row):
                slack = NEGLIGIBLE if isinstance(chance, float) else 0
                if not chance >= -slack or not chance <= 1 + slack:
                    raise BrokenDecoder(f"it tosses a coin of {chance}; expected a number from 0 to 1")
                if not isinstance(chance, Unknown) and 0 < chance < 1:
                    self._use(b, Purpose.ACCEPT, lane, first + j)

    def _use(self, row: int, purpose: Purpose, lane: int, position: int) -> None:
        asked = row, int(purpose), lane, position
        if asked in self._asked:
            number = f"purpose {purpose.name}, lane {lane}, position {position}"
            raise BrokenDecoder(f"it asks twice in one step for the random number of {number}; expected one a choice")
        self._asked.add(asked)


def _check_weights(row: Sequence[Any]) -> None:
    for mass in row:
        if not mass >= (-NEGLIGIBLE if isinstance(mass, float) else 0):
            raise BrokenDecoder(f"it draws from a row that holds {mass}; expected masses >= 0")


def _check_committed(before: Array, begun: Array, after: Any, info: Info, process: Process) -> None:
    """Raise :class:`BrokenDecoder` unless a step from tokens ``before``, of which so many were committed as ``begun``
    says, commits more where sequences are not over, and says so.
    """
    counts = begun, after.length, info.accepted, info.committed
    for b, (done, length, accepted, committed) in enumerate(zip(*(each.tolist() for each in counts), strict=True)):
        if done >= process.length:
            continue
        if not done < length <= process.length:
            raise BrokenDecoder(
                f"a step comes from {done} to {length} tokens of {process.length}; expected one or more"
            )
        if committed != length - done or not 0 <= accepted <= committed:
            says = f"says that it accepts {accepted} and commits {committed}"
            raise BrokenDecoder(f"a step {says}, and commits {length - done}")
        tokens = after.tokens[b, :length].tolist()
        if tokens[:done] != before[b, :done].tolist():
            raise BrokenDecoder("a step changes tokens that are committed")
        if other := [token for token in tokens[done:] if not 0 <= token < process.vocabulary]:
            raise BrokenDecoder(f"a step commits {other[0]}, which is no token of V = {process.vocabulary}")


def _holds_more(state: Any, going: Array | None = None) -> bool:
    """Whether behind its drafts stands something that the next step might read."""
    if type(state) not in (SpeculativeState, SjdState):
        return False  # of such a state no step is proven
    drafts = state.q.shape[1] if type(state) is SjdState else 0
    width = state.tokens.shape[1]
    behind = np.arange(width) >= state.length[:, None] + drafts
    if going is not None:
        behind &= going[:, None]
    return bool(np.any(behind & (state.tokens != 0) & (state.tokens < NO_TOKEN)))


@contextmanager
def _as_it_was(decoder: Decoder, who: str) -> Iterator[None]:
    """Raise :class:`BrokenDecoder` where the attributes of a decoder are others afterwards, or hold something else."""
    before = _kept(decoder)
    yield
    after = _kept(decoder)
    for name in before.keys() | after.keys():
        one, other = before.get(name, []), after.get(name, [])
        if len(one) != len(other) or any(x is not y and not _equal(x, y) for x, y in zip(one, other, strict=True)):
            raise BrokenDecoder(f"{who} changes the decoder's own {name}; expected all that it depends on in its state")


def _kept(decoder: Decoder) -> dict[str, list[Any]]:
    """What each attribute is and holds, and those of its classes that were brought; but for what is computed once."""
    brought = [kind for kind in type(decoder).__mro__ if kind.__module__.partition(".")[0] not in HOUSE]
    own = {name: each for kind in brought for name, each in vars(kind).items() if not name.startswith("__")}
    found = {}
    for name, each in [*own.items(), *vars(decoder).items()]:
        if isinstance(getattr(type(decoder), name, None), cached_property):
            continue
        held: list[Any] = []
        if isinstance(each, dict):
            held = [part for item in each.items() for part in item]
        elif isinstance(each, list | tuple | set | deque):
            held = list(each)
        elif isinstance(each, np.ndarray):
            held = [each.shape, each.tobytes()]
        found[name] = [each, *held]
    return found


def _equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and isinstance(one, bytes | tuple) and bool(one == other)
