"""Deliberately wrong variants. Every check in :mod:`theory.claims` is seen failing on some of these.

Each is a bug found in real implementations, as small as it can be stated. None is registered as a rule or a
decoder; nothing but checks and tests may use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from simlab.arrays import (
    Array,
    at,
    full,
    grid,
    indices,
    namespace,
    normalised,
    number,
    one_hot,
    positive_part,
    slot,
    slots,
    splice,
)
from simlab.decoders import Decoder, Info, Sjd, SpeculativeDecoder
from simlab.decoders.sjd import SjdState
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.decoders.speculative import SpeculativeState
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.rules import Amplify, Rule, Speculative

# Accept and residual ------------------------------------------------------------------------------------------


class InvertedRatio(Speculative):
    """Accepts with min(1, q/p)."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return at(q, x), at(p, x)


class ResidualIsTarget(Speculative):
    """Draws from p after a rejection."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return p


class ResidualReversed(Speculative):
    """Draws from [q - p]+ after a rejection."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return positive_part(q, p)


class ResidualNotNormalised(Speculative):
    """Draws from p - q where positive without scaling it up: what is missing to one falls on the last token."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp, zero = namespace(p), number(0, p)
        excess = xp.where(p > q, p - q, zero)
        missing = number(1, p) - xp.sum(excess, axis=-1, keepdims=True)
        return excess + missing * one_hot(indices(p.shape[-1], p)[-1], p)


class TargetZeroedInPlace(Speculative):
    """Zeroes the rejected token in p and scales p up, in place, before q is subtracted."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        zeroed = namespace(p).where(one_hot(x, p) > 0, number(0, p), p)
        return positive_part(normalised(zeroed, p), q)


class ResidualTempered(Speculative):
    """Passes the residual through temperature 1/2 again, which squares it."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        residual = positive_part(p, q)
        return normalised(residual * residual, p)


def inflated_ratio() -> Rule:
    """Accepts with min(1, 1.01 p/q)."""
    return Amplify(Fraction(101, 100))


RULES: dict[str, Rule] = {
    "ratio inverted": InvertedRatio(),
    "ratio times 1.01": inflated_ratio(),
    "residual = p": ResidualIsTarget(),
    "residual = [q - p]+": ResidualReversed(),
    "residual not renormalised": ResidualNotNormalised(),
    "p zeroed in place": TargetZeroedInPlace(),
}

# Chance --------------------------------------------------------------------------------------------------------


class Twisted(Randomness):
    """Passes every question on; a control changes one of them."""

    def __init__(self, randomness: Randomness) -> None:
        self.randomness = randomness

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        return self.randomness.accept(probability, position, lane)

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        return self.randomness.accept_prefix(probability, position)

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: int | Array = 0) -> Array:
        return self.randomness.draw(pmf, position, purpose, lane)

    def draw_again(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        return self.randomness.draw_again(pmf, position, known)


class FirstUnverified(Twisted):
    """Commits the first draft without a look."""

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        sure = full((len(probability), 1), 1, probability)
        every = namespace(probability).concat([sure, probability[:, 1:]], axis=1)
        return self.randomness.accept_prefix(every, position)


class CountOffByOne(Twisted):
    """Commits one draft more than were kept."""

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        count = self.randomness.accept_prefix(probability, position)
        return namespace(count).clip(count + 1, 0, probability.shape[1])


class OneCoin(Twisted):
    """Uses one uniform for all positions of a scan: draft j is kept while it is below every ratio so far."""

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        xp, columns, lowest = namespace(probability), [], full((len(probability),), 1, probability)
        for j in range(probability.shape[1]):
            lower = xp.where(probability[:, j] < lowest, probability[:, j], lowest)
            columns.append(xp.where(lowest > 0, lower / xp.where(lowest > 0, lowest, number(1, lower)), lower))
            lowest = lower
        return self.randomness.accept_prefix(xp.stack(columns, axis=1), position)


class OneUniform(Twisted):
    """Draws all tokens of a call by inverse CDF from one uniform."""

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: int | Array = 0) -> Array:
        xp = namespace(pmf)
        upto = xp.cumulative_sum(normalised(pmf, pmf), axis=2)
        edges = xp.sort(xp.reshape(upto, (len(pmf), -1)), axis=1)
        pieces = xp.concat([edges[:, :1], edges[:, 1:] - edges[:, :-1]], axis=1)
        piece = self.randomness.draw(pieces[:, None], position, purpose, lane)
        upper = slots(edges, piece)[:, None]
        return xp.sum(xp.astype(upto < upper, position.dtype), axis=2)


@dataclass(frozen=True)
class WithRandomness(Decoder[Any]):
    """A decoder whose verification, or all of it, sees twisted chance."""

    decoder: Decoder
    twist: type[Twisted]

    @property
    def needs_draft(self) -> bool:  # type: ignore[override]
        return self.decoder.needs_draft

    def init(self, process: Process, randomness: Randomness, batch: int) -> Any:
        return self.decoder.init(process, self.twist(randomness), batch)

    def step(
        self, state: Any, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[Any, Info]:
        return self.decoder.step(state, process, rule, self.twist(randomness), draft)


# The bonus token -----------------------------------------------------------------------------------------------


class BonusFromResidual(SpeculativeDecoder):
    """Draws the bonus token from the residual of the last draft."""

    def verify(
        self,
        rule: Rule,
        p: Array,
        q: Array,
        x: Array,
        randomness: Randomness,
        position: Array,
        among: Array | None = None,
    ) -> tuple[Array, Array]:
        count, _ = super().verify(rule, p, q, x, randomness, position, among)
        last = namespace(count).clip(count, 0, x.shape[1] - 1)
        return count, rule.residual(slot(p, last), slot(q, last), slot(x, last))


class BonusOmitted(SpeculativeDecoder):
    """Commits no bonus token: as lossless as with it, but not what the formulas count."""

    def step(
        self,
        state: SpeculativeState,
        process: Process,
        rule: Rule,
        randomness: Randomness,
        draft: Process | None = None,
    ) -> tuple[SpeculativeState, Info]:
        (tokens, length), info = super().step(state, process, rule, randomness, draft)
        shorter = length - namespace(length).astype(info.committed == self.gamma + 1, length.dtype)
        return SpeculativeState(splice(tokens, shorter, tokens[:, :1] * 0), shorter), info


class BonusTwice(SpeculativeDecoder):
    """Commits the bonus token twice."""

    def step(
        self,
        state: SpeculativeState,
        process: Process,
        rule: Rule,
        randomness: Randomness,
        draft: Process | None = None,
    ) -> tuple[SpeculativeState, Info]:
        (tokens, length), info = super().step(state, process, rule, randomness, draft)
        xp = namespace(length)
        again = (info.committed == self.gamma + 1) & (length < process.length)
        doubled = splice(tokens, length, slots(tokens, xp.clip(length[:, None] - 1, 0, None)))
        tokens = xp.where(again[:, None], doubled, tokens)
        return SpeculativeState(tokens, length + xp.astype(again, length.dtype)), info


# The window ----------------------------------------------------------------------------------------------------


class TailRelabelled(Sjd):
    """Keeps the tokens behind a rejection but declares the rows of this call for them."""

    def step(
        self, state: SjdState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[SjdState, Info]:
        new, info = super().step(state, process, rule, randomness, draft)
        position, old = _window(self.window, state.length, new.length)
        values = namespace(old).where(old, slots(state.tokens, position), slots(new.tokens, position))
        return new._replace(tokens=splice(new.tokens, new.length, values)), info


class TailStale(Sjd):
    """Draws the tokens behind a rejection anew but goes on declaring the rows of the call before."""

    def step(
        self, state: SjdState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[SjdState, Info]:
        new, info = super().step(state, process, rule, randomness, draft)
        position, old = _window(self.window, state.length, new.length)
        xp = namespace(position)
        stale = slots(state.q, xp.clip(position - state.length[:, None], 0, self.window - 1))
        return new._replace(q=xp.where(old[..., None], stale, new.q)), info


def _window(width: int, before: Array, after: Array) -> tuple[Array, Array]:
    """The positions ``[B, W]`` of the window after a step, and which of them were in it before."""
    position = grid(after, width)
    return position, position < before[:, None] + width


class ReferenceTailStale(TailStale, PointMassSjd):
    """The loop of SJD's reference code, with the fault of :class:`TailStale`."""


