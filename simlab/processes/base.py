"""The contract of a process: where the pmfs come from."""

from __future__ import annotations

from abc import ABC, abstractmethod

from simlab.arrays import Array, grid, indices, namespace, one_hot


class Process(ABC):
    """A model of sequences of ``length`` tokens out of ``vocabulary``, laid out on a grid ``shape``.

    ``uniform`` is the uniform row ``[V]`` in the arithmetic of the process: its library, its device, exact
    or floating point. Everything a decoder builds follows it.
    """

    vocabulary: int
    length: int
    shape: tuple[int, int]  # (rows, columns), raster order; rows * columns = length
    uniform: Array

    @abstractmethod
    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        """The pmfs ``[B, count, V]``; rows past the end may hold anything."""

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        """One call of the model: the pmfs of ``count`` positions from ``start[B]`` on.

        Row j is the pmf of token ``start + j`` given ``tokens[b, :start + j]``; ``tokens`` is ``int[B, T]``
        with T >= max(start) + count - 1. A sequence that is over goes on with token 0, surely: so a decoder
        needs no special case for the end.
        """
        return self.ended(self._rows(tokens, start, count), start)

    def ended(self, rows: Array, start: Array) -> Array:
        """``rows[B, M, V]`` with a point mass on token 0 wherever ``start + j`` is past the end."""
        xp = namespace(rows)
        over = grid(start, rows.shape[1]) >= self.length
        return xp.where(over[..., None], one_hot(indices(1, start)[0], self.uniform), rows)

    def buffer(self, batch: int, width: int) -> Array:
        """Token 0, ``int64[batch, width]``, beside the rows of this process."""
        ints = indices(1, self.uniform)
        return namespace(ints).zeros((batch, width), dtype=ints.dtype, device=ints.device)
