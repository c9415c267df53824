"""Gauss-Legendre quadrature on panels, and the normal density."""

from __future__ import annotations

from functools import lru_cache
from math import pi, sqrt
from typing import Any

import numpy as np


def panels(ends: np.ndarray, order: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights ``[..., K * order]`` of Gauss-Legendre quadrature on panels, ``order`` nodes each.

    ``ends``: of K panels in ascending order, ``float[..., K + 1]``.
    """
    nodes, weights = _legendre(order)
    half, centre = np.diff(ends) / 2, (ends[..., :-1] + ends[..., 1:]) / 2
    shape = (*ends.shape[:-1], -1)
    return (centre[..., None] + half[..., None] * nodes).reshape(shape), (half[..., None] * weights).reshape(shape)


def normal_pdf(x: Any, mean: Any = 0.0, sd: Any = 1.0) -> np.ndarray:
    """The density of N(mean, sd^2) at ``x``; arguments broadcast."""
    z = (x - mean) / sd
    return np.exp(-0.5 * z * z) / (sd * sqrt(2 * pi))


@lru_cache
def _legendre(order: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(order)
