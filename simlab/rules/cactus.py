"""Cactus: accept a draft with what a bounded divergence lets the target give to it.

Hao and Mou, arXiv 2604.04987; formulas from the published code (github.com/MANGA-UOFA/Cactus, commit 3b01b816d18b,
``cactus/cactus.py``, ``solve_constraint``), whose q is the target. For a drafted token x another target is made, which
gives x more and takes it from the others in proportion,

    h(x) = min(1, p(x) + sqrt(2 delta p(x) (1 - p(x)))),   h(y) = p(y) (1 - h(x))/(1 - p(x)),

and the step is the lossless one against h: accept min(1, h(x)/q(x)), residual [h - q]+. Since every draft has an h of
its own, what is emitted is none of them. The root is the second-order solution of KL(h, p) = delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from simlab.arrays import Array, Number, is_exact, namespace, number, one_hot, positive_part, take, wide
from simlab.checks import check_number
from simlab.rules.base import RatioRule, acceptance_ratio, mass

BITS = 64  # behind the point, of a root that is no fraction


def root(value: Array) -> Array:
    """The square root of ``value`` >= 0; of a ``Fraction`` rounded down to 64 bits where it is none itself."""
    if is_exact(value):
        return np.asarray(np.frompyfunc(_exact_root, 1, 1)(value), dtype=object)
    return namespace(value).sqrt(value)


def _exact_root(value: Fraction) -> Fraction:
    over = value.denominator << BITS
    return Fraction(isqrt((value.numerator * value.denominator) << (2 * BITS)), over)


@dataclass(frozen=True)
class Cactus(RatioRule):
    """Accept x with min(1, h(x)/q(x)), h(x) = min(1, p(x) + sqrt(2 ``delta`` p(x) (1 - p(x)))); residual [h - q]+.

    Attributes
    ----------
    delta
        The divergence allowed, in nats, >= 0; 0 is lossless.

    Raises
    ------
    ValueError
        For a ``delta`` that is negative or no number.

    References
    ----------
    Hao and Mou, arXiv 2604.04987; github.com/MANGA-UOFA/Cactus, commit 3b01b816d18b.
    """

    delta: Number

    def __post_init__(self) -> None:
        check_number("delta", self.delta)

    def raised(self, own: Array) -> Array:
        """h(x) for masses p(x). ``own``: ``[...]``: p(x). Returns ``float[...]``, from p(x) to 1."""
        xp, zero, one = namespace(own), number(0, own), number(1, own)
        rest = xp.where(own < one, one - own, zero)
        found = own + root(2 * number(self.delta, own) * own * rest)
        return xp.where(found < one, found, one)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return self.raised(_own(p, x))[..., 0], mass(q, x)

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V)."""
        return acceptance_ratio(p, self.raised(wide(p)), wide(q), q)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp, p, own, one = namespace(p), wide(p), _own(p, x), number(1, p)
        raised = self.raised(own)
        share = (one - raised) / xp.where(own < one, one - own, one)
        return positive_part(xp.where(one_hot(x, p) > 0, raised, p * share), q, fallback=p)


def _own(p: Array, x: Array) -> Array:
    """p(x) as ``[..., 1]``."""
    return take(wide(p), x[..., None], -1)
