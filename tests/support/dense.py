"""A table process as one array, for NumPy and torch: the same rows as :class:`TableProcess`, without its loops."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from simlab.arrays import Array, grid, namespace
from simlab.processes import Process, TableProcess


class DenseProcess(Process):
    """Every row of ``world``, as float64 NumPy or through ``convert`` as something else (``torch.from_numpy``).

    A prefix is found by its number: its tokens are the digits, and shorter prefixes come first.
    """

    def __init__(self, world: TableProcess, convert: Any = lambda array: array) -> None:
        size, self.length, self.shape = world.vocabulary, world.length, world.shape
        self.vocabulary = size
        prefixes = [prefix for n in range(self.length) for prefix in product(range(size), repeat=n)]
        self.table = convert(np.array([world.row(prefix) for prefix in prefixes], dtype=np.float64))
        self.uniform = convert(np.full(size, 1 / size))
        self.starts = convert(np.array([sum(size**k for k in range(n)) for n in range(self.length + 1)]))

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        xp = namespace(tokens)
        numbers = [tokens[:, 0] * 0]
        for position in range(min(tokens.shape[1], self.length - 1)):
            numbers.append(numbers[-1] * self.vocabulary + tokens[:, position])
        place = xp.clip(grid(start, count), 0, len(numbers) - 1)
        return self.table[xp.take_along_axis(xp.stack(numbers, axis=1), place, axis=1) + self.starts[place]]
