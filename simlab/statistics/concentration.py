"""Two samples of points at extreme levels: a p-value that is a bound, in closed form and without permutations.

With r = sqrt(1/n + 1/m) and a kernel with k(x, y) >= 0 and k(x, x) <= K: another point in place of one moves the
distance D of the samples by at most sqrt(2 K) / n or sqrt(2 K) / m, and under one law E D <= r sqrt(K), so by
McDiarmid's inequality

    P(D >= r sqrt(K) (1 + x)) <= exp(-x^2)

(compare Gretton et al., "A kernel two-sample test", JMLR 13, 2012, Theorem 8). The kernel must have been fixed before
the points were seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simlab.statistics.kernels import Kernel
from simlab.statistics.permutation import check_bound, joined
from simlab.statistics.power import Planned


class ConcentrationTest(Planned):
    """Whether two samples follow one law, by ``kernel``; its level is never exceeded, nor nearly met.

    A deviation is the kernel's distance between the two laws; in plans, n is the size of either sample. Raises
    ``ValueError`` for a kernel without bound.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.unit = kernel, kernel.unit
        self._root = check_bound(kernel) ** 0.5
        self.most = self._root * 2**0.5

    def p_value(self, first: Any, second: Any) -> float:
        """Of points ``[n]`` or ``[n, d]``, and ``[m]`` or ``[m, d]``."""
        points, weights = joined(first, second)
        distance = max(0.0, float(self.kernel.squared(points)(weights[None])[0])) ** 0.5
        over = distance / (self._root * float((weights**2).sum()) ** 0.5) - 1
        return float(np.exp(-(max(0.0, over) ** 2)))

    def _power(self, n: int, level: float, deviation: float) -> float:
        """A lower bound: the distance of samples falls short of that of the laws as it goes beyond it."""
        over = deviation / (self._root * (2 / n) ** 0.5) - 1 - np.sqrt(-np.log(level))
        return float(-np.expm1(-(max(0.0, over) ** 2)))
