"""Processes over a codebook: a token's logit is the inner product of its embedding with a vector of the prefix.

The vector of position i is

    h_i = content_i + near_i sum_o e(x_{i,o}) maps_o + far_i (sum_{j<i} sign_j e(x_j)) far_map,

where e(v) is the embedding of token v and the tokens x_{i,o} are a few positions before i; the last term, if any,
weighs near and far tokens alike. The pmf is softmax over v of bias_v + <h_i, e(v)>, so a row costs V d
multiply-adds and V exponentials.
"""

from __future__ import annotations

import numpy as np

from simlab.arrays import Array, grid
from simlab.processes.base import places
from simlab.processes.compiled import Compiled, integers
from simlab.processes.past import Past


class Embedded(Compiled):
    """The process whose logits are inner products of embeddings with a vector of the prefix.

    ``codebook``: ``float[V, d]``, the embeddings. ``bias``: ``float[V]``, added to the logits. ``past``: the
    coefficients of the vector of the prefix. ``shape``: the grid (rows, columns). ``precision``: of the rows.
    """

    def __init__(
        self, codebook: np.ndarray, bias: np.ndarray, past: Past, shape: tuple[int, int], precision: str = "float64"
    ) -> None:
        super().__init__(len(codebook), shape, precision)
        self.codebook, self.past = codebook, past
        self._columns, self._bias = np.ascontiguousarray(codebook.T, dtype=precision), bias.astype(precision)

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        return self._pmfs(self.vectors(tokens, start, count), grid(start, count))

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        from simlab.processes.embedded_compiled import look_back_from_nodes

        position = places(start, paths)
        vectors = np.zeros((*position.shape, self.codebook.shape[1]))
        known = integers(tokens), integers(start), integers(nodes), integers(paths)
        look_back_from_nodes(*known, self.codebook, self.past, vectors)
        return self._ended(self._pmfs(vectors, position), position)

    def vectors(self, tokens: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
        """h, ``float64[B, count, d]``, of the positions from ``start[B]`` on; 0 past the end."""
        from simlab.processes.embedded_compiled import look_back

        vectors = np.zeros((len(tokens), count, self.codebook.shape[1]))
        look_back(integers(tokens), integers(start), self.codebook, self.past, vectors)
        return vectors

    def _pmfs(self, vectors: np.ndarray, position: np.ndarray) -> np.ndarray:
        """The rows ``[B, M, V]`` of ``vectors[B, M, d]`` at ``position[B, M]``; those past the end hold anything."""
        from simlab.processes.embedded_compiled import score

        rows = np.empty((*position.shape, self.vocabulary), dtype=self.uniform.dtype)
        score(vectors.astype(rows.dtype), integers(position), self.length, self._columns, self._bias, rows)
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
