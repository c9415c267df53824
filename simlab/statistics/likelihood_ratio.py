"""A directed test: counts against a law, towards one named alternative.

By Neyman and Pearson no test of the same level has more power against that alternative than the likelihood ratio.
Its statistic is a sum of n independent scores log(w_i / p_i). The scores are rounded to a lattice and clipped at
``CLIP``; the law of the rounded sum is computed with a discrete Fourier transform under the tilted law p_i e^(theta
s_i) (Cramer's change of measure), whose mean is where the tail begins, so that a tail of 1e-12 has as many digits as
any other. The p-value is that of the rounded statistic, so the level is never exceeded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from simlab.arrays import total_variation
from simlab.checks import check_at_least
from simlab.statistics.known_law import AgainstLaw
from simlab.statistics.laws import Law

CLIP = 20.0  # a score counts for no more than a factor of e^20: one observation that decides alone
FINENESS = 8  # lattice steps in a score's standard deviation: rounding adds a thousandth to the variance
LARGEST = 1 << 21  # lattice points of a sum; a coarser lattice is taken where more would be needed
OUTSIDE = 70.0  # what lies off the lattice is below 2 e^-70


class Directed(AgainstLaw):
    """Whether counts follow ``law``, by a test that looks towards the law ``towards``.

    Parameters
    ----------
    law
        The null hypothesis: a ``Law``, a mapping to probabilities or a row ``[V]``.
    towards
        The alternative, in the same form.

    Attributes
    ----------
    most
        TV between the two laws, the farthest deviation.

    Raises
    ------
    ValueError
        If one is no pmf, or the two are the same.

    Notes
    -----
    A deviation is the TV of a law on the way from the one to the other, ``law + share (towards - law)``. No test of the
    same level has more power at ``towards`` (Neyman and Pearson), but for the rounding of scores.
    """

    def __init__(self, law: Any, towards: Any) -> None:
        self.law = Law.of(law)
        self.inside, self.outside = self.law.masses(towards, "towards")
        mass = self.law.mass
        self.most = float(total_variation(self.inside, mass) + self.outside / 2)
        with np.errstate(divide="ignore"):
            self._ratios = np.clip(np.log(self.inside / mass), -CLIP, CLIP)
        if self.most < 1e-12:
            raise ValueError("towards is the law itself; expected another one")
        self._scores = lru_cache(maxsize=None)(self._lattice)
        self._edge = lru_cache(maxsize=None)(self._critical)

    def _p_values(self, seen: np.ndarray, n: int) -> np.ndarray:
        scores = self._scores(n)
        sums, which = np.unique(seen @ scores, return_inverse=True)
        return tails(scores, self.law.mass, n, sums)[which].reshape(seen.shape[:-1])

    def _power(self, n: int, level: float, deviation: float) -> float:
        """On the way to the alternative, exact."""
        share = deviation / self.most
        return self._against(n, level, self.law.mass + share * (self.inside - self.law.mass), share * self.outside)

    def _reached(self, n: int, level: float, mass: np.ndarray) -> float:
        return float(tails(self._scores(n), mass, n, np.array([self._edge(n, level)]))[0])

    def _critical(self, n: int, level: float) -> int:
        return critical(self._scores(n), self.law.mass, n, level)

    def _lattice(self, n: int) -> np.ndarray:
        """The log ratios in whole steps of a lattice that n of them fit on."""
        spread = float(np.sqrt(np.average((self._ratios - self._ratios @ self.law.mass) ** 2, weights=self.law.mass)))
        step = max(spread, 1e-9) / FINENESS
        while True:
            scores = np.rint(self._ratios / step).astype(np.int64)
            if _width(scores, self.law.mass, n) <= LARGEST:
                return scores
            step *= 2


def tails(scores: np.ndarray, mass: np.ndarray, n: int, sums: np.ndarray) -> np.ndarray:
    """P(sum of n scores >= at) for every ``at`` of the rising ``sums``, each score[k] with probability ``mass[k]``.

    Under one tilt, tails are good from its mean to four standard deviations beyond.
    """
    scores, mass = merged(scores, mass)
    found, lowest, highest = np.zeros(len(sums)), n * int(scores.min()), n * int(scores.max())
    found[sums <= lowest] = 1.0
    left = np.flatnonzero((sums > lowest) & (sums <= highest))
    while len(left):
        start = int(sums[left[0]])
        theta = _tilt(scores, mass, start / n)
        first, law, scale = _tilted_sum(scores, mass, n, theta)
        places = np.arange(first, first + len(law))
        spread = np.sqrt(max(0.0, float(law @ (places - law @ places) ** 2)))
        served = left[sums[left] <= max(start, float(law @ places)) + 4 * spread]
        above = places >= start
        weights = law[above] * np.exp(-theta * (places[above] - start))
        beyond = np.append(weights[::-1].cumsum()[::-1], 0.0)
        at = np.clip(sums[served] - max(start, first), 0, len(beyond) - 1)
        found[served] = np.minimum(1.0, np.exp(scale - theta * start) * beyond[at])
        left = left[len(served) :]
    return found


def critical(scores: np.ndarray, mass: np.ndarray, n: int, level: float) -> int:
    """The least number that the sum reaches with probability at most ``level``; above its maximum if there is none.

    The tilt is that at which Chernoff's bound is the level: the number sought is close, and not above.
    """
    scores, mass = merged(scores, mass)
    if len(scores) == 1:
        return n * int(scores[0]) + 1

    def bound(theta: float) -> float:
        total, mean, _ = _tilted(scores, mass, theta)
        return n * (total - theta * mean) - np.log(level)

    most = _steepest(scores)
    theta = most if bound(most) > 0 else float(scipy.optimize.brentq(bound, 0, most))
    first, law, scale = _tilted_sum(scores, mass, n, theta)
    places = np.arange(first, first + len(law))
    middle = n * _tilted(scores, mass, theta)[1]
    weights = law * np.exp(np.minimum(-theta * (places - middle), 700))
    enough = np.flatnonzero(np.exp(scale - theta * middle) * weights[::-1].cumsum()[::-1] <= level)
    return int(places[enough[0]]) if len(enough) else int(places[-1]) + 1


def merged(scores: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of one score made one."""
    scores, which = np.unique(scores, return_inverse=True)
    return scores, np.bincount(which, mass)


