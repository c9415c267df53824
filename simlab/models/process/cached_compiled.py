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

from simlab.decoders.compiled.tensors import Tensors
from simlab.models.architectures.transformer import at_least_single
from simlab.models.process import cached
from simlab.models.process.branches import Branches
from simlab.models.process.cached import ENTRIES, LOST, NO_NUMBER, Cached, Call, Waiting

NO_NODES = np.empty((0, 0), np.int64)
NO_SHAPE = np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0), bool)
WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes


aligned = njit(inline="always")(cached.aligned)


class Buffers:
    """Where calls of ``width`` tokens for each of ``batch`` sequences are laid out, as arrays and as tensors over them:
    to make either takes as long as to fill it, so they are made once, and are good until the next call."""

    def __init__(self, batch: int, width: int, copies: int, rows: int, slots: int, words: torch.dtype) -> None:
        self.shape = copies * batch, width
        self._fed = torch.empty(3, *self.shape, dtype=torch.int64)
        self._after = torch.empty(batch, rows, dtype=torch.int64)
        self._mask = torch.empty(copies * batch * width * slots, dtype=words)
        self.fed, self.after, self.mask = self._fed.numpy(), self._after.numpy(), self._mask.numpy()
        self._parts = (*self._fed.unbind(), self._after)
        self._live, self._live_mask = 0, self._mask

    def call(self, live: int, dtype: torch.dtype, behind: bool) -> Call:
        """What was laid out, of which ``live`` slots are looked at."""
        if live != self._live:
            self._live = live
            self._live_mask = self._mask[: self.shape[0] * self.shape[1] * live].view(dtype).view(*self.shape, live)
        tokens, position, slot, after = self._parts
        return Call(tokens, position, after, slot, self._live_mask, behind)


