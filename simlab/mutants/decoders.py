"""Mutants of decoders: speculative decoding and speculative Jacobi decoding with one mistake each.

Each is a bug found in real implementations, as small as it can be stated. None is registered in
:mod:`simlab.decoders`; only checks and tests may use them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simlab.arrays import (
    Array,
    full,
    grid,
    indices,
    namespace,
    number,
    one_hot,
    slot,
    slots,
    splice,
)
from simlab.decoders import Decoder, Info, Sjd, SpeculativeDecoder
from simlab.decoders.drafted import SpeculativeState
from simlab.decoders.renewal import Drafts, Pmfs
from simlab.decoders.sjd import SjdState
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.mutants.randomness import CountOffByOne, FirstUnverified, OneCoin, OneUniform, WithRandomness
from simlab.processes import Process
from simlab.randomness import Randomness
from simlab.rules import Rule

# The bonus token -----------------------------------------------------------------------------------------------


class BonusFromResidual(SpeculativeDecoder):
    """Draws the bonus token from the residual of the last draft."""

    def verify(
        self, rule: Rule, p: Array, q: Array, x: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        count, _ = super().verify(rule, p, q, x, randomness, position)
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
    """Leaves the drafts behind a rejection as they are but declares the rows of this call for them."""

    def step(
        self, state: SjdState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[SjdState, Info]:
        new, info = super().step(state, process, rule, randomness, draft)
        position, old = _window(self.window, state.length, new.length)
        values = namespace(old).where(old, slots(state.tokens, position), slots(new.tokens, position))
        return new._replace(tokens=splice(new.tokens, new.length, values)), info


class TailStale(Sjd):
    """Draws the drafts behind a rejection again but still declares the rows of the call before."""

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
    """Draws the drafts behind a rejection from the uniform row and declares it: lossless, but not SJD."""

    def sampling_pmfs(self, rows: Array, new: Array) -> Array:
        return self._flat(rows)

    def declared_q(self, process: Process, rows: Array, values: Array, new: Array, copied: Array) -> Array:
        return self._flat(rows)

    def _flat(self, rows: Array) -> Array:
        """Every row but the first, and but certain ones past the end, uniform."""
        xp = namespace(rows)
        first = (indices(rows.shape[1], rows) == 0)[:, None]
        certain = xp.max(rows, axis=2, keepdims=True) == number(1, rows)
        return xp.where(first | certain, rows, full(tuple(rows.shape), number(1, rows) / rows.shape[2], rows))


class NeighbourScoredUniform(Sjd):
    """Starts a position with its neighbour's token but declares the uniform row for it."""

    def declared_q(self, process: Process, rows: Array, values: Array, new: Array, copied: Array) -> Array:
        return namespace(rows).where(new[..., None], process.uniform, rows)


class GreedyDrafts(Sjd):
    """Drafts the likeliest token of a row but declares the whole row.

    Initialised drafts are drawn as in SJD, and so is the token after the accepted drafts.
    """

    def sampling_pmfs(self, rows: Array, new: Array) -> Array:
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


class UnverifiedRelabelled(Sjd):
    """Leaves drafts unverified and declares the row of this call for them."""

    def renew(self, drafts: Drafts, rule: Rule, randomness: Randomness) -> Pmfs:
        xp = namespace(drafts.p)
        drawn = xp.where(drafts.behind[..., None], drafts.x[..., None] == xp.arange(drafts.p.shape[-1]), drafts.p)
        return drawn + 0 * drafts.p, drafts.p


class StaleRows(Sjd):
    """Declares for every draft the row of the call before."""

    def renew(self, drafts: Drafts, rule: Rule, randomness: Randomness) -> Pmfs:
        return super().renew(drafts, rule, randomness)[0], drafts.q


class TriesAgain(Sjd):
    """Commits nothing when the first draft is rejected."""

    def step(self, state: Any, process: Process, rule: Rule, randomness: Any, draft: Process | None = None) -> Any:
        new, info = super().step(state, process, rule, randomness, draft)
        same = info.accepted == 0
        return type(state)(
            *(
                np.where(same.reshape(-1, *[1] * (old.ndim - 1)), old, field)
                for old, field in zip(state, new, strict=True)
            )
        ), info
