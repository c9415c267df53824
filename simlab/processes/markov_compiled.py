"""The kernel of :mod:`simlab.processes.markov`: the rows of a table that the last tokens say."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy
from simlab.randomness.philox_compiled import philox4x32


@njit(nogil=True, cache=True)
def look_up(
    table: np.ndarray,
    tokens: np.ndarray,
    start: np.ndarray,
    length: int,
    order: int,
    by_position: bool,
    exact: bool,
    low_key: int,
    high_key: int,
    rows: np.ndarray,
) -> None:
    """Copy rows of ``table[C, V]`` to ``rows[B, count, V]``; those past the end are left as they are."""
    contexts, vocabulary = table.shape
    for b in range(len(rows)):
        for j in range(min(rows.shape[1], length - start[b])):
            i = start[b] + j
            place = i if by_position else 0
            for k in range(1, order + 1):
                token = tokens[b, i - k] if i >= k else 0
                hashed = philox4x32(place, token, k, 0, low_key, high_key)[0]
                place = place * vocabulary + token if exact else hashed
            copy(table[place % contexts], rows[b, j])
