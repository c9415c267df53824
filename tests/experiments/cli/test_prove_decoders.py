"""Decoders that somebody brings, of which nothing is proven: each draws, keeps or says what no decoder may."""

from __future__ import annotations

import inspect
from fractions import Fraction as F
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from experiments.judging import at_numbers
from experiments.judging.decoder_in_bounds import BrokenDecoder, ChoicesInBounds, DecoderInBounds
from experiments.judging.proving import prove
from simlab.arrays import at, number, one_hot, slot, splice
from simlab.decoders import DECODERS, Decoder, Sjd, SpeculativeDecoder, make_decoder
from simlab.decoders.base import Info, advance
from simlab.decoders.drafted import SpeculativeState
from simlab.processes import Process
from simlab.randomness import Enumerator, Path, Purpose, Randomness, Tape
from simlab.rules import Rule, Speculative
from theory.exact import sequence_law
from theory.example_processes import random_process
from theory.symbolic import small_rows

Array = Any


class Line(Decoder[Any]):
    """A token a step, from a state of which steps are proven. Right; what follows from it is wrong."""

    def init(self, process: Process, randomness: Randomness, batch: int) -> Any:
        tokens = process.buffer(batch, process.length + 2)
        return SpeculativeState(tokens, tokens[:, 0])

    def step(self, state: Any, process: Process, rule: Rule, randomness: Randomness, *_: Any) -> tuple[Any, Info]:
        row = self.row(state, process, randomness)
        tokens = splice(state.tokens, state.length, randomness.draw(row, state.length, Purpose.TARGET))
        length, info = advance(process, state.length, state.length * 0)
        return SpeculativeState(tokens, length), info

    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        return process.forward(state.tokens, state.length, 1)


def zero(row: Array) -> Array:
    """Rows that have all their mass on token 0."""
    return one_hot(np.zeros(row.shape[:2], np.int64), row)


def rare(state: Any, process: Process) -> Array:
    """Whether the row is one that no table has by chance."""
    return np.array([mass * 17 == 1 for mass in process.forward(state.tokens, state.length, 1)[:, 0, 0]], dtype=bool)


