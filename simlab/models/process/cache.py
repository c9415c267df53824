"""Keys and values that attention has seen, one *slot* a token.

A slot is where a token is kept. Keys are turned to their positions before they are kept, so that their order does not
matter: which slot belongs to which position is a table beside them (:mod:`simlab.models.process.cached`), and what an
accepted node of a tree takes over is an entry of that table. Nothing is ever copied or cleared: what is not true any
more is written over, or hidden by the mask.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


class Cache:
    """``slots`` keys and values of each layer, ``[B, heads, slots, head_dim]``."""

    def __init__(
        self,
        layers: int,
        batch: int,
        heads: int,
        slots: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        shape = batch, heads, slots, head_dim
        self.slots = slots
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]

    def insert(self, slot: int, count: int) -> None:
        """Make room for ``count`` more before ``slot``, a layer after the other: no more than one is there twice."""
        self.slots += count
        for stores in (self.keys, self.values):
            for layer, old in enumerate(stores):
                stores[layer] = old.new_zeros((*old.shape[:2], self.slots, old.shape[3]))
                stores[layer][:, :, :slot] = old[:, :, :slot]
                stores[layer][:, :, slot + count :] = old[:, :, slot:]


class Window:
    """A memory for tokens of the sequences from ``first`` on, which go into the slots ``where[B, L]``.

    ``mask[B, L, S]`` is added to the scores of the first S slots: 0 for what a token sees, else minus infinity.
    """

    def __init__(self, cache: Cache, where: Tensor, mask: Tensor, first: int = 0) -> None:
        self.cache, self.mask = cache, mask[:, None]
        self._own = slice(first, first + len(where))
        # of all heads' slots in a row, those that are written
        heads = cache.keys[0].shape[1]
        rows = torch.arange(first * heads, (first + len(where)) * heads, device=where.device)
        self._flat = (rows.view(len(where), heads, 1) * cache.slots + where[:, None]).flatten()

    def write(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep ``[B, heads, L, head_dim]``; returns what the layer holds of them in S slots."""
        seen, size = self.mask.shape[-1], key.shape[-1]
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        keys.view(-1, size).index_copy_(0, self._flat, key.reshape(-1, size).to(keys.dtype))
        values.view(-1, size).index_copy_(0, self._flat, value.reshape(-1, size).to(values.dtype))
        return keys[self._own, :, :seen], values[self._own, :, :seen]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        keys, values = self.write(layer, key, value)
        return functional.scaled_dot_product_attention(query, keys, values, attn_mask=self.mask)
