"""Distances between samples of points: maximum mean discrepancy and energy distance.

Both are sqrt(c' A c), with c_i = 1/n for the points of one sample and -1/m for those of the other. For MMD, A is a
kernel (Gretton et al., "A kernel two-sample test", JMLR 13, 2012, eq. 5); for the energy distance it is minus the table
of distances (Szekely and Rizzo, "Energy statistics", J. Statist. Plann. Inference 143, 2013). The second is an MMD too
(Sejdinovic et al., Ann. Statist. 41, 2013): with k(x, y) = |x - o| + |y - o| - |x - y| >= 0, where k(x, x) is at most
2 r for points within r of o.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import scipy

from simlab.checks import check_number

Squared = Callable[[np.ndarray], np.ndarray]  # from weights [B, N] to squared distances [B]


class Kernel(ABC):
    """A distance between samples. ``bound`` is the most k(x, x) can be; k is never negative."""

    unit: str
    bound: float

    @abstractmethod
    def squared(self, points: np.ndarray) -> Squared:
        """From weights ``[B, N]`` of the points ``[N, d]``, which sum to 0, to squared distances ``[B]``."""


class Gaussian(Kernel):
    """MMD with k(x, y) = exp(-|x - y|^2 / (2 bandwidth^2)); :func:`median_distance` of other data is a bandwidth."""

    unit = "MMD"
    bound = 1.0

    def __init__(self, bandwidth: float) -> None:
        check_number("bandwidth", bandwidth)
        if bandwidth == 0:
            raise ValueError("bandwidth is 0; expected a number above 0")
        self.bandwidth = bandwidth

    def squared(self, points: np.ndarray) -> Squared:
        return _form(np.exp(-scipy.spatial.distance.cdist(points, points, "sqeuclidean") / (2 * self.bandwidth**2)))


class Energy(Kernel):
    """The energy distance, as SciPy's: the root of 2 E|X - Y| - E|X - X'| - E|Y - Y'|.

    ``radius`` is how far from some centre points can be; it is needed only where a bound is.
    """

    unit = "energy distance"

    def __init__(self, radius: float = inf) -> None:
        if radius != inf:
            check_number("radius", radius)
        self.radius = radius
        self.bound = 2 * radius

    def squared(self, points: np.ndarray) -> Squared:
        distances = scipy.spatial.distance.cdist(points, points)
        self._check_reach(float(distances.max()))
        return _form(-distances)

    def _check_reach(self, reach: float) -> None:
        if reach > 2 * self.radius:
            raise ValueError(f"points are {reach} apart; expected at most {2 * self.radius}, as radius says")


class EnergyOnLine(Energy):
    """The energy distance of numbers, 2 int (F - G)^2, by sorting: no table of N^2 distances."""

    def squared(self, points: np.ndarray) -> Squared:
        if points.shape[1] != 1:
            raise ValueError(f"points have {points.shape[1]} coordinates; expected numbers")
        order = np.argsort(points[:, 0], kind="stable")
        gaps = np.diff(points[order, 0])
        self._check_reach(float(gaps.sum()))

        def squared(weights: np.ndarray) -> np.ndarray:
            return 2 * np.cumsum(weights[:, order[:-1]], axis=1) ** 2 @ gaps

        return squared


def median_distance(points: Any) -> float:
    """The median distance between two of the points ``[N]`` or ``[N, d]``."""
    return float(np.median(scipy.spatial.distance.pdist(as_points(points, "points"))))


def as_points(values: Any, what: str) -> np.ndarray:
    """``float64[N, d]``; raise ``ValueError`` where values are no finite numbers ``[N]`` or ``[N, d]``."""
    points = np.asarray(values, dtype=np.float64)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"{what} has shape {points.shape}; expected [N] or [N, d], with a point at least")
    if not np.isfinite(points).all():
        raise ValueError(f"{what} holds a number that is not finite; expected points")
    return points


def _form(matrix: np.ndarray) -> Squared:
    return lambda weights: np.einsum("bi,bi->b", weights @ matrix, weights)