class CachedOnHost(Cached):
    """:class:`~simlab.models.process.cached.Cached` for a model on a CPU: the same answers, from the same memory."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._hidden_bits = self._hidden.view(WORDS[self._hidden.itemsize]).reshape(1).numpy()
        self.status_bits = self._status.numpy()
        self._kind = self.uniform.numpy().dtype
        self._of_sequences: Any = ()  # arrays over what is kept of each
        self._buffers: Buffers | None = None
        self._laid_out: tuple[int, int, int] | None = None  # for whom they are

    def forward(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        return torch.from_numpy(self.chain(tokens.numpy(), start.numpy(), count))

    def forward_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> Tensor:
        return torch.from_numpy(self.tree(tokens.numpy(), start.numpy(), nodes.numpy(), self.shape_of(paths)))

    def chain(self, tokens: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
        """:meth:`forward` for who has arrays."""
        with torch.no_grad(), self.clock.during("cache"):
            self._begin(len(tokens), count, spread=0)
            return self._rows_of_call(tokens, start, self.lag + count, count - 1, count, NO_NODES, NO_SHAPE)

    def tree(self, tokens: np.ndarray, start: np.ndarray, nodes: np.ndarray, shape: Branches) -> np.ndarray:
        """:meth:`forward_tree` for who has arrays, of a tree of this ``shape``."""
        with torch.no_grad(), self.clock.during("cache"):
            self._begin(len(tokens), shape.depth + 1, shape.spread)
            of_shape = shape.depths.values, shape.aside.values, shape.ancestors.values
            rows = self._rows_of_call(tokens, start, self.lag + 1, shape.depth, shape.depth, nodes, of_shape)
            # kernels change theirs in place
            self._waiting = Waiting(torch.from_numpy(start.copy()), torch.from_numpy(nodes), shape)
            return rows

    def over(self, tokens: Tensor, length: Tensor) -> Tensor:
        return torch.from_numpy(self.stopped(length.numpy()))

    def stopped(self, length: np.ndarray) -> np.ndarray:
        """Whether each sequence is over, as :meth:`over` says, for who has arrays."""
        return (length >= self.length) | (self.status_bits[: len(length)] != 0)

    def faults(self) -> dict[int, str]:
        return super().faults() if self.status_bits[: self.batch].any() else {}

    def _rows_of_call(
        self,
        tokens: np.ndarray,
        start: np.ndarray,
        chain: int,
        held: int,
        ahead: int,
        nodes: np.ndarray,
        shape: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> np.ndarray:
        """A call for ``chain`` tokens in a row and ``nodes``: from ``start`` on the cache then holds ``held``
        positions, and looks at ``ahead``."""
        self.calls += 1
        if self._waiting is not None:
            self._settle_compiled(tokens)
        width = chain + len(shape[0])
        laid = self._laid_for(len(start), width)
        live, least, most = feed(
            tokens,
            start,
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
            laid.fed,
            laid.after,
            laid.mask,
            *self._of_sequences,
        )
        call = laid.call(live, self._hidden.dtype, least >= 0)
        with self.clock.during("model"):
            features = self._see(call)
        rows = self._rows_after(features[:, self.lag :] if self.lag else features, call.after, laid.after)
        return self._ended(torch.from_numpy(rows), call.after).numpy() if most >= self.length else rows

    def _laid_for(self, batch: int, width: int) -> Buffers:
        """Buffers for a call; those of the last one, if it was as large."""
        wanted = batch, width, self.cache.slots
        if self._buffers is None or self._laid_out != wanted:
            rows, words = width - self.lag, WORDS[self._hidden.itemsize]
            self._buffers = Buffers(batch, width, self._copies, rows, self.cache.slots, words)
            self._laid_out = wanted
        return self._buffers

    def _rows_after(self, features: Tensor, position: Tensor, after: np.ndarray) -> np.ndarray:
        """:meth:`rows_of` as an array: where all rows are of one kind and made at once, as they lie."""
        if len(self._kinds) > 1 or after.size * self.vocabulary > ENTRIES["cpu"]:
            return self.rows_of(features, position).numpy()
        if self._copies > 1 and len(after) > 1:
            features = features.unflatten(0, (-1, self._copies)).transpose(0, 1).flatten(0, 1)
        with self.clock.during("model"):
            logits = at_least_single(self.model.logits(features)).numpy()
        with self.clock.during("sampling"):
            rows = np.empty((*after.shape, self.vocabulary), self._kind)
            self._kinds[0][0].write(logits, after, rows)
        mark(rows, self.status_bits)
        return rows

    def _mark(self, rows: Tensor) -> None:
        mark(rows.numpy(), self.status_bits)

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

    def prepare(self, spread: int = 0) -> None:
        super().prepare(spread)
        kept = self._known, self._slot_of, self._position_of, self._fed, self._status
        self._of_sequences = tuple(part.numpy() for part in kept)


class CachedTensors(Tensors):
    """A cached model as kernels see it: no tensor is made on the way."""

    process: CachedOnHost

    def forward(self, tokens: np.ndarray, start: np.ndarray, count: int) -> Any:
        return self.process.chain(tokens, start, count)

    def forward_tree(self, tokens: np.ndarray, start: np.ndarray, nodes: np.ndarray, paths: np.ndarray) -> Any:
        return self.process.tree(tokens, start, nodes, self.process.shape_of(paths))

    def over(self, tokens: np.ndarray, length: np.ndarray) -> Any:
        return self.process.stopped(length)


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
    laid_out: np.ndarray,
    after: np.ndarray,
    masks: np.ndarray,
    known: np.ndarray,
    slot_of: np.ndarray,
    position_of: np.ndarray,
    fed: np.ndarray,
    status: np.ndarray,
) -> tuple[int, int, int]:
    """Check what is held, remember what is fed, and lay it out for the model.

    Returns the slots that are looked at, the first position that is fed, and the last of a row.

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
    laid_out, after, masks
        What is written: ``int[3, cB, L]``, tokens, positions and slots, ``int[B, R]``, and room for the mask; as in
        :class:`~simlab.models.process.cached.Call`.
    known, slot_of, position_of, fed, status
        What is kept of each sequence; changed.
    """
    batch, width = len(start), chain + len(depths)
    values, position, slot = laid_out[0], laid_out[1], laid_out[2]
    live = min(position_of.shape[1], aligned(first + start.max() + ahead))
    mask = masks[: copies * batch * width * live].reshape(copies * batch, width, live)
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
    return live, least, most


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
