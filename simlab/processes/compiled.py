"""The base class of compiled processes, whose rows do not depend on how they are asked for, to the last bit.

A row depends on its prefix alone, never on the batch, the window or the thread it was computed in: sums over a row
have one order, there is no product of matrices (whose rounding depends on their sizes), and nothing is shared
between calls. Kernels run on one thread without the interpreter's lock, so that callers can have many. They are in the
files ``*_compiled.py``, which are imported by the functions that call them: Numba is loaded with the first row.
"""

from __future__ import annotations

import numpy as np

from simlab.arrays import Array, grid
from simlab.checks import check_at_least, check_choice, check_shape
from simlab.processes.base import Process, places

PRECISIONS = ("float64", "float32")


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

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        """As for any process: every path is a sequence of its own."""
        from simlab.processes.paths_compiled import unfold

        place = places(start, paths)
        sequences = unfold(integers(tokens), integers(start), integers(nodes), integers(paths))
        rows = self._rows(sequences.reshape(-1, tokens.shape[1]), place.reshape(-1), 1)
        return self._ended(rows.reshape(*place.shape, self.vocabulary), place)

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        """As for any process; what is past the end is looked for where there can be some."""
        rows = self._rows(tokens, start, count)
        return rows if start.max(initial=0) + count <= self.length else self._ended(rows, grid(start, count))

    def _ended(self, rows: Array, position: Array) -> Array:
        """As for any process, but in place: the rows were made for this call."""
        over = position >= self.length
        rows[over] = 0
        rows[over, 0] = 1
        return rows


def integers(array: Array) -> np.ndarray:
    """``array`` as kernels are compiled for: int64, one entry after the other."""
    return np.ascontiguousarray(array, dtype=np.int64)
