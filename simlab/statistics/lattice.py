"""Tails of a sum of n independent scores on a lattice, far out too.

The law of the sum is computed with a discrete Fourier transform under the tilted law p_i e^(theta s_i) (Cramer's
change of measure), whose mean is where the tail begins, so that a tail of 1e-12 has as many digits as any other. Log
likelihood ratios of outcomes are such scores once they are rounded to whole steps.
"""

from __future__ import annotations

import numpy as np
import scipy

from simlab.checks import check_at_least

FINENESS = 8  # lattice steps in a score's standard deviation: rounding adds a thousandth to the variance
OUTSIDE = 70.0  # what lies off the lattice is below 2 e^-70


def tails(scores: np.ndarray, mass: np.ndarray, n: int, sums: np.ndarray) -> np.ndarray:
    """P(sum of n scores >= at) for every ``at`` of the rising ``sums``, each score[k] with probability ``mass[k]``.

    Under one tilt, tails are good from its mean to four standard deviations beyond.
    """
    scores, mass = _merged(scores, mass)
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


def _merged(scores: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def _tilt(scores: np.ndarray, mass: np.ndarray, mean: float) -> float:
    """The theta >= 0 under which scores have that mean, as nearly as it can be had."""
    most = 60.0 / float(scores[-1] - scores[-2])  # which leaves almost nothing but the highest of the scores

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
