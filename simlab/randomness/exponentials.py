"""Exponential times of a race from the tape, and its winner: written once for NumPy, torch and compiled scalars.

One call of Philox gives two uniforms of 53 bits, and they give the times of two tokens. Their logarithm is a series in
a fixed order without a library: so whoever runs the race, the same token wins.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from simlab.arrays import Array, namespace, wide
from simlab.randomness.philox import STEP, Words, mantissa

TOKENS = 1 << 25  # what a counter has room for
_LOG_TWO = log(2)
_HALF_ROOT = int(np.float64(0.5**0.5).view(np.int64))  # the bits of sqrt(1/2)
_ATANH = tuple(2 / (2 * k + 1) for k in range(11))  # log z = 2 atanh((z - 1) / (z + 1)), in powers of its square


def exponent_of(bits: Any) -> Any:
    """n for the float64 of these ``bits``, which is z 2^n with z in [sqrt(1/2), sqrt(2))."""
    return (bits - _HALF_ROOT) >> 52


def minus_log(exponent: Any, z: Any) -> Any:
    """-log(z 2^exponent), both float64, by Horner's rule."""
    s = (z - 1.0) / (z + 1.0)
    square = s * s
    series = square * 0.0
    for k in range(len(_ATANH) - 1, -1, -1):
        series = series * square + _ATANH[k]
    return -(exponent * _LOG_TWO + s * series)


def exponentials(words: Words) -> Array:
    """``float64[..., 2 n]``: the times of tokens from the words ``[..., n]`` of their pairs; none is infinite."""
    xp = namespace(words[0])
    pairs = xp.stack([mantissa(words[0], words[1]), mantissa(words[2], words[3])], axis=-1)
    bits = (xp.astype(pairs + 1, xp.float64) * STEP).view(xp.int64)
    exponent = exponent_of(bits)
    times = minus_log(xp.astype(exponent, xp.float64), (bits - (exponent << 52)).view(xp.float64))
    return xp.reshape(times, (*times.shape[:-2], -1))


def winner(pmf: Array, times: Array) -> Array:
    """``int[...]``: the token of least ``times[..., V] / pmf[..., V]``, of those with mass."""
    xp, pmf = namespace(pmf), wide(pmf)
    there = pmf > 0
    return xp.argmin(xp.where(there, times / xp.where(there, pmf, 1.0), xp.inf), axis=-1)
