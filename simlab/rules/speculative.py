"""Lossless speculative sampling: accept min(1, p/q), residual [p - q]+.

Leviathan et al., arXiv 2211.17192, Algorithm 1; GSD, Algorithm 2; SJD, equations 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array
from simlab.rules.base import RatioRule, mass


@dataclass(frozen=True)
class Speculative(RatioRule):
    """Accept x with min(1, p(x)/q(x)); what is emitted follows p exactly.

    References
    ----------
    Leviathan et al., arXiv 2211.17192, Algorithm 1.
    """

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return mass(p, x), mass(q, x)
