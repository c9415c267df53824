"""Wrong verification rules: the bugs of acceptance and residual seen in real implementations.

Every check in :mod:`theory.claims` is seen failing on the rules of :data:`RULES`. None is registered in
:mod:`simlab.rules`; only checks and tests may use them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from simlab.arrays import (
    Array,
    at,
    full,
    indices,
    namespace,
    nonempty,
    normalised,
    number,
    one_hot,
    positive_part,
    without,
)
from simlab.rules import Amplify, Grouped, Lantern, Rule, Speculative
from simlab.rules.base import group_masses, mass
from simlab.rules.lantern import BOUNDS


class InvertedRatio(Speculative):
    """Accepts with min(1, q/p)."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return at(q, x), at(p, x)


class InvertedQuotient(InvertedRatio):
    """Accepts with min(1, q/p) as floating point divides: surely where p(x) = 0."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return namespace(p).where(at(p, x) > 0, super().accept_rows(p, q, x), number(1, p))


@dataclass(frozen=True)
class RatioPlus(Speculative):
    """Accepts with min(1, p/q + ``slack``)."""

    slack: float

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        draft = mass(q, x)
        return mass(p, x) + number(self.slack, p) * draft, draft


class NeighbourNumerator(Speculative):
    """Accepts with min(1, P(x and the tokens numbered next to it)/q(x)), and draws from [p - q]+."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        near = abs(indices(p.shape[-1], p) - x[..., None]) <= 1
        return group_masses(p, p, near)[0], mass(q, x)


class PairsGrouped(Rule):
    """Accepts by the masses of pairs of tokens (:class:`~simlab.rules.Grouped`), and draws tokens from [p - q]+."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return Grouped([token // 2 for token in range(p.shape[-1])]).accept_rows(p, q, x)


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


class ResidualWithoutDraft(Speculative):
    """Draws from p without the rejected token, as if q were its point mass."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return nonempty(without(p, x), p)


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


class ResidualOrUniform(Speculative):
    """Draws uniformly where [p - q]+ is zero, which rounding alone can bring about."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return positive_part(p, q, fallback=full(tuple(p.shape), 1, p))


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


class ResidualFiltered(Speculative):
    """Cuts the residual to as many tokens as p holds, which takes nothing away: lossless."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp, weights = namespace(p), super().weights_rows(p, q, x)
        order = xp.argsort(-weights, axis=-1, stable=True)
        rank = xp.argsort(order, axis=-1, stable=True)
        return xp.where(rank < xp.sum(p > 0, axis=-1, keepdims=True), weights, number(0, weights))


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
