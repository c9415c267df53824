"""Processes over a codebook: a token's score is the inner product of its embedding with one vector of the past.

The vector of position i is

    h_i = content_i + near_i sum_o e(x_{i,o}) maps_o + far_i (sum_{j<i} sign_j e(x_j)) far_map,

where e(v) is the embedding of token v and the tokens x_{i,o} stand a few places before i; the last term, where there
is one, sees near and far tokens alike. The pmf is softmax over v of bias_v + <h_i, e(v)>, so a row costs V d
multiply-adds and V exponentials.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.arrays import Array
from simlab.processes.compiled import Compiled, integers, softmax


class Past(NamedTuple):
    """What makes h of the tokens before a position: N positions, O places, d dimensions, all float64."""

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
        """What sees as this one does, with ``size`` of how another sees; both to the same extent, and so does this."""
        mine, yours = 1 / hypot(1, size), size / hypot(1, size)
        return self._replace(
            content=mine * self.content + yours * other.content,
            maps=mine * self.maps + yours * other.maps,
            far_map=mine * self.far_map + yours * other.far_map,
        )


class Embedded(Compiled):
    """The process of ``codebook[V, d]`` and ``bias[V]`` that sees its ``past``."""

    def __init__(
        self, codebook: np.ndarray, bias: np.ndarray, past: Past, shape: tuple[int, int], precision: str = "float64"
    ) -> None:
        super().__init__(len(codebook), shape, precision)
        self.codebook, self.past = codebook, past
        self._columns, self._bias = np.ascontiguousarray(codebook.T, dtype=precision), bias.astype(precision)

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        rows = np.empty((len(tokens), count, self.vocabulary), dtype=self.uniform.dtype)
        vectors = self.vectors(tokens, start, count).astype(rows.dtype)
        _score(vectors, integers(start), self.length, self._columns, self._bias, rows)
        return rows

    def vectors(self, tokens: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
        """h, ``float64[B, count, d]``, of the positions from ``start[B]`` on; 0 past the end."""
        found = np.zeros((len(tokens), count, self.codebook.shape[1]))
        _look_back(integers(tokens), integers(start), self.codebook, *self.past, found)
        return found


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
    vectors: np.ndarray, start: np.ndarray, length: int, columns: np.ndarray, bias: np.ndarray, rows: np.ndarray
) -> None:
    """Write the pmfs ``rows[B, count, V]``; those past the end are left as they are."""
    for b in range(len(rows)):
        for j in range(min(rows.shape[1], length - start[b])):
            softmax(vectors[b, j], columns, bias, rows[b, j])


@njit(nogil=True, cache=True)
def _look_back(
    tokens: np.ndarray,
    start: np.ndarray,
    codebook: np.ndarray,
    content: np.ndarray,
    places: np.ndarray,
    maps: np.ndarray,
    near: np.ndarray,
    far_map: np.ndarray,
    far: np.ndarray,
    signs: np.ndarray,
    found: np.ndarray,
) -> None:
    """Write h to ``found[B, count, d]``; the sum over all tokens is taken from the first on, whatever the window."""
    length, dimension = content.shape
    far_sighted = np.any(far != 0)
    for b in range(len(found)):
        total, seen = np.zeros(dimension), 0
        for j in range(min(found.shape[1], length - start[b])):
            i, h = start[b] + j, found[b, j]
            for o in range(places.shape[1]):
                if places[i, o] >= 0:
                    _add_mapped(codebook[tokens[b, places[i, o]]], maps[o], h)
            h *= near[i]
            if far_sighted:
                while seen < i:
                    for m in range(dimension):
                        total[m] += signs[seen] * codebook[tokens[b, seen], m]
                    seen += 1
                _add_mapped(far[i] * total, far_map, h)
            h += content[i]


@njit(nogil=True, cache=True)
def _add_mapped(vector: np.ndarray, matrix: np.ndarray, to: np.ndarray) -> None:
    """``to += vector @ matrix``, summed over the rows of ``matrix[d, d]`` from the first on."""
    for k in range(len(vector)):
        for m in range(len(to)):
            to[m] += vector[k] * matrix[k, m]
