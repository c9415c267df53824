"""Programs that do what none may: nothing is proven of them, whatever their law sums up to."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from simlab.arrays import Array, at, number
from simlab.candidates import Deterministic, Verified, Verifier
from simlab.decoders import Decoder, Sjd, SpeculativeDecoder
from simlab.decoders.drafted import SpeculativeState
from simlab.rules import Rule, Speculative
from theory.symbolic import Refused, Unsound, prove_decoder, prove_rule, prove_verifier
from theory.symbolic.rows import row_name, unknown_rows

pytestmark = pytest.mark.exact


class DeclaresMore(Sjd):
    """Drafts token 0 surely, and declares a row of ones for it."""

    def _all_zero(self, state: Any) -> Any:
        tokens = state.tokens.copy()
        for row, length in zip(tokens, state.length, strict=True):
            row[length : length + self.window] = 0
        return state._replace(tokens=tokens, q=np.full(state.q.shape, number(1, state.q)))

    def init(self, process: Any, randomness: Any, batch: int) -> Any:
        return self._all_zero(super().init(process, randomness, batch))

    def step(self, *given: Any) -> Any:
        state, info = super().step(*given)
        return self._all_zero(state), info


class MinusOne(Sjd):
    """Leaves -1 as a draft, where the last token is declared surely."""

    def step(self, state: Any, process: Any, *given: Any) -> Any:
        after, info = super().step(state, process, *given)
        tokens, q = after.tokens.copy(), after.q * 0
        for row, length in zip(tokens, after.length, strict=True):
            row[length] = -1
        q[..., -1] += number(1, q)
        return after._replace(tokens=tokens, q=q), info


class BeginsWithZero(SpeculativeDecoder):
    """Commits token 0 before the first step."""

    def init(self, process: Any, randomness: Any, batch: int) -> SpeculativeState:
        tokens = process.buffer(batch, process.length + self.longest + 1)
        return SpeculativeState(tokens, tokens[:, 0] + 1)


class Uncut(Rule):
    """Accepts with p/q, as it is, and draws from the even row, off q where p has mass there."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        a, b = at(p, x), at(q, x)
        return np.where(b > 0, a / np.where(b > 0, b, number(1, p)), number(1, p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        off = np.where(q > 0, number(0, p), p)
        return np.where(np.any(off > 0, axis=-1, keepdims=True), off, p * 0 + 1)


class OfParts(Verifier):
    """Emits p by two rows, one of which goes below 0."""

    takes = (Deterministic,)

    def verify(self, p: Any, q: Any, x: Any, candidates: Any) -> Verified:
        return Verified(p * 2, p * -1)


class OfHalves(Verifier):
    """Accepts any token with a half in floating point."""

    takes = (Deterministic,)

    def verify(self, p: Any, q: Any, x: Any, candidates: Any) -> Verified:
        return Verified(np.full(p.shape, 0.5, dtype=object), p)


@pytest.mark.parametrize("decoder", [DeclaresMore(1), MinusOne(1), BeginsWithZero(1), BeginsWithZero(2)])
def test_what_no_step_may_leave_is_no_part_of_a_proof(decoder: Decoder) -> None:
    assert prove_decoder(decoder, size=2, length=2).outcome == "counterexample"


def test_a_coin_beyond_1_is_no_coin() -> None:
    with pytest.raises(Unsound, match="do not sum to one"):
        prove_decoder(SpeculativeDecoder(1), rule=Uncut(), size=2, length=2)


def test_a_mass_below_0_is_no_mass() -> None:
    with pytest.raises(Unsound, match="mass below 0"):
        prove_verifier(OfParts(), count=1, sizes=(2,))


def test_a_float_that_is_mixed_in_is_not_rounded() -> None:
    with pytest.raises(Refused, match=r"0\.5, a float"):
        prove_verifier(OfHalves(), count=1, sizes=(2,))


@pytest.mark.parametrize(
    "that",
    [
        "1.00000000000000000001 * alpha <= 1",
        "tv >= 1e-400",
        "accepts <= 0.99999999999999999999",
        "2 * tv + 0.30000000000000000001 <= 0.3",
    ],
)
def test_decimals_have_all_their_digits(that: str) -> None:
    answer = prove_rule(Speculative(), that, sizes=(2,))
    assert answer.outcome == "counterexample"
    assert answer.rows["p"] == (Fraction(1), Fraction(0))


def test_each_mass_has_a_name_of_its_own() -> None:
    prefixes = [(), (0,), (10,), (1, 0), (1, 10), (11, 0), (1, 1, 0)]
    assert len({row_name("p", each) for each in prefixes}) == len(prefixes)
    with pytest.raises(ValueError, match="rows are named p, p1; expected"):
        unknown_rows({"p": 12, "p1": 2}, zeros=True)
