"""The rows of :class:`simlab.models.process.sampling.Sampling` compiled: what runs on a CPU.

Rows are independent, so any of them may be written from any thread; the interpreter is free meanwhile. Nothing is
sorted. Floats of one sign are ordered as the integers of their bits are, so *keys*, integers in the order of the
scores, are halved until as many as wanted are left: each halving is one pass that counts, at the speed of memory, and
there are no more of them than a number has bits. Top-p halves likewise, by the mass of the tokens that are as likely.

Additions, multiplications and divisions are those of IEEE arithmetic in a fixed order, so that in float32 rows have the
same bits on every machine.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays_compiled import total
from simlab.processes.processors import WHOLE

LEAST = np.float32(-87.0)  # e to this is about the least normal number; below it is nothing
LOG2_E = np.float32(1.44269504088896341)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # ln 2 in two parts
E5, E4, E3 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
E2, E1, E0 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)


@njit(nogil=True, cache=True)
def write_rows(
    position: np.ndarray,
    conditional: np.ndarray,
    free: np.ndarray,
    scales: np.ndarray,
    allowed: np.ndarray,
    which: np.ndarray,
    temperature: float,
    top_k: int,
    top_p: float,
    rows: np.ndarray,
    bits: np.ndarray,
) -> None:
    """Write the pmf of each row of logits.

    Parameters
    ----------
    position
        ``int[R]``, of each row in its sequence.
    conditional, free
        ``float[R, V]``: logits with and without the condition; the second ``[0, V]`` without guidance.
    scales
        ``float[S]``, of guidance: for each position, or one for all.
    allowed, which
        ``bool[G, V]``, the distinct rows of a grammar, and ``int[N]``, which one each position has; empty without one.
    temperature, top_k, top_p
        As in ``Sampling``, the first in the type of the rows; V and 0 where nothing is cut.
    rows, bits
        ``float[R, V]``, what is written, NaN where logits are no numbers; and the same memory as integers.
    """
    size = rows.shape[1]
    keys = np.empty(size, bits.dtype)
    units = np.empty(size if top_p > 0 else 0, np.int64)
    for r in range(len(rows)):
        row = rows[r]
        if len(free) > 0:
            scale = scales[_entry(scales, position[r])]
            for v in range(size):
                row[v] = free[r, v] + scale * (conditional[r, v] - free[r, v])
        else:
            row[:] = conditional[r]
        if len(allowed) > 0:
            may = allowed[which[_entry(which, position[r])]]
            for v in range(size):
                row[v] = row[v] if may[v] else -np.inf
        if temperature != 0 and temperature != 1:
            for v in range(size):
                row[v] = row[v] / temperature

        likeliest = _order(row, bits[r], keys)
        if likeliest < 0:
            row[:] = np.nan
        elif temperature == 0:
            row[:] = 0
            row[likeliest] = 1
        else:
            _softmax(row, row[likeliest], keys, _reached(keys, top_k))
            if top_p > 0:
                _keep_mass(row, bits[r], units, top_p)


@njit(inline="always")
def _entry(table: np.ndarray, position: int) -> int:
    """Where a table says what holds at a position; one entry is for all."""
    return min(max(position, 0), len(table) - 1)


# Scores ---------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _order(row: np.ndarray, bits: np.ndarray, keys: np.ndarray) -> int:
    """Write a key for each score: integers in their order, equal for equal ones.

    Returns where the largest is, the first of equals; -1 if it is infinite, or any is NaN.
    """
    sign, none = 8 * row.itemsize - 1, 0
    below = ~(-1 << sign)  # all bits but the sign
    for v in range(len(row)):
        keys[v] = (bits[v] ^ ((bits[v] >> sign) & below)) + (bits[v] == ~below)  # -0 is 0
    top = keys[0]
    for v in range(len(row)):
        top = max(top, keys[v])
        none |= row[v] != row[v]
    first = 0
    while keys[first] < top:
        first += 1
    return first if not none and -np.inf < row[first] < np.inf else -1


@njit(nogil=True, cache=True)
def _reached(keys: np.ndarray, k: int) -> int:
    """A number that the k largest keys reach, and those that tie with the last of them, and no others."""
    low, high = _range(keys)
    one = np.ones(1, keys.dtype)  # a number of the type of the keys, so that they are compared as they are
    while low < high and k < len(keys):
        one[0] = _between(low, high)
        middle, count = one[0], np.int32(0)
        for v in range(len(keys)):
            count = np.int32(count + np.int32(keys[v] >= middle))
        if count >= k:
            low = middle
        if count == k:
            break
        if count < k:
            high = middle - 1
    return low


@njit(inline="always")
def _range(keys: np.ndarray) -> tuple[int, int]:
    """The smallest and the largest."""
    low, high = keys[0], keys[0]
    for v in range(len(keys)):
        low, high = min(low, keys[v]), max(high, keys[v])
    return int(low), int(high)


@njit(inline="always")
def _between(low: int, high: int) -> int:
    """The middle of two integers, rounded up; their sum may be more than an integer holds."""
    return (low | high) - ((low ^ high) >> 1)


# Masses ---------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _softmax(row: np.ndarray, top: float, keys: np.ndarray, least: int) -> None:
    """The softmax of the scores whose keys are at least ``least``; ``top`` is the largest score."""
    if row.itemsize == 4:
        for v in range(len(row)):
            row[v] = _exp(np.float32(row[v] - top)) if keys[v] >= least else 0
    else:
        for v in range(len(row)):
            row[v] = np.exp(row[v] - top) if keys[v] >= least else 0
    inverse = 1 / total(row)
    for v in range(len(row)):
        row[v] = row[v] * inverse


@njit(inline="always")
def _exp(x: np.float32) -> np.float32:
    """e to the power of a negative number in single precision, to within 2 units of its last place; 0 below e^-87.

    The polynomial is that of Moshier's Cephes library; here without branches, so that numbers are taken side by side.
    """
    inside = max(x, LEAST)
    power = np.int32(inside * LOG2_E - HALF)  # the nearest whole number: to zero from half below
    n = np.float32(power)
    rest = inside - n * LN2_HIGH - n * LN2_LOW
    tail = ((((E5 * rest + E4) * rest + E3) * rest + E2) * rest + E1) * rest + E0
    value = tail * (rest * rest) + rest + ONE
    return value * np.int32((power + 127) << 23).view(np.float32) if x >= LEAST else ZERO


@njit(nogil=True, cache=True)
def _keep_mass(row: np.ndarray, bits: np.ndarray, units: np.ndarray, mass: float) -> None:
    """Scale up the fewest likeliest tokens that have ``mass`` together, of ties the first; the others become 0."""
    wanted, held = np.int64(np.ceil(mass * WHOLE)), np.int64(0)
    for v in range(len(row)):
        units[v] = np.int64(row[v] * WHOLE)
        held += units[v]
    if held > wanted:
        low, high = _range(bits)
        while low < high:
            middle = _between(low, high)
            if _mass_from(bits, units, middle) >= wanted:
                low = middle
            else:
                high = middle - 1
        missing = wanted - _mass_from(bits, units, low + 1)  # what the tokens that tie with the last have to add
        for v in range(len(row)):
            if bits[v] < low or (bits[v] == low and missing <= 0):
                row[v] = 0
            elif bits[v] == low:
                missing -= units[v]
    inverse = total(row)
    for v in range(len(row)):
        row[v] = row[v] / inverse


@njit(nogil=True, cache=True)
def _mass_from(bits: np.ndarray, units: np.ndarray, least: int) -> int:
    """The units of the tokens whose bits are at least ``least``."""
    one = np.ones(1, bits.dtype)
    one[0] = least
    least, mass = one[0], np.int64(0)
    for v in range(len(bits)):
        mass += units[v] if bits[v] >= least else 0
    return int(mass)
