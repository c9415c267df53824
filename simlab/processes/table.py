"""A process given by a function from prefixes to pmfs, for exact enumeration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from simlab.arrays import Array, Number, is_exact
from simlab.checks import as_pmf, check_at_least, line_or_grid, on_host
from simlab.processes.base import Process


class TableProcess(Process):
    """A process over a context-dependent table.

    Parameters
    ----------
    vocabulary, length
        V and the number of tokens, both >= 1.
    pmf
        From a prefix (a tuple of fewer than ``length`` tokens) to V numbers that sum to one. The process is
        exact if the first row is a list, or an array of objects, of integers and ``Fraction`` alone, and float64
        otherwise, as where it is an array of integers.
    shape
        The grid ``(rows, columns)``; one row of ``length`` columns by default.

    Raises
    ------
    ValueError
        For sizes below 1, a shape that does not hold ``length`` tokens, and (when it is asked for) a row that is no pmf
        over V tokens, naming the prefix.
    """

    def __init__(
        self,
        vocabulary: int,
        length: int,
        pmf: Callable[[tuple[int, ...]], Sequence[Number]],
        shape: tuple[int, int] | None = None,
    ) -> None:
        self.vocabulary = check_at_least("vocabulary", vocabulary, 1)
        self.length = check_at_least("length", length, 1)
        self.shape = line_or_grid(length, shape)
        if not callable(pmf):
            raise ValueError(f"pmf is {pmf!r}; expected a function from prefixes to pmfs")
        self._pmf = pmf
        self.row = lru_cache(maxsize=None)(self._row)
        exact = is_exact(as_pmf(on_host(pmf(())), "the pmf after ()"))
        self.uniform = np.full(vocabulary, Fraction(1, vocabulary) if exact else 1 / vocabulary)
        self.row(())

    def _row(self, prefix: tuple[int, ...]) -> np.ndarray:
        """The checked pmf ``[V]`` after ``prefix``, read-only."""
        what = f"the pmf after {prefix}"
        row = as_pmf(on_host(self._pmf(prefix)), what)
        if is_exact(self.uniform) and not is_exact(row):
            if set(row.ravel().tolist()) - {0.0, 1.0}:
                raise ValueError(f"{what} holds floats, the pmf after () is exact; expected Fractions in both")
            row = as_pmf(row.astype(int).astype(object), what)
        row = row.astype(self.uniform.dtype)
        if row.shape != (self.vocabulary,):
            raise ValueError(f"{what} has shape {row.shape}; expected ({self.vocabulary},), one number a token")
        row.flags.writeable = False
        return row

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        rows = np.empty((len(tokens), count, self.vocabulary), dtype=self.uniform.dtype)
        for b, (sequence, first) in enumerate(zip(tokens.tolist(), start.tolist(), strict=True)):
            for j in range(count):
                rows[b, j] = self.row(tuple(sequence[: first + j])) if first + j < self.length else self.uniform
        return rows
