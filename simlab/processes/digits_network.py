"""The network of the digits pair: p of a pixel given all pixels before it.

One network is shared by all positions. Its input has the pixels so far twice: relative to the position, so that strokes
are learnt once and not 64 times, and as the image so far, which tells one digit from another. :func:`features` makes
this input. Most features are 0, so rows are computed by a kernel that adds up the weights
of the others in a fixed order: a row is the same, bit for bit, whatever else is asked for in the same call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array, grid, one_hot

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
    image = np.where(past, canvas(tokens)[:, None, :LENGTH] / INK, 0)
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
    return canvas(tokens)[np.arange(len(tokens))[:, None, None], index]


def canvas(tokens: Array) -> np.ndarray:
    """``int[B, 65]``: the tokens of the image, zeros if there are fewer, and -1 for any outside of it."""
    found = np.zeros((len(tokens), LENGTH + 1), dtype=np.int64)
    found[:, : tokens.shape[1]][:, :LENGTH] = tokens[:, :LENGTH]
    found[:, LENGTH] = -1
    return found
