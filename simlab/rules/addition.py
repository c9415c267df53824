"""Naive lossy acceptance by a constant: accept min(1, (p + epsilon)/q), residual [p - q]+.

GSD, section 5 ("Addition") and Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, Number, number
from simlab.checks import check_number
from simlab.rules.base import RatioRule, mass


@dataclass(frozen=True)
class Addition(RatioRule):
    """Accept x with min(1, (p(x) + epsilon)/q(x)).

    Attributes
    ----------
    epsilon
        Probability added to p(x), >= 0; 0 is lossless.

    Raises
    ------
    ValueError
        For an ``epsilon`` that is negative or no number.

    References
    ----------
    GSD, section 5 ("Addition") and Table 1.
    """

    epsilon: Number

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return mass(p, x) + number(self.epsilon, p), mass(q, x)
