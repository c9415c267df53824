"""Wrong verification rules: the bugs of acceptance and residual seen in real implementations.

Every check in :mod:`theory.claims` is seen failing on the rules of :data:`RULES`. None is registered in
:mod:`simlab.rules`; only checks and tests may use them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from simlab.arrays import (
    Array,
    at,
    indices,
    namespace,
    normalised,
    number,
    one_hot,
    positive_part,
)
from simlab.rules import Amplify, Grouped, Lantern, Rule, Speculative
from simlab.rules.lantern import BOUNDS


class InvertedRatio(Speculative):
    """Accepts with min(1, q/p)."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return at(q, x), at(p, x)


class PairsGrouped(Rule):
    """Accepts by the masses of pairs of tokens (:class:`~simlab.rules.Grouped`), and draws tokens from [p - q]+."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return _pairs(p.shape[-1]).accept_rows(p, q, x)


@lru_cache(maxsize=16)
def _pairs(vocabulary: int) -> Grouped:
    """Made once for a vocabulary: of a large one, labels take longer to check than a row does."""
    return Grouped([token // 2 for token in range(vocabulary)])


class ArgmaxVerified(Speculative):
    """Accepts a draft if it is the target's likeliest token, and emits that otherwise."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp = namespace(p)
        return xp.where(xp.argmax(p, axis=-1) == x, number(1, p), number(0, p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return one_hot(namespace(p).argmax(p, axis=-1), p)


class ResidualIsTarget(Speculative):
    """Draws from p after a rejection."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return p


class ResidualReversed(Speculative):
    """Draws from [q - p]+ after a rejection."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return positive_part(q, p)


@dataclass(frozen=True)
class ResidualNotNormalised(Speculative):
    """Draws from [p - q]+ without scaling it up: what is missing to one falls on the token at ``place``."""

    place: int = -1

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp, zero = namespace(p), number(0, p)
        excess = xp.where(p > q, p - q, zero)
        missing = number(1, p) - xp.sum(excess, axis=-1, keepdims=True)
        return excess + missing * one_hot(indices(p.shape[-1], p)[self.place], p)


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


@dataclass(frozen=True)
class ResidualProcessed(Speculative):
    """Passes the residual through a processor of :mod:`simlab.processes.processors` again."""

    change: Callable[[Array], Array]

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.change(normalised(super().weights_rows(p, q, x), p))


def inflated_ratio() -> Rule:
    """Accepts with min(1, 1.01 p/q)."""
    return Amplify(Fraction(101, 100))


class HalfRatio(Grouped):
    """Accepts with half the ratio of the group masses."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        target, draft = super()._masses(p, q, x)
        return target / 2, draft


@dataclass(frozen=True, eq=False)
class OneNeighbourMore(Lantern):
    """Lets the neighbour that reaches the bound join as well."""

    def _within(self, moved: Array, own: Array) -> Array:
        inside = super()._within(moved, own)
        return np.concatenate([np.ones_like(inside[..., :1]), inside[..., :-1]], axis=-1)


@dataclass(frozen=True, eq=False)
class UpToDelta(Lantern):
    """Lets neighbours join while the bound does not *exceed* delta."""

    def _within(self, moved: Array, own: Array) -> Array:
        return BOUNDS[self.bound](moved, own) <= number(self.delta, moved)


@dataclass(frozen=True, eq=False)
class WithoutSelf(Lantern):
    """A neighbourhood that leaves out the drafted token."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        target, draft = super()._masses(p, q, x)
        return target - at(p, x), draft


RULES: dict[str, Rule] = {
    "ratio inverted": InvertedRatio(),
    "ratio times 1.01": inflated_ratio(),
    "residual = p": ResidualIsTarget(),
    "residual = [q - p]+": ResidualReversed(),
    "residual not renormalised": ResidualNotNormalised(),
    "p zeroed in place": TargetZeroedInPlace(),
}