def _tilted(scores: np.ndarray, mass: np.ndarray, theta: float) -> tuple[float, float, np.ndarray]:
    """The log of E e^(theta s), and the tilted law with its mean."""
    with np.errstate(divide="ignore"):
        logs = np.log(mass) + theta * scores
    total = float(scipy.special.logsumexp(logs))
    law = np.exp(logs - total)
    return total, float(law @ scores), law


def _steepest(scores: np.ndarray) -> float:
    """The tilt that leaves almost nothing but the highest of the scores."""
    return 60.0 / float(scores[-1] - scores[-2])


def _tilt(scores: np.ndarray, mass: np.ndarray, mean: float) -> float:
    """The theta >= 0 under which scores have that mean, as nearly as it can be had."""
    most = _steepest(scores)

    def short(theta: float) -> float:
        return _tilted(scores, mass, theta)[1] - mean

    return 0.0 if short(0) >= 0 else most if short(most) <= 0 else float(scipy.optimize.brentq(short, 0, most))


def _tilted_sum(scores: np.ndarray, mass: np.ndarray, n: int, theta: float) -> tuple[int, np.ndarray, float]:
    """The law of the sum under the tilt: its first place, probabilities from there on, and n log E e^(theta s)."""
    total, mean, law = _tilted(scores, mass, theta)
    size = scipy.fft.next_fast_len(_width(scores, law, n), real=True)
    ring = np.bincount(scores % size, law, size)
    around = np.maximum(scipy.fft.irfft(scipy.fft.rfft(ring) ** n, size), 0)
    lowest = n * int(scores.min())
    first = min(max(lowest, round(n * mean) - size // 2), max(lowest, n * int(scores.max()) - size + 1))
    return first, np.roll(around, -(first % size)), n * total


def _width(scores: np.ndarray, law: np.ndarray, n: int) -> int:
    """Lattice points around the mean outside which the sum has probability below 2 e^-70, by Bernstein's inequality."""
    check_at_least("n", n, 1)
    mean = float(law @ scores)
    spread = n * float(law @ (scores - mean) ** 2)
    reach = float(abs(scores - mean).max()) * OUTSIDE / 3
    half = reach + np.sqrt(reach**2 + 2 * spread * OUTSIDE)
    return int(min(2 * half, n * (int(scores.max()) - int(scores.min())))) + 2
