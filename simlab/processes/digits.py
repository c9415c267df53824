"""A small image model and a cheaper draft of it, fitted in seconds to scikit-learn's handwritten digits.

The images are 8x8 with pixels 0 to 16: sequences of N = 64 tokens, V = 17, in raster order. The target is a
neural network shared by all positions, which sees the pixels so far twice: relative to the position, so that
strokes are learnt once and not 64 times, and as the image so far, which tells one digit from another. The
draft is a table of counts given the pixels to the left and above. So the target looks at the whole prefix and
pays for it with some thirty thousand multiply-adds a row, and the draft is one lookup.

Every pmf has a floor: no pixel value is ever impossible, under the target by a small share of the uniform
row, under the draft by its pseudo-counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from simlab.arrays import Array, at, grid, one_hot
from simlab.processes.base import Process

SHAPE = (8, 8)
LENGTH = 64
VOCABULARY = 17
HELD_OUT = 360  # of the 1797 images

# What the target sees around a pixel: (row, column) offsets, all before it in raster order.
LEFT, ABOVE = (0, -1), (-1, 0)
AROUND = [(0, -3), (0, -2), LEFT, *((row, column) for row in (-3, -2, -1) for column in range(-3, 4))]
FEATURES = len(AROUND) + 2 * VOCABULARY + LENGTH + LENGTH  # see `features`

# All of this was chosen on a part of the training images of seed 0; its held-out images were only scored.
HIDDEN = (128, 64)
SCHEDULE = ((4e-3, 6), (2e-3, 4), (1e-3, 4), (3e-4, 3))  # (learning rate, epochs)
BATCH = 512
WEIGHT_DECAY = 0.12
FLOOR = 1e-3  # the share of the uniform row in a row of the target
EDGES = (1, 8, 16)  # the draft tells apart pixels that are 0, 1-7, 8-15 and 16
PSEUDO = 8.0  # what the histogram of a position weighs in the draft's cells, in pixels


class _Digits(Process):
    """What the two processes share: the sizes, and float64."""

    vocabulary = VOCABULARY
    length = LENGTH
    shape = SHAPE

    def __init__(self) -> None:
        self.uniform = np.full(VOCABULARY, 1 / VOCABULARY)


class DigitsTarget(_Digits):
    """The network: ``layers`` of ``(weights[in, out], bias[out])``, rectified between, softmax at the end.

    Matrix products round differently for batches of different size, so rows are reproducible to the last few
    bits only, unless the calls have the same sizes.
    """

    def __init__(self, layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        super().__init__()
        self.layers = [(np.asarray(w, dtype=np.float64), np.asarray(b, dtype=np.float64)) for w, b in layers]

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds a row; each reads a weight of its own."""
        return sum(weights.size for weights, _ in self.layers)

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        position = _positions(start, count)
        # one product for the whole call: on three axes NumPy would do one for each sequence
        values = features(tokens, position).reshape(-1, FEATURES)
        for weights, bias in self.layers[:-1]:
            values = np.maximum(values @ weights + bias, 0)
        weights, bias = self.layers[-1]
        logits = values @ weights + bias
        rows = np.exp(logits - logits.max(axis=-1, keepdims=True))
        rows /= rows.sum(axis=-1, keepdims=True)
        return ((1 - FLOOR) * rows + FLOOR * self.uniform).reshape(*position.shape, VOCABULARY)


class DigitsDraft(_Digits):
    """The lookup ``table[N, L, L, V]``: pmfs by position, level of the left and level of the upper pixel."""

    multiply_adds = 0  # a row is read, not computed

    def __init__(self, table: np.ndarray) -> None:
        super().__init__()
        self.table = table

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        return self.table[_cell(tokens, _positions(start, count))]


@dataclass(frozen=True)
class Quality:
    """How good and how dear the two are. Bits per pixel are over the held-out images, lower is better."""

    target_bits: float
    draft_bits: float
    independent_bits: float  # each position by its own histogram, whatever the other pixels
    uniform_bits: float  # log2 V
    target_multiply_adds: int  # a row
    draft_multiply_adds: int
    target_numbers: int  # numbers of the model that are read for a row
    draft_numbers: int
    train_images: int
    held_out_images: int
    fit_seconds: float  # both processes, without the scoring


class DigitsPair(NamedTuple):
    """The fitted processes, the images that neither has seen, and how well they do on them."""

    target: DigitsTarget
    draft: DigitsDraft
    held_out: np.ndarray  # int[n, 64]
    quality: Quality


def fit_digits(seed: int = 0) -> DigitsPair:
    """Split the images, fit both processes to the larger part and score them on the rest.

    ``seed`` decides the split and the first weights and batches of the network.
    """
    train, held_out = split_digits(seed)
    began = perf_counter()
    with threadpool_limits(1):  # small products: a second thread gains little, and costs much on a busy machine
        target, draft = fit_target(train, seed), fit_draft(train)
    seconds = perf_counter() - began
    quality = Quality(
        target_bits=bits_per_pixel(target, held_out),
        draft_bits=bits_per_pixel(draft, held_out),
        independent_bits=bits_per_pixel(DigitsDraft(_everywhere(histograms(train))), held_out),
        uniform_bits=bits_per_pixel(DigitsDraft(_everywhere(draft.uniform)), held_out),
        target_multiply_adds=target.multiply_adds,
        draft_multiply_adds=draft.multiply_adds,
        target_numbers=sum(weights.size + bias.size for weights, bias in target.layers),
        draft_numbers=draft.table.shape[-1],
        train_images=len(train),
        held_out_images=len(held_out),
        fit_seconds=seconds,
    )
    return DigitsPair(target, draft, held_out, quality)


