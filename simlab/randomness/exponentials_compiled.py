"""Races of exponentials compiled: the functions of :mod:`simlab.randomness.exponentials`, for one row at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.randomness import Purpose, exponentials
from simlab.randomness.philox import MASK
from simlab.randomness.philox_compiled import STEP, mantissa, philox4x32

exponent_of = njit(inline="always")(exponentials.exponent_of)
minus_log = njit(inline="always")(exponentials.minus_log)
_KIND = int(Purpose.RACE) << 24


class Races(NamedTuple):
    """Whose times they are: the parts of the tape's counter and key that a sequence has of its own."""

    replicates: np.ndarray  # int64[B]
    low_keys: np.ndarray  # int64[B]
    high_keys: np.ndarray  # int64[B]


@njit(nogil=True, cache=True)
def winner(row: np.ndarray, races: Races, b: int, position: int) -> int:
    """The token that wins for ``row[V]`` at a position of sequence b. Times of tokens without mass are not computed."""
    best, least = 0, np.inf
    for pair in range((len(row) + 1) // 2):
        v = 2 * pair
        here, after = np.float64(row[v]), np.float64(row[v + 1]) if v + 1 < len(row) else 0.0
        if here > 0 or after > 0:
            w0, w1, w2, w3 = philox4x32(
                races.replicates[b], 0, position & MASK, _KIND | pair, races.low_keys[b], races.high_keys[b]
            )
            for token, mass, high, low in ((v, here, w0, w1), (v + 1, after, w2, w3)):
                if mass > 0:
                    time = _time(mantissa(high, low)) / mass
                    if time < least:
                        best, least = token, time
    return best


@njit(inline="always")
def _time(number: int) -> float:
    """The exponential time from a number of 53 bits."""
    bits = np.float64((number + 1) * STEP).view(np.int64)
    exponent = exponent_of(bits)
    return minus_log(np.float64(exponent), np.int64(bits - (exponent << 52)).view(np.float64))
