"""Inverse-CDF sampling compiled: :mod:`simlab.randomness.inverse_cdf`, also from [p - q]+ in one pass."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays import BLOCK, LANES
from simlab.arrays_compiled import block_sums, excess, excess_sums, room


@njit(nogil=True, cache=True)
def inverse_cdf(row: np.ndarray, uniform: float) -> int:
    """A token from ``row[V]``, as :func:`simlab.randomness.inverse_cdf.inverse_cdf`."""
    cumulative = room(-(-len(row) // BLOCK))
    block_sums(row, cumulative)
    goal = uniform * cumulative[-1]
    k = _block(cumulative, goal)
    start = k * BLOCK
    return start + _within(row[start : start + BLOCK], cumulative[k - 1] if k > 0 else 0.0, goal)


@njit(nogil=True, cache=True)
def inverse_excess(p: np.ndarray, q: np.ndarray, uniform: float) -> int:
    """A token from [p - q]+, or from p where that is empty: one pass for the block sums, then one block."""
    cumulative = room(-(-len(p) // BLOCK))
    excess_sums(p, q, cumulative)
    if cumulative[-1] <= 0:
        return inverse_cdf(p, uniform)
    goal = uniform * cumulative[-1]
    k = _block(cumulative, goal)
    start = k * BLOCK
    part = room(min(BLOCK, len(p) - start))
    excess(p[start : start + BLOCK], q[start : start + BLOCK], part)
    return start + _within(part, cumulative[k - 1] if k > 0 else 0.0, goal)


@njit(nogil=True, cache=True)
def _block(cumulative: np.ndarray, goal: float) -> int:
    """The first block whose cumulative sum exceeds ``goal``; the last one for a row without mass."""
    k = 0
    while k < len(cumulative) - 1 and cumulative[k] <= goal:
        k += 1
    return k


@njit(nogil=True, cache=True)
def _within(part: np.ndarray, before: float, goal: float) -> int:
    """The first token of a ``part`` of a row whose cumulative mass exceeds ``goal``; else the last one with mass.

    Masses are not negative, so the first line whose end exceeds it has the token. Additions of one line wait for each
    other, those of several do not: this takes less than half of what looking at every token's mass does.
    """
    lines = 0.0
    for start in range(0, len(part), LANES):  # as simlab.arrays.running_sums
        stop, line = min(start + LANES, len(part)), 0.0
        for i in range(start, stop):
            line += part[i]
        if lines + line + before > goal:
            line = 0.0
            for i in range(start, stop):
                line += part[i]
                if lines + line + before > goal:
                    return i
        lines += line
    return _last(part)


@njit(nogil=True, cache=True)
def _last(part: np.ndarray) -> int:
    """The last token that adds to the mass of those before it."""
    lines, line, reached, last = 0.0, 0.0, 0.0, 0
    for i in range(len(part)):
        if i % LANES == 0:
            lines, line = lines + line, 0.0
        line += part[i]
        if lines + line > reached:
            last = i
        reached = lines + line
    return last
