"""Philox compiled: the functions of :mod:`simlab.chance.philox`, for scalars inside Numba kernels."""

from __future__ import annotations

from numba import njit

from simlab.chance import philox

philox4x32 = njit(inline="always")(philox.philox4x32)
unit = njit(inline="always")(philox.unit)
