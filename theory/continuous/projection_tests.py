"""Tests of samples of many-dimensional tokens against a known law or against the target's tokens.

* Along a direction a normal law is normal: Kolmogorov's test on projections, whose p-value is exact, over several
  directions by Bonferroni. By Massart's form of the Dvoretzky-Kiefer-Wolfowitz inequality a distance of the projected
  laws is detected with probability 0.999 once it exceeds the threshold by sqrt(log(2 / 0.001) / 2n).
* The sliced Wasserstein-1 distance, the mean over directions of that of the projections: how far, in units of tokens.
"""

from __future__ import annotations

from functools import lru_cache
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from simlab.continuous.models.gaussians import Normal
from simlab.statistics import POWER

DIRECTIONS = 24


class Projected(NamedTuple):
    """Results of the projections of a sample."""

    p_value: float  # of the most surprising direction, for all of them together
    distance: float  # the largest Kolmogorov distance
    detectable: float  # the Kolmogorov distance along a direction that is detected with probability 0.999 at the level
    sliced: float  # the sliced Wasserstein-1 distance from the law


def directions(size: int) -> np.ndarray:
    """Unit vectors ``[DIRECTIONS, size]`` along which tokens of ``size`` numbers are projected, always the same ones.

    The axes come first, as many as half of them, then vectors spread evenly at random.
    """
    spread = np.random.default_rng(size).standard_normal((DIRECTIONS, size))
    spread[: min(size, DIRECTIONS // 2)] = np.eye(size)[: DIRECTIONS // 2]
    return spread / np.linalg.norm(spread, axis=1, keepdims=True)


def projected(tokens: np.ndarray, law: Normal, level: float = 1e-6) -> Projected:
    """Tokens against one normal law, along :data:`DIRECTIONS` directions.

    ``tokens``: ``float[N, d]``, independent. ``law``: of one mean. ``level``: the false-alarm rate that the detectable
    distance is for.
    """
    along = directions(tokens.shape[1])
    n = len(tokens)
    sds = np.sqrt(np.einsum("kd,de,ke->k", along, law.covariance, along))[:, None]
    shadow = np.sort(along @ (tokens - law.mean[0]).T / sds, axis=1)  # standard normal along each direction
    cumulative = scipy.special.ndtr(shadow)
    steps = np.arange(n + 1) / n
    distance = float(np.maximum(steps[1:] - cumulative, cumulative - steps[:-1]).max())
    quantiles = scipy.special.ndtri((np.arange(n) + 0.5) / n)
    return Projected(
        min(1.0, len(along) * float(scipy.stats.kstwo.sf(distance, n))),
        distance,
        detectable(n, level),
        float((np.abs(shadow - quantiles) * sds).mean()),
    )


@lru_cache
def detectable(n: int, level: float) -> float:
    """The Kolmogorov distance along one direction that a test of ``n`` tokens shows with probability :data:`POWER`.

    ``level``: the false-alarm rate over all directions. By Massart's form of the Dvoretzky-Kiefer-Wolfowitz inequality.
    """
    return float(scipy.stats.kstwo.isf(level / DIRECTIONS, n)) + sqrt(log(2 / (1 - POWER)) / (2 * n))
