"""Parts that compiled processes share: seeded parameters, the base class, and softmax kernels.

A row depends on its prefix alone, never on the batch, the window or the thread it was computed in: sums over a row
have one order, there is no product of matrices (whose rounding depends on their sizes), and nothing is shared
between calls. Kernels run on one thread without the interpreter's lock, so that callers can have many.

The parameters of a process come from Philox 4x64 (:class:`numpy.random.Philox`), which gives normal, uniform and gamma
numbers; the tape's Philox does not. It is counter-based too: the key is the seed and the purpose of the numbers, and
the counter is the image, so nothing depends on the order in which parameters are drawn.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numba import njit

from simlab.arrays import Array
from simlab.checks import check_at_least, check_choice, check_shape
from simlab.exponential_compiled import make_exponential
from simlab.processes.base import Process

PRECISIONS = ("float64", "float32")
FEWEST = -708.0  # e to the power of it is about the smallest normal float64


class Stream(IntEnum):
    """The purpose of random numbers: one stream each."""

    ROWS = 0
    CODEBOOK = 1
    MAPS = 2
    CONTENT = 3
    HARDNESS = 4
    SIGNS = 5
    CALIBRATION = 6
    DRAFT = 7  # of the draft: noise on rows
    DRAFT_MAPS = 8  # of the draft: rotations
    DRAFT_CONTENT = 9  # of the draft: content


def generator(seed: int, stream: Stream, image: int = 0) -> np.random.Generator:
    """The random numbers of one purpose; ``seed`` and ``image`` are whole numbers below 2^64."""
    for name, value in (("seed", seed), ("image", image)):
        if check_at_least(name, value, 0) >= 1 << 64:
            raise ValueError(f"{name} is {value}; expected a whole number below 2^64")
    key = np.array([seed, stream], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 0, 0, image], dtype=np.uint64)))


class Compiled(Process):
    """A process whose rows come from a kernel, as float64 or float32; ``shape`` is (rows, columns).

    Raises ``ValueError`` for a vocabulary below 1, a shape of another form, or another precision.
    """

    def __init__(self, vocabulary: int, shape: tuple[int, int], precision: str = "float64") -> None:
        self.vocabulary = check_at_least("vocabulary", vocabulary, 1)
        self.shape = check_shape(shape)
        self.length = self.shape[0] * self.shape[1]
        check_choice("precision", precision, PRECISIONS)
        self.uniform = np.full(self.vocabulary, 1 / self.vocabulary, dtype=precision)

    def _ended(self, rows: Array, position: Array) -> Array:
        """As for any process, but in place: the rows were made for this call."""
        over = position >= self.length
        rows[over] = 0
        rows[over, 0] = 1
        return rows


def integers(array: Array) -> np.ndarray:
    """``array`` as kernels are compiled for: int64, one entry after the other."""
    return np.ascontiguousarray(array, dtype=np.int64)


exponential = make_exponential(13)  # for x from FEWEST on


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
