"""Compiled functions of one row that several processes share: e^x, softmax and normalisation."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.exponential_compiled import make_exponential

FEWEST = -708.0  # e to the power of it is about the smallest normal float64

exponential = make_exponential(13)


@njit(nogil=True, cache=True)
def softmax(vector: np.ndarray, codebook: np.ndarray, bias: np.ndarray, row: np.ndarray) -> None:
    """Write softmax over v of ``bias[v] + <vector, codebook[:, v]>`` to ``row[v]``.

    ``vector[d]``, ``codebook[d, V]``, ``bias[V]`` and ``row[V]`` have one type. Scores are summed from the bias on,
    dimension by dimension.
    """
    row[:] = bias
    four = len(vector) // 4 * 4
    for k in range(0, four, 4):  # four at a time, so that the row is read and written a quarter as often
        a, b, c, d = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        e, f, g, h = codebook[k], codebook[k + 1], codebook[k + 2], codebook[k + 3]
        for v in range(len(row)):
            row[v] = (((row[v] + a * e[v]) + b * f[v]) + c * g[v]) + d * h[v]
    for k in range(four, len(vector)):
        a, e = vector[k], codebook[k]
        for v in range(len(row)):
            row[v] += a * e[v]
    top = row[0]
    for v in range(1, len(row)):
        top = max(top, row[v])
    for v in range(len(row)):
        row[v] = exponential(max(row[v] - top, FEWEST))
    normalise(row)


@njit(nogil=True, cache=True)
def normalise(row: np.ndarray) -> None:
    """Masses ``row[V]`` scaled to sum to one, in place: summed in eight lanes, and those from the left."""
    lanes = np.zeros(8)
    eight = len(row) // 8 * 8
    for v in range(0, eight, 8):
        for lane in range(8):
            lanes[lane] += row[v + lane]
    total = 0.0
    for lane in range(8):
        total += lanes[lane]
    for v in range(eight, len(row)):
        total += row[v]
    share = 1 / total
    for v in range(len(row)):
        row[v] *= share
