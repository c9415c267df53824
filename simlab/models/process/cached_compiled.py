"""The bookkeeping of :mod:`simlab.models.process.cached` compiled: what runs on a CPU under compiled decoders.

What the reference form does in some sixty operations of torch a call, each of which takes longer to begin than to do,
is one function here. It works on the same memory, so that sequences come and go as they do there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from simlab.arrays import grid
from simlab.models.process import cached
from simlab.models.process.branches import Branches
from simlab.models.process.cached import ENTRIES, LOST, NO_NUMBER, Cached, Call

NO_NODES = np.empty((0, 0), np.int64)
NO_SHAPE = np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0), bool)
WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes


aligned = njit(inline="always")(cached.aligned)


class CachedOnHost(Cached):
    """:class:`~simlab.models.process.cached.Cached` for a model on a CPU: the same answers, from the same memory."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._hidden_bits = self._hidden.view(WORDS[self._hidden.itemsize]).reshape(1).numpy()
        self._status_bits = self._status.numpy()
        self._of_sequences: Any = ()  # arrays over what is kept of each

    def forward(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        rows = self._rows(tokens, start, count)
        return self._ended(rows, grid(start, count)) if self._reaches_end else rows

    def over(self, tokens: Tensor, length: Tensor) -> Tensor:
        return torch.from_numpy(self.stopped(length.numpy()))

    def stopped(self, length: np.ndarray) -> np.ndarray:
        """Whether each sequence is over, as :meth:`over` says, for who has arrays."""
        return (length >= self.length) | (self._status_bits[: len(length)] != 0)

    def rows_of(self, features: Tensor, position: Tensor) -> Tensor:
        """As there: where all rows are of one kind and made at once, as they lie."""
        few = position.shape[0] * position.shape[1] * self.vocabulary <= ENTRIES["cpu"]
        if self._copies > 1 or len(self._kinds) > 1 or not few:
            return super().rows_of(features, position)
        rows = self._made(self._kinds[0][0], features, position)
        self._mark(rows)
        return rows

    def faults(self) -> dict[int, str]:
        return super().faults() if self._status_bits[: self.batch].any() else {}

    def _feed_chain(self, tokens: Tensor, start: Tensor, count: int) -> Call:
        return self._fed_to(tokens, start, self.lag + count, count - 1, count, NO_NODES, NO_SHAPE)

    def _feed_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, shape: Branches) -> Call:
        of_shape = shape.depths.values, shape.aside.values, shape.ancestors.values
        return self._fed_to(tokens, start, self.lag + 1, shape.depth, shape.depth, nodes.numpy(), of_shape)

    def _fed_to(
        self,
        tokens: Tensor,
        start: Tensor,
        chain: int,
        held: int,
        ahead: int,
        nodes: np.ndarray,
        shape: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> Call:
        """A call for ``chain`` tokens in a row and ``nodes``: from ``start`` on the cache then holds ``held``
        positions, and looks at ``ahead``."""
        values = tokens.numpy()
        if self._waiting is not None:
            self._settle_compiled(values)
        *laid_out, mask, least, most = feed(
            values,
            start.numpy(),
            self.lag,
            chain,
            held,
            self.length,
            self._first,
            self._places,
            self._copies,
            ahead + self._spread,
            self.visible is not None,
            nodes,
            *shape,
            self._hidden_bits,
            *self._of_sequences,
        )
        self._reaches_end = most >= self.length
        told = torch.from_numpy(mask).view(self._hidden.dtype)
        fed, position, after, slot = map(torch.from_numpy, laid_out)
        return Call(fed, position, after, slot, told, behind=least >= 0)

    def _settle_compiled(self, tokens: np.ndarray) -> None:
        """Swap the slots of what was accepted of the tree that waits."""
        assert self._waiting is not None
        (start, nodes, shape), self._waiting = self._waiting, None
        if shape.spread:
            settle(
                tokens,
                start.numpy(),
                nodes.numpy(),
                shape.paths.values,
                shape.depths.values,
                shape.chain.values,
                shape.others.values,
                self.length,
                self._first,
                self._places,
                self._seen_from.numpy(),
                *self._of_sequences,
            )

    def _mark(self, rows: Tensor) -> None:
        mark(rows.numpy(), self._of_sequences[-1])

    def prepare(self, spread: int = 0) -> None:
        super().prepare(spread)
        kept = self._known, self._slot_of, self._position_of, self._fed, self._status
        self._of_sequences = tuple(part.numpy() for part in kept)


@njit(nogil=True, cache=True)
def feed(
    tokens: np.ndarray,
    start: np.ndarray,
    lag: int,
    chain: int,
    held: int,
    length: int,
    first: int,
    places: int,
    copies: int,
    ahead: int,
    padded: bool,
    nodes: np.ndarray,
    depths: np.ndarray,
    aside: np.ndarray,
    ancestors: np.ndarray,
    hidden: np.ndarray,
    known: np.ndarray,
    slot_of: np.ndarray,
    position_of: np.ndarray,
    fed: np.ndarray,
    status: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int, int]:
    """Check what is held, remember what is fed, and lay it out for the model.

    Parameters
    ----------
    tokens, start
        ``int[B, T]`` and ``int[B]``, as the process is given them.
    lag, chain, held
        How many tokens the model has lagged behind, how many of the chain are fed from there on, and to what distance
        behind ``start`` the cache then holds them.
    length, first, places
        N, the place of the first token of the image, and the places of a chain.
    copies, ahead, padded
        How often each sequence is laid out, the slots that are looked at behind the last ``start``, and whether
        conditions have padding.
    nodes, depths, aside, ancestors
        ``int[B, M]``, a tree, and its :class:`~simlab.models.process.branches.Branches`; empty without.
    hidden
        One number, of the type of the mask: what is not seen.
    known, slot_of, position_of, fed, status
        What is kept of each sequence; changed.

    Returns
    -------
    tokens, position, after, slot, mask, least, most
        Of :class:`~simlab.models.process.cached.Call`, and the first position that is fed and the last of a row.
    """
    batch, width = len(start), chain + len(depths)
    values = np.empty((copies * batch, width), np.int64)
    position, slot = np.empty_like(values), np.empty_like(values)
    after = np.empty((batch, width - lag), np.int64)
    live = min(position_of.shape[1], aligned(first + start.max() + ahead))
    mask = np.empty((copies * batch, width, live), hidden.dtype)
    least, most, never = length, 0, hidden[0]
    for b in range(batch):
        begin, row = start[b] - 1 - lag, copies * b
        least = min(least, begin)
        if begin > fed[b] or _differs(known[b, first:], tokens[b], min(begin, length, tokens.shape[1])):
            status[b] |= LOST

        # a chain from the token before the window on, then the nodes of a tree
        for j in range(width):
            if j < chain:
                at = begin + j
                token = tokens[b, min(max(at, 0), tokens.shape[1] - 1)]
                place = min(max(at + first, 0), places - 1)
                limit = max(at, 1 - first) + 1
            else:
                m = j - chain
                at, token, limit = start[b] + depths[m], nodes[b, m], start[b]
                beside = aside[m] >= 0 and at < length
                place = places + aside[m] if beside else min(max(at + first, 0), places - 1)
            known[b, place] = token
            where = slot_of[b, place]
            values[row, j], position[row, j], slot[row, j] = token, at + first - 1, where
            if j >= lag:
                after[b, j - lag] = at + 1
                most = max(most, at + 1)
            seen, own = mask[row, j], position_of[b]
            for s in range(live):
                seen[s] = 0 if own[s] < limit else never
        for m in range(len(depths)):
            for k in range(len(depths)):
                mask[row, chain + m, slot[row, chain + k]] = 0 if ancestors[m, k] else never
        if padded:
            for j in range(width):
                mask[row, j, slot[row, j]] = 0
        fed[b] = start[b] + held

        for copy in range(row + 1, row + copies):
            values[copy], position[copy], slot[copy], mask[copy] = values[row], position[row], slot[row], mask[row]
    return values, position, after, slot, mask, least, most


@njit(inline="always")
def _differs(held: np.ndarray, tokens: np.ndarray, count: int) -> bool:
    """Whether the first ``count`` tokens are not those that are held."""
    same = True
    for i in range(count):
        same &= held[i] == tokens[i]
    return not same


@njit(nogil=True, cache=True)
def settle(
    tokens: np.ndarray,
    start: np.ndarray,
    nodes: np.ndarray,
    paths: np.ndarray,
    depths: np.ndarray,
    chain: np.ndarray,
    others: np.ndarray,
    length: int,
    first: int,
    places: int,
    seen_from: np.ndarray,
    known: np.ndarray,
    slot_of: np.ndarray,
    position_of: np.ndarray,
    fed: np.ndarray,
    status: np.ndarray,
) -> None:
    """Swap the slots of the nodes beside the chain that turned out to be the sequence with those of its places.

    Of several at a depth, which hold the same token, the first is taken; none where the chain's own does.
    """
    for b in range(len(start)):
        taken = np.zeros(len(chain), np.bool_)
        for d in range(len(chain)):
            taken[d] = _committed(tokens[b], start[b], nodes[b], paths[chain[d]])
        deepest = 0
        for i in range(len(others)):
            node = others[i]
            d = depths[node]
            position = start[b] + d
            if position >= length or taken[d] or not _committed(tokens[b], start[b], nodes[b], paths[node]):
                continue
            taken[d], deepest = True, max(deepest, position + 1)
            mine, theirs = places + i, position + first
            slot_of[b, mine], slot_of[b, theirs] = slot_of[b, theirs], slot_of[b, mine]
            for place in (mine, theirs):
                position_of[b, slot_of[b, place]] = seen_from[b, place]
            known[b, theirs] = nodes[b, node]
        if deepest > 0:
            fed[b] = deepest


@njit(inline="always")
def _committed(tokens: np.ndarray, start: int, nodes: np.ndarray, path: np.ndarray) -> bool:
    """Whether the nodes of a ``path`` are the tokens from ``start`` on."""
    for d in range(len(path)):
        if path[d] < 0:
            break
        if nodes[path[d]] != tokens[min(max(start + d, 0), len(tokens) - 1)]:
            return False
    return True


@njit(nogil=True, cache=True)
def mark(rows: np.ndarray, status: np.ndarray) -> None:
    """Mark the sequences of ``rows[B, L, V]`` whose logits were no numbers: all of such a row is NaN."""
    for b in range(len(rows)):
        for j in range(rows.shape[1]):
            if not np.isfinite(rows[b, j, 0]):
                status[b] |= NO_NUMBER
