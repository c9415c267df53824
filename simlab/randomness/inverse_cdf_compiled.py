"""Inverse-CDF sampling compiled: :mod:`simlab.randomness.inverse_cdf`, also from [p - q]+ in one pass."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays import BLOCK, LANES
from simlab.arrays_compiled import block_sums, excess, excess_sums


@njit(nogil=True, cache=True)
def inverse_cdf(row: np.ndarray, uniform: float) -> int:
    """A token from ``row[V]``, as :func:`simlab.randomness.inverse_cdf.inverse_cdf`."""
    cumulative = block_sums(row)
    goal = uniform * cumulative[-1]
    k = _block(cumulative, goal)
    start = k * BLOCK
    return start + _within(row[start : start + BLOCK], cumulative[k - 1] if k > 0 else 0.0, goal)


@njit(nogil=True, cache=True)
def inverse_excess(p: np.ndarray, q: np.ndarray, uniform: float) -> int:
    """A token from [p - q]+, or from p where that is empty: one pass for the block sums, then one block."""
    cumulative = excess_sums(p, q)
    if cumulative[-1] <= 0:
        return inverse_cdf(p, uniform)
    goal = uniform * cumulative[-1]
    k = _block(cumulative, goal)
    start = k * BLOCK
    part = excess(p[start : start + BLOCK], q[start : start + BLOCK])
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
    """The first token of a ``part`` of a row whose cumulative mass exceeds ``goal``; else the last one with mass."""
    lines, line, reached, last = 0.0, 0.0, 0.0, 0
    for i in range(len(part)):
        if i % LANES == 0:  # as simlab.arrays.running_sums
            lines, line = lines + line, 0.0
        line += part[i]
        cumulative = lines + line
        if cumulative + before > goal:
            return i
        if cumulative > reached:
            last = i
        reached = cumulative
    return last
