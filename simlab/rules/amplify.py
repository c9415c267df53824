"""Naive lossy acceptance by a factor: accept min(1, k p/q), residual [p - q]+.

GSD, section 5 ("Amplify") and Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, Number, number
from simlab.checks import check_number
from simlab.rules.base import RatioRule, mass


@dataclass(frozen=True)
class Amplify(RatioRule):
    """Accept x with min(1, k p(x)/q(x)).

    Attributes
    ----------
    k
        The factor, >= 0; 1 is lossless.

    Raises
    ------
    ValueError
        For a ``k`` that is negative or no number.

    References
    ----------
    GSD, section 5 ("Amplify") and Table 1.
    """

    k: Number

    def __post_init__(self) -> None:
        check_number("k", self.k)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return number(self.k, p) * mass(p, x), mass(q, x)