class FlatTail(Sjd):
    """Draws the tokens behind a rejection from the uniform row and says so: lossless, but not SJD."""

    def _drawn_from(self, rows: Array, new: Array) -> Array:
        return self._flat(rows)

    def _declared(self, process: Process, rows: Array, values: Array, new: Array, copied: Array) -> Array:
        return self._flat(rows)

    def _flat(self, rows: Array) -> Array:
        """Every row but the first, and but certain ones past the end, uniform."""
        xp = namespace(rows)
        first = (indices(rows.shape[1], rows) == 0)[:, None]
        certain = xp.max(rows, axis=2, keepdims=True) == number(1, rows)
        return xp.where(first | certain, rows, full(tuple(rows.shape), number(1, rows) / rows.shape[2], rows))


class NeighbourScoredUniform(Sjd):
    """Starts a position with its neighbour's token but declares the uniform row for it."""

    def _declared(self, process: Process, rows: Array, values: Array, new: Array, copied: Array) -> Array:
        return namespace(rows).where(new[..., None], process.uniform, rows)


class GreedyDrafts(Sjd):
    """Drafts the likeliest token of a row but declares the whole row.

    New tokens are drawn as ever, and so is what is committed: the token after the kept drafts.
    """

    def _drawn_from(self, rows: Array, new: Array) -> Array:
        xp = namespace(rows)
        committed = indices(rows.shape[1], new) == 0
        return xp.where((new | committed)[..., None], rows, one_hot(xp.argmax(rows, axis=-1), rows))


def speculative_decoders(gamma: int) -> dict[str, Decoder]:
    """Wrong variants of the speculative decoder."""
    right = SpeculativeDecoder(gamma)
    return {
        "first draft committed unverified": WithRandomness(right, FirstUnverified),
        "accepted count off by one": WithRandomness(right, CountOffByOne),
        "one uniform for all coins": WithRandomness(right, OneCoin),
        "bonus drawn from the residual": BonusFromResidual(gamma),
        "bonus duplicated": BonusTwice(gamma),
    }


def sjd_decoders(window: int) -> dict[str, Decoder]:
    """Wrong variants of speculative Jacobi decoding."""
    right = Sjd(window)
    return {
        "first draft committed unverified": WithRandomness(right, FirstUnverified),
        "accepted count off by one": WithRandomness(right, CountOffByOne),
        "one uniform for all coins": WithRandomness(right, OneCoin),
        "one uniform for all draws": WithRandomness(right, OneUniform),
        "tail kept, q relabelled": TailRelabelled(window),
        "tail drawn again, q stale": TailStale(window),
    }
