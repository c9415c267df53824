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
        self.cache, self.where, self.mask = cache, where, mask[:, None]
        self._own = slice(first, first + len(where))
        self._rows = torch.arange(self._own.start, self._own.stop, device=where.device)[:, None]

    def write(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep ``[B, heads, L, head_dim]``; returns what the layer holds of them in S slots."""
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        keys[self._rows, :, self.where] = key.transpose(1, 2).to(keys.dtype)
        values[self._rows, :, self.where] = value.transpose(1, 2).to(values.dtype)
        seen = self.mask.shape[-1]
        return keys[self._own, :, :seen], values[self._own, :, :seen]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        keys, values = self.write(layer, key, value)
        return functional.scaled_dot_product_attention(query, keys, values, attn_mask=self.mask)
