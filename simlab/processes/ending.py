"""Processes with an end-of-sequence token.

Behind the end every row is a point mass on the end token. So a block of drafts may run across it: a draft accepted
there is the only token possible, and no decoder needs a special case.
"""

from __future__ import annotations

from simlab.arrays import Array, grid, how_many_first, indices, namespace, one_hot
from simlab.checks import check_at_least
from simlab.processes.base import Process, places
from simlab.processes.wrapped import Wrapped


class Ending(Wrapped):
    """``process`` up to the first token ``end``, and that token from there on.

    Parameters
    ----------
    process
        The model.
    end
        The token that ends a sequence.

    Raises
    ------
    ValueError
        Unless ``end`` is in the vocabulary.
    """

    def __init__(self, process: Process, end: int) -> None:
        check_at_least("end", end, 0)
        if end >= process.vocabulary:
            raise ValueError(f"end is {end}; expected a token below {process.vocabulary}")
        super().__init__(process)
        self.end = end

    def over(self, tokens: Array, length: Array) -> Array:
        """Whether all tokens are there, or the end is committed."""
        return super().over(tokens, length) | (self._first(tokens) < length)

    def closed(self, tokens: Array) -> Array:
        """With the end token behind the end, whatever was drafted there."""
        behind = indices(tokens.shape[1], tokens) > self._first(tokens)[:, None]
        return namespace(tokens).where(behind, self.end, tokens)

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        position = grid(start, count)
        rows = super().forward(tokens, start, count)
        return self._ended(self._sure(rows, position > self._first(tokens)[:, None]), position)

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        """One call of the model, for the same tree."""
        xp = namespace(tokens)
        path = nodes[:, xp.clip(paths, 0, None)]
        within = xp.any((path == self.end) & (paths >= 0), axis=2)
        prefix = self._first(tokens)[:, None] < start[:, None]
        after = xp.concat([prefix, prefix | within], axis=1)
        rows = self._sure(super().forward_tree(tokens, start, nodes, paths), after)
        return self._ended(rows, places(start, paths))

    def _first(self, tokens: Array) -> Array:
        """``int[B]``: where the first end of each sequence is, drafts included; past all where there is none."""
        return how_many_first(tokens != self.end)

    def _sure(self, rows: Array, after: Array) -> Array:
        """``rows[B, M, V]``, a point mass on the end ``after[B, M]`` it."""
        xp = namespace(rows)
        return xp.where(after[..., None], one_hot(indices(1, after)[0] + self.end, rows), rows)
