"""Standard normals from the tape, written once for NumPy arrays and for compiled scalars.

Box and Muller, "A note on the generation of random normal deviates", Ann. Math. Statist. 29 (1958): one call of Philox
gives two uniforms of 53 bits, and they give two normals. Logarithm, sine and cosine are sums of their series in a
fixed order, without a branch and without a library: so NumPy and Numba round alike, and compiled loops run many
numbers at a time (:mod:`simlab.continuous.compiled.draws`). The farthest normal is sqrt(2 * 53 log 2) = 8.57 from 0.
"""

from __future__ import annotations

from math import factorial, log, pi
from typing import Any

import numpy as np

from simlab.randomness.philox import STEP

_LOG_TWO = log(2)
_TURN = 2 * pi * STEP  # a turn is 2^53 steps
_HALF_ROOT = int(np.float64(0.5**0.5).view(np.int64))  # the bits of sqrt(1/2)
# coefficients of x^0, x^1, ... in the square of what the series are of
_ATANH = tuple(2 / (2 * k + 1) for k in range(11))  # log z = 2 atanh((z - 1) / (z + 1))
_SINE = tuple((-1) ** k / factorial(2 * k + 1) for k in range(8))
_COSINE = tuple((-1) ** k / factorial(2 * k) for k in range(9))


def box_muller(first: Any, second: Any) -> tuple[Any, Any]:
    """Two independent standard normals from two whole numbers of 53 bits.

    All in one function, by Horner's rule, so that it compiles as it stands.
    """
    # log u for u = (first + 1) / 2^53: its exponent, and a series for what is left in [sqrt(1/2), sqrt(2))
    bits = np.float64((first + 1) * STEP).view(np.int64)
    exponent = (bits - _HALF_ROOT) >> 52
    z = np.int64(bits - (exponent << 52)).view(np.float64)
    s = (z - 1.0) / (z + 1.0)
    square = s * s
    series = square * 0.0
    for k in range(len(_ATANH) - 1, -1, -1):
        series = series * square + _ATANH[k]
    radius = np.sqrt(-2.0 * (exponent * _LOG_TWO + s * series))

    # the angle: at most an eighth of a turn, and quarters of a turn
    quarter = (second + (1 << 50)) >> 51
    angle = (second - (quarter << 51)) * _TURN
    square = angle * angle
    sine = square * 0.0
    for k in range(len(_SINE) - 1, -1, -1):
        sine = sine * square + _SINE[k]
    sine = angle * sine
    cosine = square * 0.0
    for k in range(len(_COSINE) - 1, -1, -1):
        cosine = cosine * square + _COSINE[k]

    odd, side = quarter & 1, 1 - (quarter & 2)
    x = ((1 - odd) * cosine - odd * sine) * side
    y = ((1 - odd) * sine + odd * cosine) * side
    return radius * x, radius * y
