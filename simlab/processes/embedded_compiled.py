"""The kernels of :mod:`simlab.processes.embedded`: the vectors h of positions, and the pmfs of vectors."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.processes.past import Past
from simlab.processes.rows_compiled import softmax


@njit(nogil=True, cache=True)
def score(
    vectors: np.ndarray, position: np.ndarray, length: int, columns: np.ndarray, bias: np.ndarray, rows: np.ndarray
) -> None:
    """Write the pmfs ``rows[B, M, V]``; those past the end are left as they are."""
    for b in range(rows.shape[0]):
        for m in range(rows.shape[1]):
            if position[b, m] < length:
                softmax(vectors[b, m], columns, bias, rows[b, m])


@njit(nogil=True, cache=True)
def look_back(tokens: np.ndarray, start: np.ndarray, codebook: np.ndarray, past: Past, vectors: np.ndarray) -> None:
    """Write h to ``vectors[B, count, d]``; the sum over all tokens is taken from the first on, whatever the window."""
    length, dimension = past.content.shape
    for b in range(len(vectors)):
        total, seen = np.zeros(dimension), 0
        for j in range(min(vectors.shape[1], length - start[b])):
            i = start[b] + j
            _add_signed(tokens[b, seen:i], past.signs[seen:i], codebook, total)
            _write_vector(tokens[b], i, total, codebook, past, vectors[b, j])
            seen = i


@njit(nogil=True, cache=True)
def look_back_from_nodes(
    tokens: np.ndarray,
    start: np.ndarray,
    nodes: np.ndarray,
    paths: np.ndarray,
    codebook: np.ndarray,
    past: Past,
    vectors: np.ndarray,
) -> None:
    """Write h to ``vectors[B, M + 1, d]``, after the prefix and after every node: as if each path were a sequence."""
    length, dimension = past.content.shape
    for b in range(len(vectors)):
        first = min(start[b], length)
        sequence = np.zeros(length, np.int64)
        sequence[:first] = tokens[b, :first]
        before = np.zeros(dimension)
        _add_signed(sequence[:first], past.signs, codebook, before)
        for m in range(vectors.shape[1]):
            i = first
            while m > 0 and i < length and i - first < paths.shape[1] and paths[m - 1, i - first] >= 0:
                sequence[i] = nodes[b, paths[m - 1, i - first]]
                i += 1
            if i < length:
                total = before.copy()
                _add_signed(sequence[first:i], past.signs[first:i], codebook, total)
                _write_vector(sequence, i, total, codebook, past, vectors[b, m])


@njit(nogil=True, cache=True)
def _write_vector(
    sequence: np.ndarray, i: int, total: np.ndarray, codebook: np.ndarray, past: Past, h: np.ndarray
) -> None:
    """Write the vector of position i to ``h[d]``; ``total[d]`` is the signed sum of the tokens before it."""
    for o in range(past.places.shape[1]):
        if past.places[i, o] >= 0:
            _add_mapped(codebook[sequence[past.places[i, o]]], past.maps[o], h)
    h *= past.near[i]
    if past.far[i] != 0:
        _add_mapped(past.far[i] * total, past.far_map, h)
    h += past.content[i]


@njit(nogil=True, cache=True)
def _add_signed(tokens: np.ndarray, signs: np.ndarray, codebook: np.ndarray, total: np.ndarray) -> None:
    """``total += sum_j signs[j] codebook[tokens[j]]``, token by token from the first on."""
    for j in range(len(tokens)):
        for m in range(len(total)):
            total[m] += signs[j] * codebook[tokens[j], m]


@njit(nogil=True, cache=True)
def _add_mapped(vector: np.ndarray, matrix: np.ndarray, to: np.ndarray) -> None:
    """``to += vector @ matrix``, summed over the rows of ``matrix[d, d]`` from the first on."""
    four = len(vector) // 4 * 4
    for k in range(0, four, 4):  # four at a time, so that the sums are read and written a quarter as often
        a, b, c, d = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        e, f, g, h = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
        for m in range(len(to)):
            to[m] = (((to[m] + a * e[m]) + b * f[m]) + c * g[m]) + d * h[m]
    for k in range(four, len(vector)):
        for m in range(len(to)):
            to[m] += vector[k] * matrix[k, m]
