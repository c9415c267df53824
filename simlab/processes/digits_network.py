"""The network of the digits pair: p of a pixel given all pixels before it.

One network is shared by all positions. Its input has the pixels so far twice: relative to the position, so that strokes
are learnt once and not 64 times, and as the image so far, which tells one digit from another. :func:`features` makes
this input. Most features are 0, so rows are computed by a kernel that adds up the weights
of the others in a fixed order: a row is the same, bit for bit, whatever else is asked for in the same call.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array, grid, one_hot
from simlab.processes.base import places
from simlab.processes.compiled import Compiled, integers

SHAPE = (8, 8)
LENGTH = 64
VOCABULARY = 17
INK = VOCABULARY - 1  # the darkest grey level

# The pixels around the one to predict: (row, column) offsets, all before it in raster order.
LEFT, ABOVE = (0, -1), (-1, 0)
AROUND = [(0, -3), (0, -2), LEFT, *((row, column) for row in (-3, -2, -1) for column in range(-3, 4))]
NEAREST = [LEFT, ABOVE]
PARTS = (len(AROUND), len(NEAREST) * VOCABULARY, LENGTH, LENGTH)  # of the features, see `features`
FEATURES = sum(PARTS)
FLOOR = 1e-3  # the share of the uniform row in a row of the target

Layer = tuple[np.ndarray, np.ndarray]  # weights[in, out], bias[out]


class Network(NamedTuple):
    """The weights; those of the first layer by what they are for, H being its size."""

    around: np.ndarray  # [24, H]: a grey level
    nearest: np.ndarray  # [2, V, H]: by grey level
    image: np.ndarray  # [64, H]: a grey level
    where: np.ndarray  # [64, H]: with the bias
    weights: np.ndarray  # [H, K]
    bias: np.ndarray  # [K]
    last_weights: np.ndarray  # [K, V]
    last_bias: np.ndarray  # [V]


class DigitsTarget(Compiled):
    """The network: three ``layers`` of ``(weights[in, out], bias[out])``, rectified between, softmax at the end.

    No grey level is impossible: a row holds the share ``FLOOR`` of the uniform row.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__(VOCABULARY, SHAPE)
        self.layers = [(np.asarray(w, dtype=np.float64), np.asarray(b, dtype=np.float64)) for w, b in layers]
        (first, bias), *later = self.layers
        around, nearest, image, where = np.split(first, np.cumsum(PARTS)[:-1])
        nearest = nearest.reshape(len(NEAREST), VOCABULARY, len(bias))
        self._network = Network(around / INK, nearest, image / INK, where + bias, *chain.from_iterable(later))

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds a row; each reads one weight. The kernel leaves out those with 0."""
        return sum(weights.size for weights, _ in self.layers)

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        from simlab.processes.digits_network_compiled import window

        rows = np.empty((len(tokens), count, VOCABULARY))
        window(self._network, _canvas(tokens), integers(start), rows)
        return rows

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        from simlab.processes.digits_network_compiled import tree

        rows = np.empty((len(tokens), len(paths) + 1, VOCABULARY))
        place = places(start, paths)
        tree(self._network, _canvas(tokens), integers(start), integers(nodes), integers(paths), integers(place), rows)
        return self._ended(rows, place)


def features(tokens: Array, position: Array) -> np.ndarray:
    """The network's input at ``position[B, M]`` of ``tokens[B, T]``: ``float64[B, M, FEATURES]``.

    In this order: the pixels ``AROUND``; a point mass on the pixel to the left and on the one above, because what
    follows paper (0) or full ink (16) is not in line with what follows the greys between; the image so far; and a point
    mass on the position. Pixels are scaled to 0..1. Those outside the image are 0, and since the position is given too,
    no pixel is mistaken for one.
    """
    around = np.maximum(neighbours(tokens, position, AROUND), 0) / INK
    nearest = one_hot(neighbours(tokens, position, NEAREST), np.empty(VOCABULARY))
    past = np.arange(LENGTH) < position[..., None]
    image = np.where(past, _canvas(tokens)[:, None, :LENGTH] / INK, 0)
    where = one_hot(position, np.empty(LENGTH))
    return np.concatenate([around, nearest.reshape(*position.shape, -1), image, where], axis=-1)


def positions(start: Array, count: int) -> np.ndarray:
    """``int[B, count]``: the positions from ``start[B]`` on, where those past the end are the last one."""
    return np.minimum(grid(start, count), LENGTH - 1)


def neighbours(tokens: Array, position: Array, offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """``int[B, M, K]``: the tokens at K (row, column) ``offsets`` from ``position[B, M]``, -1 outside."""
    step = np.asarray(offsets)
    row = position[..., None] // SHAPE[1] + step[:, 0]
    column = position[..., None] % SHAPE[1] + step[:, 1]
    inside = (row >= 0) & (column >= 0) & (column < SHAPE[1])
    index = np.where(inside, row * SHAPE[1] + column, LENGTH)
    return _canvas(tokens)[np.arange(len(tokens))[:, None, None], index]


def _canvas(tokens: Array) -> np.ndarray:
    """``int[B, 65]``: the tokens of the image, zeros if there are fewer, and -1 for any outside of it."""
    canvas = np.zeros((len(tokens), LENGTH + 1), dtype=np.int64)
    canvas[:, : tokens.shape[1]][:, :LENGTH] = tokens[:, :LENGTH]
    canvas[:, LENGTH] = -1
    return canvas