class Unclipped(SpeculativeDecoder):
    """Forgets that p/q may be above 1, and draws from p anew: as a sum, that is p."""

    def verify(
        self, rule: Rule, p: Array, q: Array, x: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        accepted = randomness.accept_prefix(at(p[:, :-1], x) / np.where(at(q, x) > 0, at(q, x), 1), position)
        return accepted, slot(p, accepted)


class Below(SpeculativeDecoder):
    """Accepts half of all, and draws the rest, which may be below 0."""

    def verify(
        self, rule: Rule, p: Array, q: Array, x: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        accepted = randomness.accept_prefix(np.full(x.shape, F(1, 2) if p.dtype == object else 0.5), position)
        return accepted, np.where((accepted < 1)[:, None], 2 * p[:, 0] - q[:, 0], p[:, 1])


class Stalls(Line):
    """Commits nothing after a rare row, so that no such sequence ends."""

    def step(self, state: Any, process: Process, *given: Any) -> tuple[Any, Info]:
        after, info = super().step(state, process, *given)
        stays = rare(state, process)
        return after._replace(length=np.where(stays, state.length, after.length)), Info(
            info.accepted, np.where(stays, 0, info.committed)
        )


class Counts(Line):
    """Takes token 0 every five thousandth time."""

    calls = 0

    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        self.calls += 1
        row = super().row(state, process, randomness)
        return zero(row) if self.calls % 5000 == 0 else row


class Keeps(Line):
    """Takes token 0 once it has seen a rare row."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        if rare(state, process).any():
            self.seen.append(1)
        row = super().row(state, process, randomness)
        return zero(row) if self.seen else row


class KeepsForAll(Keeps):
    """The same, in a list of its class."""

    seen: ClassVar[list[int]] = []  # type: ignore[misc]

    def __init__(self) -> None:
        pass


class Begins(Line):
    """Has a first token before the first step."""

    def init(self, process: Process, randomness: Randomness, batch: int) -> Any:
        state = super().init(process, randomness, batch)
        return state._replace(length=state.length + 1)


class Marks(Line):
    """Leaves a mark behind its tokens after a rare row, and takes token 0 where it finds it."""

    def step(self, state: Any, process: Process, *given: Any) -> tuple[Any, Info]:
        after, info = super().step(state, process, *given)
        tokens = after.tokens.copy()
        tokens[:, -1] = np.where(rare(state, process), 1, tokens[:, -1])
        return after._replace(tokens=tokens), info

    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        row = super().row(state, process, randomness)
        return np.where((state.tokens[:, -1] == 1)[:, None, None], zero(row), row)


class Peeks(Line):
    """Takes token 0 after a rare row where a 0 stands behind its tokens, as one does always."""

    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        row = super().row(state, process, randomness)
        peeks = rare(state, process) & (state.tokens[:, -1] == 0)
        return np.where(peeks[:, None, None], zero(row), row)


class DeclaresMore(Sjd):
    """Leaves token 0 as a draft after a rare row, and declares ones for it."""

    def step(self, state: Any, process: Process, *given: Any) -> tuple[Any, Info]:
        seldom = rare(state, process)
        after, info = super().step(state, process, *given)
        tokens = np.where(seldom[:, None], splice(after.tokens, after.length, after.tokens[:, :1] * 0), after.tokens)
        return after._replace(tokens=tokens, q=np.where(seldom[:, None, None], number(1, after.q), after.q)), info


class Marked(NamedTuple):
    tokens: Array
    length: Array
    mark: Array


class Switches(Line):
    """Goes on in another state, which holds that mark."""

    def step(self, state: Any, process: Process, *given: Any) -> tuple[Any, Info]:
        after, info = super().step(state, process, *given)
        return Marked(*after, rare(state, process)), info

    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        row = super().row(state, process, randomness)
        return np.where(state.mark[:, None, None], zero(row), row) if type(state) is Marked else row


class Boasts(Line):
    def step(self, *given: Any) -> tuple[Any, Info]:
        after, info = super().step(*given)
        return after, Info(info.accepted + 7, info.committed)


class Twice(Line):
    """Calls the target twice in a step."""

    def step(self, state: Any, process: Process, *given: Any) -> tuple[Any, Info]:
        first, _ = super().step(state, process, *given)
        if not (first.length < process.length).any():
            return first, Info(state.length * 0, first.length - state.length)
        second, _ = super().step(first, process, *given)
        return second, Info(state.length * 0, second.length - state.length)


class Again(Twice):
    """Draws the second token with the random number of the first."""

    def step(self, state: Any, process: Process, rule: Rule, randomness: Randomness, *given: Any) -> tuple[Any, Info]:
        class Same(ChoicesInBounds):
            def draw(self, pmf: Array, position: Array, *more: Any) -> Array:
                return randomness.draw(pmf, np.minimum(position, state.length), *more)

        return super().step(state, process, rule, Same(randomness), *given)


class Fixed(Line):
    """Draws all tokens with the one number that is fixed for the first position."""

    def step(self, state: Any, process: Process, rule: Rule, randomness: Randomness, *_: Any) -> tuple[Any, Info]:
        row = self.row(state, process, randomness)
        unit = np.array([[[row[0, 0, 0] * 0, row[0, 0, 0] * 0 + 1]]] * len(row))
        drawn, _ = randomness.draw_fixed(row, state.length * 0, unit)
        length, info = advance(process, state.length, state.length * 0)
        return SpeculativeState(splice(state.tokens, state.length, drawn), length), info


class OnTape(Line):
    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        row = super().row(state, process, randomness)
        return zero(row) if isinstance(randomness, Tape) else row


class InFloats(Line):
    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        row = super().row(state, process, randomness)
        return row if row.dtype == object else zero(row)


class OfFirst(Line):
    """Takes the row of the first sequence for those of all: of one sequence it is right."""

    def row(self, state: Any, process: Process, randomness: Randomness) -> Array:
        row = process.forward(state.tokens[:1], state.length[:1], 1)
        return np.broadcast_to(row, (len(state.length), *row.shape[1:]))


class NeverEnds(Line):
    """Commits nothing on a tape."""

    def step(self, state: Any, process: Process, rule: Rule, randomness: Randomness, *_: Any) -> tuple[Any, Info]:
        after, info = super().step(state, process, rule, randomness)
        return (state if isinstance(randomness, Tape) else after), info


@pytest.mark.parametrize(
    ("decoder", "that", "why"),
    [
        (Unclipped(1), "lossless", "it tosses a coin of (p__0)/(q__0); expected a number from 0 to 1"),
        (Below(1), "lossless", "expected masses >= 0"),
        (Stalls(), "lossless", "a step comes from 0 to 0 tokens of 2; expected one or more"),
        (Counts(), "lossless", "a step changes the decoder's own calls; expected all that it depends on in its state"),
        (Keeps(), "lossless", "a step changes the decoder's own seen"),
        (KeepsForAll(), "lossless", "a step changes the decoder's own seen"),
        (Begins(), "lossless", "init commits tokens"),
        (Marks(), "lossless", "it may fail where"),
        (Peeks(), "lossless", "it may fail where"),
        (DeclaresMore(1), "lossless", "it may fail where"),
        (Switches(), "lossless", "it may fail where"),
        (Boasts(), "accepts >= 2", "a step says that it accepts 7 and commits 1, and commits 1"),
        (Twice(), "calls <= 1", "a step calls the target 2 times; expected at most 1"),
        (Again(), "lossless", "it asks twice in one step for the random number of purpose TARGET, lane 0, position 0"),
        (Fixed(), "lossless", "on a tape it comes to another law than it is proven of at a table of V = 2"),
        (OnTape(), "lossless", "on a tape it comes to another law"),
        (InFloats(), "lossless", "floats come to another law than fractions at a table of V = 2"),
        (OfFirst(), "tv == 0", "tv == 0 is false of a table of V = 2"),
        (NeverEnds(), "lossless", "it has not finished after 12 steps"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Decoder) else "",
)
def test_what_no_decoder_may_do_proves_nothing(
    decoder: Decoder, that: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_rows, "SEARCH", 0.1)
    found = prove(decoder, that, length=2, zeros=type(decoder) is not Unclipped)
    assert found.outcome == "unknown", found
    assert why in found.why


class LeavesDrafts(Line):
    """Leaves what it does not look at again behind its tokens."""

    def step(self, state: Any, process: Process, *given: Any) -> tuple[Any, Info]:
        after, info = super().step(state, process, *given)
        tokens = after.tokens.copy()
        tokens[:, -1] = 1
        return after._replace(tokens=tokens), info


class InPlace(Line):
    """Writes into the state that it is given."""

    def init(self, process: Process, randomness: Randomness, batch: int) -> Any:
        state = super().init(process, randomness, batch)
        return state._replace(length=state.length.copy())  # which is a view of the tokens

    def step(self, state: Any, process: Process, *given: Any) -> tuple[Any, Info]:
        after, info = super().step(state, process, *given)
        state.tokens[:], state.length[:] = after.tokens, after.length
        return state, info


class OfHouse(Sjd):
    pass


@pytest.mark.parametrize(
    ("decoder", "that"),
    [
        (Line(), "lossless"),
        (Twice(), "lossless"),
        (Line(), "calls <= autoregressive"),
        (LeavesDrafts(), "lossless"),
        (InPlace(), "lossless"),
        (OfHouse(2, renewal="maximal"), "lossless"),
        (OfHouse(2, renewal="gumbel"), "lossless"),
        (OfHouse(2), "lossless"),
        (OfHouse(2), "accepts >= sjd"),
        (OfHouse(2), "calls <= sjd-ac"),
    ],
)
def test_right_decoders_are_proven_still(decoder: Decoder, that: str) -> None:
    found = prove(decoder, that, length=2)
    assert found.outcome == "proven", found


SMALL = {"window": 2, "gamma": 2, "candidates": 2, "phrase": 1, "depth": 1, "top_k": 1, "total": 1, "branching": [2]}


@pytest.mark.parametrize("name", DECODERS)
def test_decoders_of_this_house_keep_the_contract(name: str) -> None:
    taken = inspect.signature(DECODERS[name]).parameters
    skipped = {"candidates"} if name == "candidate-tree" else set()  # to which this means something else
    decoder = make_decoder(name, **{key: SMALL[key] for key in taken if key in SMALL.keys() - skipped})
    target, *draft = (random_process(seed, 3, 3) for seed in range(2 if decoder.needs_draft else 1))
    held = DecoderInBounds(decoder, calls=True)
    assert sequence_law(held, target, Speculative(), *draft) == sequence_law(decoder, target, Speculative(), *draft)
    assert "forward" not in vars(target)  # it is counted in a step alone


def test_rules_are_asked_what_decoders_draw_from() -> None:
    class ResidualOnly(Speculative):
        def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
            return p

        def residual_rows(self, p: Array, q: Array, x: Array) -> Array:
            return Speculative().residual_rows(p, q, x)

    class Scaled(Speculative):
        def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
            return super().weights_rows(p, q, x) * 3

    class OtherLaw(Speculative):
        def law_rows(self, p: Array, q: Array) -> Array:
            return q

    found = prove(ResidualOnly(), size=2)
    assert (found.outcome, found.why) == ("counterexample", "weights_rows and residual_rows draw otherwise for x = 0")
    assert prove(Scaled(), size=2).outcome == "proven"
    found = prove(OtherLaw(), size=2)
    assert (found.outcome, found.why) == ("counterexample", "law_rows gives another law than step_rows does")


def test_a_decoder_may_ask_for_a_rule_of_its_own() -> None:
    class Named(Speculative):
        name = "named"

    class Asks(Line):
        def step(self, state: Any, process: Process, rule: Rule, *given: Any) -> tuple[Any, Info]:
            assert isinstance(rule, Named)
            assert rule.name == "named"
            return super().step(state, process, rule, *given)

    assert prove(Asks(), length=2, rule=Named()).outcome == "proven"


def test_a_decoder_of_this_house_is_held_where_its_rule_is_not() -> None:
    class AtPoints(Speculative):
        """Draws the rest below 0 where a draft was certain, which no row without zeros is."""

        def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
            half = F(1, 2) if p.dtype == object else 0.5
            return np.where((q == 1).any(-1), half, super().accept_rows(p, q, x))

        def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
            return np.where((q == 1).any(-1)[..., None], 2 * p - q, super().weights_rows(p, q, x))

    found = prove(Sjd(1, initial="repeat-left"), length=2, rule=AtPoints(), zeros=False)
    assert found.outcome == "unknown", found
    assert "expected masses >= 0" in found.why


def test_a_decoder_of_this_house_that_is_given_a_function_is_held() -> None:
    decoder = Sjd(1)
    object.__setattr__(decoder, "verify", lambda *given: Below.verify(decoder, *given))  # type: ignore[arg-type]
    found = prove(decoder, length=2)
    assert found.outcome == "unknown", found
    assert "expected masses >= 0" in found.why


def test_coins_that_nobody_looks_at_may_be_anything() -> None:
    choices = ChoicesInBounds(Enumerator([Path(0, (), F(1))]))
    position = np.zeros(1, np.int64)
    assert choices.accept_prefix(np.array([[F(0), F(2)]], dtype=object), position).tolist() == [0]
    with pytest.raises(BrokenDecoder, match="a coin of 2"):
        choices.accept(np.array([[F(2)]], dtype=object), position)


def test_tables_that_floats_hold_have_zeros_where_the_others_have() -> None:
    for size in (2, 3, 8):
        table = random_process(0, size, 2)
        near, floats = at_numbers._of_parts(table), at_numbers._in_floats(at_numbers._of_parts(table))
        for prefix in [(), *((x,) for x in range(size))]:
            assert [mass > 0 for mass in near.row(prefix)] == [mass > 0 for mass in table.row(prefix)]
            assert [F(mass) for mass in floats.row(prefix)] == near.row(prefix).tolist()
            assert floats.row(prefix).dtype == np.float64


def test_counts_are_far_from_a_law_only_where_chance_is_not() -> None:
    law = {"a": F(1, 4), "b": F(3, 4)}
    half = at_numbers.SEQUENCES // 2
    assert at_numbers._far({"a": half, "b": half}, law)
    assert not at_numbers._far({"a": half // 2 + 99, "b": half + half // 2 - 99}, law)
    assert at_numbers._far({"c": 99, "a": half // 2, "b": half + half // 2 - 99}, law)
