"""Lenience: the draft's mass is scaled down before the two are compared; accept min(1, p/(l q)).

Two residuals are in use. ``target`` is the lossless rule's [p - q]+, in published code
(github.com/ZhouYuxuanYX/Fast-HSD, commit 00ffcd7a34e3, ``simulation/algorithm.py``, ``naive``): the rule is ``amplify``
with k = 1/l. ``lenient`` is [p - l q]+, what the comparison that accepts leaves over. Under both no token is emitted
with more than p/l.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, Number, number, positive_part, wide
from simlab.checks import check_choice, check_number
from simlab.rules.base import RatioRule, mass

RESIDUALS = ("target", "lenient")


@dataclass(frozen=True, init=False)
class Lenience(RatioRule):
    """Accept x with min(1, p(x)/(l q(x))).

    Parameters
    ----------
    factor
        l, above 0 and at most 1; 1 is lossless.
    residual
        ``target``: [p - q]+; ``lenient``: [p - l q]+.

    Raises
    ------
    ValueError
        For a ``factor`` outside (0, 1] or an unknown ``residual``.
    """

    factor: Number
    redrawn: str  # as `residual` is what a rule is asked

    def __init__(self, factor: Number, residual: str = "target") -> None:
        check_number("factor", factor, most=1)
        if factor == 0:
            raise ValueError("factor is 0; expected a number above 0: at 0 everything is accepted, whatever p")
        check_choice("residual", residual, RESIDUALS)
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "redrawn", residual)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return mass(p, x), number(self.factor, p) * mass(q, x)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return positive_part(p, q if self.redrawn == "target" else number(self.factor, p) * wide(q))

    one_residual = True
