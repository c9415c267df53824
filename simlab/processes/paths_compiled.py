"""Sequences of a tree's paths, one a row of its call: :meth:`simlab.processes.base.Process.forward_tree`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def unfold(tokens: np.ndarray, start: np.ndarray, nodes: np.ndarray, paths: np.ndarray) -> np.ndarray:
    """``int64[B, M + 1, T]``: the prefix ``tokens[b, :start[b]]`` alone, then with the path to each node, then zeros.

    What would fall past the end is dropped.
    """
    batch, width = tokens.shape
    count, depth = paths.shape
    found = np.zeros((batch, count + 1, width), np.int64)
    for b in range(batch):
        first = start[b]
        for m in range(count + 1):
            found[b, m, :first] = tokens[b, :first]
            if m > 0:
                for d in range(min(depth, width - first)):
                    if paths[m - 1, d] >= 0:
                        found[b, m, first + d] = nodes[b, paths[m - 1, d]]
    return found
