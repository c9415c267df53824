"""The contract of a rule.

A rule is two functions of a target row p, a draft row q and a drafted token x:

* ``accept(p, q, x)``: the probability of keeping x;
* ``residual(p, q, x)``: the pmf to draw from once x is rejected.

Their one-step output law is ``law(y) = q(y) a(y) + sum_x q(x) (1 - a(x)) r_x(y)``, so acceptance and
distortion are computed, never sampled (:mod:`theory.exact`). Every rule here accepts with a ratio of two
masses, min(1, mass of the target / mass of the draft); they differ in which tokens the masses are taken over.
So most are written down as their two masses (:class:`RatioRule`), and as their residual where that is not the
usual [p - q]+.

Rows are ``[..., V]``, tokens ``[...]``; float64 NumPy, arrays of ``Fraction`` and torch tensors alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from simlab.arrays import Array, at, indices, namespace, normalised, number, positive_part, total, wide
from simlab.checks import as_pair, as_tokens


class Rule(ABC):
    """A verification rule."""

    def accept(self, p: Array, q: Array, x: Array) -> Array:
        """The probability ``[...]`` of keeping x: 1 where q(x) = 0, 0 where the draft mass is 0 otherwise.

        Raises ``ValueError`` where p or q is no pmf, shapes differ, or x is outside the vocabulary.
        """
        return self.accept_rows(*_checked(p, q, x))

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        """The pmf ``[..., V]`` to draw from after rejecting x; p where the residual has no mass.

        Raises ``ValueError`` as :meth:`accept` does.
        """
        return self.residual_rows(*_checked(p, q, x))

    # The same for rows that are known to be pmfs, as a process vouches for its own: no checks, no waiting.

    @abstractmethod
    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        """:meth:`accept` without the checks."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        """Weights ``[..., V]`` in proportion to the residual, not all 0: [p - q]+ unless a rule has others.

        They are what a token is drawn from: one pass over a row, and nothing to scale.
        """
        return positive_part(p, q)

    def residual_rows(self, p: Array, q: Array, x: Array) -> Array:
        """:meth:`residual` without the checks."""
        return normalised(self.weights_rows(p, q, x), wide(p))

    def law_rows(self, p: Array, q: Array) -> Array:
        """``[..., V]``: the law of the token emitted for one candidate from q."""
        xp = namespace(p)
        tokens = indices(p.shape[-1], p)
        x = xp.broadcast_to(tokens, tuple(p.shape))
        wide_p, wide_q = (xp.broadcast_to(r[..., None, :], (*r.shape, r.shape[-1])) for r in (p, q))  # one a draft
        kept = self.accept_rows(wide_p, wide_q, x)
        rejected = q * (number(1, p) - kept)
        drawn = rejected[..., None] * self.residual_rows(wide_p, wide_q, x)
        return q * kept + total(xp.moveaxis(drawn, -1, -2))


class RatioRule(Rule):
    """A rule that accepts with the ratio of two masses."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp = namespace(p)
        target, draft = self._masses(p, q, x)
        one, zero = number(1, p), number(0, p)
        ratio = xp.where(draft > 0, target / xp.where(draft > 0, draft, one), zero)
        # written so that NaN, from rows nobody checked, is not kept
        return xp.where((ratio >= 1) | (at(q, x) <= 0), one, ratio)

    @abstractmethod
    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        """The masses of target and draft ``[...]`` whose ratio accepts x; no draft mass rejects.

        In float64 for floating-point rows.
        """


def mass(rows: Array, x: Array) -> Array:
    """``[...]``: what ``rows[..., V]`` put on x; in float64 for floating-point rows, as all arithmetic on masses."""
    return wide(at(rows, x))


def group_masses(p: Array, q: Array, group: Array) -> tuple[Array, Array]:
    """The masses ``[...]`` that p and q put on ``group[..., V]``."""
    xp, zero = namespace(p), number(0, p)
    return total(xp.where(group, p, zero)), total(xp.where(group, q, zero))


def _checked(p: Any, q: Any, x: Any) -> tuple[Array, Array, Array]:
    p, q = as_pair(p, q)
    return p, q, as_tokens(x, p)
