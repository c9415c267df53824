"""Mixture: lossless verification against a mixture of target and draft, m = weight p + (1 - weight) q.

The *static ensemble* of DIVERSED (arXiv 2604.07622), ``InterpRejectionSampler`` of Cactus' published code
(github.com/MANGA-UOFA/Cactus, commit 3b01b816d18b, ``cactus/interp.py``, whose alpha is the share of q). What is
emitted is m. It accepts 1 - weight TV(p, q) and is (1 - weight) TV(p, q) away from p: it gains what it spends, as
``optimal-lossy`` does, which chooses the weight of every context so that the same TV is spent in each.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, Number, number
from simlab.checks import check_number
from simlab.rules.base import RatioRule, mass


@dataclass(frozen=True)
class Mixture(RatioRule):
    """Accept x with min(1, m(x)/q(x)), m = ``weight`` p + (1 - ``weight``) q; what is emitted is m.

    Attributes
    ----------
    weight
        The share of the target, 0 to 1; 1 is lossless, 0 accepts everything.

    Raises
    ------
    ValueError
        For a ``weight`` outside [0, 1].

    Notes
    -----
    The residual is [m - q]+, in proportion to [p - q]+.
    """

    weight: Number

    def __post_init__(self) -> None:
        check_number("weight", self.weight, most=1)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        target, draft = mass(p, x), mass(q, x)
        return draft + number(self.weight, p) * (target - draft), draft
