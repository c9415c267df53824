"""Philox compiled: the functions of :mod:`simlab.randomness.philox`, for scalars inside Numba kernels."""

from __future__ import annotations

from numba import njit

from simlab.randomness import philox
from simlab.randomness.philox import STEP

philox4x32 = njit(inline="always")(philox.philox4x32)
mantissa = njit(inline="always")(philox.mantissa)


@njit(inline="always")
def unit(high: int, low: int) -> float:
    """A float64 in [0, 1), as :func:`simlab.randomness.philox.unit`."""
    return mantissa(high, low) * STEP
