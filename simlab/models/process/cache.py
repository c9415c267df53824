"""Keys and values that attention has seen, one *slot* a token.

A slot is where a token is kept. A sequence keeps its condition in slots 0 to T - 1 and token i in slot T + i; tokens
of a tree that are beside its chain wait in slots behind them. Nothing is ever copied to make room: what is not true any
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
        self._rows = torch.arange(batch, device=device)[:, None]

    def write(self, layer: int, where: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Put ``[B, heads, L, head_dim]`` into the slots ``where[B, L]``; returns all that the layer holds."""
        keys, values = self.keys[layer], self.values[layer]
        keys[self._rows, :, where] = key.transpose(1, 2).to(keys.dtype)
        values[self._rows, :, where] = value.transpose(1, 2).to(values.dtype)
        return keys, values

    def move(self, source: Tensor, target: Tensor) -> None:
        """Copy the slots ``source[B, J]`` to ``target[B, J]``, in every layer."""
        for store in (*self.keys, *self.values):
            store[self._rows, :, target] = store[self._rows, :, source]


class Window:
    """A memory for tokens that go into the slots ``where[B, L]`` and see what ``mask[B, L, slots]`` says."""

    def __init__(self, cache: Cache, where: Tensor, mask: Tensor) -> None:
        self.cache, self.where, self.mask = cache, where, mask[:, None]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        keys, values = self.cache.write(layer, self.where, key, value)
        return functional.scaled_dot_product_attention(query, keys, values, attn_mask=self.mask)
