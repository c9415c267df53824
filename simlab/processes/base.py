"""The interface of a process: a model that gives the pmf of each token given those before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from simlab.arrays import Array, device, grid, indices, namespace, one_hot, slots, splice


class Process(ABC):
    """A model of sequences of tokens, laid out on a grid.

    Attributes
    ----------
    vocabulary
        V.
    length
        N, the tokens of a sequence.
    shape
        The grid (rows, columns), in raster order; rows * columns = N.
    uniform
        ``[V]``: the uniform row in the arithmetic of the process: its library, its device, exact or floating point.
        Everything a decoder builds follows it.
    """

    vocabulary: int
    length: int
    shape: tuple[int, int]  # (rows, columns), raster order; rows * columns = length
    uniform: Array

    @abstractmethod
    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        """The pmfs ``[B, count, V]``; rows past the end may hold anything."""

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        """One call of the model: the pmfs of ``count`` positions from ``start`` on.

        Returns ``float[B, count, V]``: row j is the pmf of token ``start + j`` given ``tokens[b, :start + j]``. Past
        the end every row is a point mass on token 0, so a decoder needs no special case there.

        Parameters
        ----------
        tokens
            ``int[B, T]``, T >= max(start) + count - 1.
        start
            ``int[B]``: the first position.
        count
            How many rows.
        """
        return self._ended(self._rows(tokens, start, count), grid(start, count))

    def over(self, tokens: Array, length: Array) -> Array:
        """Whether each sequence ``tokens[b, :length[b]]`` is complete.

        ``tokens``: ``int[B, T]``. ``length``: ``int[B]``. Returns ``bool[B]``.
        """
        return length >= self.length

    def keep(self, rows: Sequence[int]) -> None:  # noqa: B027  # most have nothing to do
        """Go on with the sequences ``rows`` of the batch alone; only a process with a memory of them has to know.

        ``rows``: ``int[n]``, those that stay, in the order they are to have; ``rows[i] >= i``.
        """

    def hold(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> None:  # noqa: B027
        """See a tree of drafts, of which the sequences take a path or the beginning of one: what a draft model is told
        when others than it draws itself are verified. Only a process with a memory has to know.

        ``tokens``, ``start``, ``nodes``, ``paths``: as :meth:`forward_tree` takes them.
        """

    def faults(self) -> dict[int, str]:
        """Why sequences of the batch cannot go on, by their rows; empty for a process that cannot fail."""
        return {}

    def closed(self, tokens: Array) -> Array:
        """Finished sequences in their final form. ``tokens``: ``int[B, N]``. Returns ``int[B, N]``."""
        return tokens

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        """One call of the model for a tree of drafts after the prefix ``tokens[b, :start]``.

        Returns ``float[B, M + 1, V]``: the row after the prefix itself, then after the prefix and the path to each
        node.

        Here every path is a separate sequence; a model with tree attention computes all of them at once.

        Parameters
        ----------
        tokens
            ``int[B, T]``.
        start
            ``int[B]``: the length of the prefix.
        nodes
            ``int[B, M]``: the token of every node.
        paths
            ``int[M, D]``: the nodes from the root down to each node, itself last, then -1.
        """
        xp = namespace(tokens)
        batch, (count, depth) = tokens.shape[0], paths.shape
        place, paths = places(start, paths), _rooted(paths)
        values = slots(
            nodes, xp.broadcast_to(xp.reshape(xp.clip(paths, 0, None), (1, -1)), (batch, (count + 1) * depth))
        )
        values = xp.where(paths >= 0, xp.reshape(values, (batch, count + 1, depth)), 0)
        repeated = xp.broadcast_to(tokens[:, None], (batch, count + 1, tokens.shape[1]))
        repeated = xp.reshape(repeated, (batch * (count + 1), tokens.shape[1]))
        starts = xp.reshape(xp.broadcast_to(start[:, None], place.shape), (-1,))
        sequences = splice(repeated, starts, xp.reshape(values, (-1, depth)))
        rows = self._rows(sequences, xp.reshape(place, (-1,)), 1)
        return self._ended(xp.reshape(rows, (batch, count + 1, self.vocabulary)), place)

    def _ended(self, rows: Array, position: Array) -> Array:
        """``rows[B, M, V]`` with a point mass on token 0 wherever ``position[B, M]`` is past the end."""
        over = position >= self.length
        return namespace(rows).where(over[..., None], one_hot(indices(1, position)[0], self.uniform), rows)

    def buffer(self, batch: int, width: int) -> Array:
        """Zeros, ``int64[batch, width]``, on the device of this process's rows."""
        ints = indices(1, self.uniform)
        return namespace(ints).zeros((batch, width), dtype=ints.dtype, device=ints.device)


def places(start: Array, paths: Array) -> Array:
    """``int[B, M + 1]``: the positions of the rows of a tree of ``paths[M, D]``, the one after the prefix first."""
    depth = namespace(paths).sum(namespace(paths).astype(_rooted(paths) >= 0, start.dtype), axis=1)
    return start[:, None] + depth


def _rooted(paths: Array) -> Array:
    """``int[M + 1, D]``: the empty path, then ``paths``."""
    xp = namespace(paths)
    return xp.concat([xp.full((1, paths.shape[1]), -1, dtype=paths.dtype, device=device(paths)), paths], axis=0)
