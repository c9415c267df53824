"""Processes over a codebook: a token's logit is the inner product of its embedding with a vector of the prefix.

The vector of position i is

    h_i = content_i + near_i sum_o e(x_{i,o}) maps_o + far_i (sum_{j<i} sign_j e(x_j)) far_map,

where e(v) is the embedding of token v and the tokens x_{i,o} are a few positions before i; the last term, if any,
weighs near and far tokens alike. The pmf is softmax over v of bias_v + <h_i, e(v)>, so a row costs V d
multiply-adds and V exponentials.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.arrays import Array, grid
from simlab.processes.base import places
from simlab.processes.compiled import Compiled, integers, softmax


class Past(NamedTuple):
    """The coefficients of h: N positions, O neighbours, d dimensions, all float64."""

    content: np.ndarray  # [N, d]
    places: np.ndarray  # int64[N, O]: the positions of the tokens x_{i,o}, -1 where there is none
    maps: np.ndarray  # [O, d, d]
    near: np.ndarray  # [N]
    far_map: np.ndarray  # [d, d]
    far: np.ndarray  # [N]
    signs: np.ndarray  # [N]

    def scaled(self, factor: np.ndarray) -> Past:
        """The same with every h times its ``factor[N]``."""
        return self._replace(content=self.content * factor[:, None], near=self.near * factor, far=self.far * factor)

    def mixed(self, other: Past, size: float) -> Past:
        """These coefficients plus ``size`` times the ``other``'s, scaled back so that h has the same size."""
        mine, yours = 1 / hypot(1, size), size / hypot(1, size)
        return self._replace(
            content=mine * self.content + yours * other.content,
            maps=mine * self.maps + yours * other.maps,
            far_map=mine * self.far_map + yours * other.far_map,
        )


class Embedded(Compiled):
    """The process of ``codebook[V, d]``, ``bias[V]`` and the coefficients ``past``."""

    def __init__(
        self, codebook: np.ndarray, bias: np.ndarray, past: Past, shape: tuple[int, int], precision: str = "float64"
    ) -> None:
        super().__init__(len(codebook), shape, precision)
        self.codebook, self.past = codebook, past
        self._columns, self._bias = np.ascontiguousarray(codebook.T, dtype=precision), bias.astype(precision)

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        return self._pmfs(self.vectors(tokens, start, count), grid(start, count))

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        position = places(start, paths)
        vectors = np.zeros((*position.shape, self.codebook.shape[1]))
        known = integers(tokens), integers(start), integers(nodes), integers(paths)
        _look_back_from_nodes(*known, self.codebook, self.past, vectors)
        return self._ended(self._pmfs(vectors, position), position)

    def vectors(self, tokens: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
        """h, ``float64[B, count, d]``, of the positions from ``start[B]`` on; 0 past the end."""
        vectors = np.zeros((len(tokens), count, self.codebook.shape[1]))
        _look_back(integers(tokens), integers(start), self.codebook, self.past, vectors)
        return vectors

    def _pmfs(self, vectors: np.ndarray, position: np.ndarray) -> np.ndarray:
        """The rows ``[B, M, V]`` of ``vectors[B, M, d]`` at ``position[B, M]``; those past the end hold anything."""
        rows = np.empty((*position.shape, self.vocabulary), dtype=self.uniform.dtype)
        _score(vectors.astype(rows.dtype), integers(position), self.length, self._columns, self._bias, rows)
        return rows


def rotations(random: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    """``[count, d, d]``: orthogonal matrices, uniform by Haar's measure.

    Mezzadri, "How to generate random matrices from the classical compact groups", 2007: Q of a normal matrix, with
    the signs that make R's diagonal positive.
    """
    q, r = np.linalg.qr(random.standard_normal((count, dimension, dimension)))
    return q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None]


def directions(vectors: np.ndarray) -> np.ndarray:
    """``vectors[..., d]`` at length 1."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@njit(nogil=True, cache=True)
def _score(
    vectors: np.ndarray, position: np.ndarray, length: int, columns: np.ndarray, bias: np.ndarray, rows: np.ndarray
) -> None:
    """Write the pmfs ``rows[B, M, V]``; those past the end are left as they are."""
    for b in range(rows.shape[0]):
        for m in range(rows.shape[1]):
            if position[b, m] < length:
                softmax(vectors[b, m], columns, bias, rows[b, m])


@njit(nogil=True, cache=True)
def _look_back(tokens: np.ndarray, start: np.ndarray, codebook: np.ndarray, past: Past, vectors: np.ndarray) -> None:
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
def _look_back_from_nodes(
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