def split_digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The images ``int64[n, 64]``, shuffled: those to fit to, and those held out."""
    images = load_digits().data.astype(np.int64)
    images = images[np.random.default_rng(seed).permutation(len(images))]
    return images[:-HELD_OUT], images[-HELD_OUT:]


def bits_per_pixel(process: Process, images: np.ndarray) -> float:
    """Mean of -log2 of the probability of each pixel of ``images`` (``int[n, N]``) given those before it."""
    rows = process.forward(images, _starts(images), process.length)
    return float(-np.log2(at(rows, images)).mean())


def fit_target(images: np.ndarray, seed: int) -> DigitsTarget:
    """The network fitted to ``images`` (``int[n, 64]``) with Adam on a falling learning rate."""
    inputs = features(images, _positions(_starts(images), LENGTH))
    network = MLPClassifier(
        HIDDEN,
        alpha=WEIGHT_DECAY,
        batch_size=BATCH,
        warm_start=True,
        random_state=seed,
        n_iter_no_change=1 + sum(epochs for _, epochs in SCHEDULE),
    )
    with warnings.catch_warnings():
        # the schedule decides when a stage is over, not convergence
        warnings.simplefilter("ignore", ConvergenceWarning)
        for rate, epochs in SCHEDULE:
            network.set_params(learning_rate_init=rate, max_iter=epochs)
            network.fit(inputs.reshape(-1, FEATURES), images.ravel())
    return DigitsTarget(list(zip(network.coefs_, network.intercepts_, strict=True)))


def fit_draft(images: np.ndarray) -> DigitsDraft:
    """The counts in each cell, with ``PSEUDO`` more that follow the histogram of the position."""
    counts = np.zeros((LENGTH, len(EDGES) + 1, len(EDGES) + 1, VOCABULARY))
    position = _positions(_starts(images), LENGTH)
    np.add.at(counts, (*_cell(images, position), images), 1)
    counts += PSEUDO * _everywhere(histograms(images))
    return DigitsDraft(counts / counts.sum(axis=-1, keepdims=True))


def histograms(images: np.ndarray) -> np.ndarray:
    """The pmf of each position on its own, ``[64, V]``, with half a pixel more of every value."""
    counts = 0.5 + (images[..., None] == np.arange(VOCABULARY)).sum(axis=0)
    return counts / counts.sum(axis=-1, keepdims=True)


def features(tokens: Array, position: Array) -> np.ndarray:
    """What the network sees at ``position`` (``int[B, M]``) of ``tokens`` (``int[B, T]``): ``[B, M, F]``.

    Pixels are scaled to 0..1; those outside the image are 0, and since the position is given too, no pixel
    is mistaken for one. The pixels to the left and above are also there as a point mass each, because
    what follows paper (0) or full ink (16) is not in line with what follows the greys between.
    """
    around = np.maximum(_neighbours(tokens, position, AROUND), 0) / (VOCABULARY - 1)
    nearest = one_hot(_neighbours(tokens, position, [LEFT, ABOVE]), np.empty(VOCABULARY))
    past = np.arange(LENGTH) < position[..., None]
    image = np.where(past, _canvas(tokens)[:, None, :LENGTH] / (VOCABULARY - 1), 0)
    where = one_hot(position, np.empty(LENGTH))
    return np.concatenate([around, nearest.reshape(*position.shape, -1), image, where], axis=-1)


def _starts(images: np.ndarray) -> np.ndarray:
    """``int64[n]``: position 0 for each of the n images."""
    return np.zeros(len(images), dtype=np.int64)


def _positions(start: Array, count: int) -> np.ndarray:
    """``int[B, count]``: the positions from ``start[B]`` on, where those past the end are the last one."""
    return np.minimum(grid(start, count), LENGTH - 1)


def _canvas(tokens: Array) -> np.ndarray:
    """``int[B, 65]``: the tokens of the image, zeros if there are fewer, and -1 for any outside of it."""
    canvas = np.zeros((len(tokens), LENGTH + 1), dtype=np.int64)
    canvas[:, : tokens.shape[1]][:, :LENGTH] = tokens[:, :LENGTH]
    canvas[:, LENGTH] = -1
    return canvas


def _neighbours(tokens: Array, position: Array, offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """``int[B, M, K]``: the tokens at K (row, column) ``offsets`` from ``position[B, M]``, -1 outside."""
    step = np.asarray(offsets)
    row = position[..., None] // SHAPE[1] + step[:, 0]
    column = position[..., None] % SHAPE[1] + step[:, 1]
    inside = (row >= 0) & (column >= 0) & (column < SHAPE[1])
    index = np.where(inside, row * SHAPE[1] + column, LENGTH)
    return _canvas(tokens)[np.arange(len(tokens))[:, None, None], index]


def _cell(tokens: Array, position: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cell of the draft's table for ``position[B, M]``: ``int[B, M]`` for each of three axes."""
    level = np.searchsorted(EDGES, _neighbours(tokens, position, [LEFT, ABOVE]), side="right")
    return position, level[..., 0], level[..., 1]


def _everywhere(rows: np.ndarray) -> np.ndarray:
    """``rows`` (``[V]`` or ``[64, V]``) as a table ``[N, L, L, V]`` that looks at no pixel."""
    levels = len(EDGES) + 1
    return np.broadcast_to(rows[..., None, None, :], (LENGTH, levels, levels, VOCABULARY))
