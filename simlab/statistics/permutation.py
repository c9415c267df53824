"""Two samples of points, tested by permutation: exact whatever the law, the kernel and the sizes.

Under one law for both, all ways to share the points out are as likely; so the p-value (1 + #) / (1 + B), with # the
permutations whose distance is no smaller, is at most a level a with probability at most a, and equal where (1 + B) a is
whole and ties are rare. A level below 1 / (1 + B) is out of reach: :mod:`simlab.statistics.concentration` is for these.

What is surely detected follows from concentration. With r = sqrt(1/n + 1/m), N = n + m and k(x, x) <= K: the distance
seen falls below that of the laws by r sqrt(K log(1/b)) with probability at most b (McDiarmid's inequality), and the
share t of permutations that reach r sqrt(K) (sqrt(N/(N - 1)) + sqrt(log(1/t)/c)) or more is bounded by El-Yaniv and
Pechyony ("Transductive Rademacher complexity", JAIR 35, 2009, Lemma 2), where c = (1 - 1/(2N)) (1 - 1/(2 max(n, m))).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from simlab.checks import check_at_least
from simlab.statistics.kernels import Kernel, as_points
from simlab.statistics.power import Planned

NUMBERS = 1 << 22  # held at a time: weights of a batch of permutations


class PermutationTest(Planned):
    """Whether two samples follow one law, by ``kernel`` and so many random ``permutations``, from ``seed``.

    A deviation is the kernel's distance between the two laws; in plans, n is the size of either sample, and what is
    said to be detected is a bound: most deviations of that size are found with less.
    """

    def __init__(self, kernel: Kernel, permutations: int = 999, seed: int = 0) -> None:
        self.kernel, self.unit, self.most = kernel, kernel.unit, (2 * kernel.bound) ** 0.5
        self.permutations = check_at_least("permutations", permutations, 1)
        self.seed = check_at_least("seed", seed, 0)

    def p_value(self, first: Any, second: Any) -> float:
        """Of points ``[n]`` or ``[n, d]``, and ``[m]`` or ``[m, d]``."""
        points, weights = joined(first, second)
        squared = self.kernel.squared(points)
        seen = float(squared(weights[None])[0])
        least = seen - 1e-9 * abs(seen)  # the split that was seen, met again, counts in spite of rounding
        rng = np.random.Generator(np.random.Philox(self.seed))
        reached, batch = 0, max(1, NUMBERS // len(weights))
        for start in range(0, self.permutations, batch):
            many = np.tile(weights, (min(batch, self.permutations - start), 1))
            reached += int((squared(rng.permuted(many, axis=1)) >= least).sum())
        return (1 + reached) / (1 + self.permutations)

    def _power(self, n: int, level: float, deviation: float) -> float:
        """A lower bound: half of what may fail is left to the permutations, half to the samples."""
        allowed = int(np.floor(level * (1 + self.permutations) * (1 + 1e-12))) - 1
        if allowed < 0:
            return 0.0
        root = (2 * check_bound(self.kernel) / n) ** 0.5
        sharp = (1 - 1 / (4 * n)) * (1 - 1 / (2 * n))

        def needed(failing: float) -> float:
            share = scipy.stats.beta.ppf(failing / 2, allowed + 1, self.permutations - allowed)
            critical = (2 * n / (2 * n - 1)) ** 0.5 + np.sqrt(-np.log(share) / sharp)
            return float(root * (critical + np.sqrt(np.log(2 / failing))) - deviation)

        least, most = 1e-15, 1 - 1e-12
        if needed(most) >= 0:
            return 0.0
        return 1 - (least if needed(least) <= 0 else float(scipy.optimize.brentq(needed, least, most, xtol=1e-16)))


def joined(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    """The points of both, ``[n + m, d]``, and weights 1/n and -1/m."""
    one, other = as_points(first, "first"), as_points(second, "second")
    if one.shape[1] != other.shape[1]:
        raise ValueError(f"samples have {one.shape[1]} and {other.shape[1]} coordinates; expected as many")
    weights = np.repeat([1 / len(one), -1 / len(other)], [len(one), len(other)])
    return np.concatenate([one, other]), weights


def check_bound(kernel: Kernel) -> float:
    """The kernel's bound; raise ``ValueError`` where it has none."""
    if not np.isfinite(kernel.bound):
        raise ValueError("the kernel has no bound; expected a radius that holds all points: Energy(radius=...)")
    return float(kernel.bound)
