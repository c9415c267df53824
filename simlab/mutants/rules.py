"""Wrong verification rules: the bugs of acceptance and residual seen in real implementations.

Every check in :mod:`theory.claims` is seen failing on the rules of :data:`RULES`. None is registered in
:mod:`simlab.rules`; only checks and tests may use them.
"""

from __future__ import annotations

from fractions import Fraction

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
from simlab.rules import Amplify, Rule, Speculative


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
