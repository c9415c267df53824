"""The reference form of a model as a process: every call sees the whole sequence again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from simlab.arrays import grid
from simlab.models.architectures.backbone import Backbone, check_parts
from simlab.models.architectures.transformer import Causal, Memory
from simlab.models.process.sampling import Sampling
from simlab.processes import Process


class Uncached(Process):
    """Sequences of a model, one for each condition, without a cache: the reference.

    ``model``: the backbone. ``given``: ``[B, ...]``, conditions as the model takes them. ``sampling``: how rows are
    made of logits; a plain softmax, unless given. ``visible``: ``bool[B, T]``: the positions of the condition that are
    not padding; of both halves with guidance. Raises ``ValueError`` for a sampling or ``visible`` that does not fit the
    model.
    """

    def __init__(
        self, model: Backbone, given: Any, sampling: Sampling | None = None, visible: Tensor | None = None
    ) -> None:
        self.model, self.given, self.sampling = model, given, sampling or Sampling()
        self.calls = 0
        check_parts(model)
        sizes = model.config
        self.vocabulary, self.length, self.shape = sizes.vocabulary, sizes.length, sizes.shape
        self.sampling.check(self.length, self.vocabulary)
        self.visible = check_visible(visible, len(given), sizes.prefix)
        self.uniform = uniform(model, given)

    @torch.no_grad()
    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        self.calls += 1
        features = self.features(tokens)
        place = grid(start, count)
        last = self.model.config.prefix - 1
        slot = (last + place).clamp(0, features.shape[1] - 1)
        slot = slot.repeat(len(features) // len(slot), 1)
        seen = features.take_along_dim(slot[..., None], dim=1)
        return self.sampling.rows(self.model.logits(seen), place)

    def keep(self, rows: Sequence[int]) -> None:
        """Their conditions stay."""
        check_own(rows, len(self.given))
        self.given = self.given[list(rows)]
        self.visible = None if self.visible is None else self.visible[list(rows)]

    def features(self, tokens: Tensor) -> Tensor:
        """``[B or 2B, T + N, dim]`` behind the condition, and with guidance behind none; sequences of one condition
        stand together."""
        tokens = tokens[:, : self.length]
        inputs = torch.cat([self.conditions(len(tokens)), self.model.embed(self.doubled(tokens))], dim=1)
        position = torch.arange(inputs.shape[1], device=inputs.device).expand(inputs.shape[:2])
        return self.model.features(inputs, position, self._memory(len(tokens), inputs.shape[1]))

    def _memory(self, sequences: int, length: int) -> Memory:
        """Every position sees those before it; if there is padding, none of it but itself."""
        if self.visible is None:
            return Causal()
        visible = self.visible.repeat_interleave(sequences // len(self.visible), dim=0)
        seen = functional.pad(visible, (0, length - visible.shape[1]), value=True)[:, None]
        itself = torch.eye(length, dtype=torch.bool, device=seen.device)
        return Masked(self.doubled((seen | itself).tril()))

    def conditions(self, sequences: int) -> Tensor:
        """The conditions as inputs, each for its share of the ``sequences``; with guidance, none behind them."""
        given = self.model.condition(self.given)
        if self.sampling.guided:
            given = torch.cat([given, self.model.condition(self.model.null(len(given)))])
        shares = 2 * sequences if self.sampling.guided else sequences
        check_shares(sequences, len(self.given))
        return given.repeat_interleave(shares // len(given), dim=0)

    def doubled(self, values: Tensor) -> Tensor:
        """``[B, ...]`` once more with guidance: the same tokens, with their condition and without."""
        return torch.cat([values, values]) if self.sampling.guided else values


class Masked:
    """A memory for a whole sequence, of which each position sees what ``mask[B, L, L]`` says."""

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask[:, None]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=self.mask)


def check_visible(visible: Tensor | None, batch: int, prefix: int) -> Tensor | None:
    """``visible``; raise ``ValueError`` unless it says of each position of ``batch`` conditions whether it is seen."""
    if visible is not None and (visible.dtype != torch.bool or tuple(visible.shape) != (batch, prefix)):
        raise ValueError(
            f"visible has shape {tuple(visible.shape)} and dtype {visible.dtype}; expected bool {(batch, prefix)}"
        )
    return visible


def check_shares(sequences: int, conditions: int) -> None:
    """Raise ``ValueError`` unless there are as many sequences of every condition."""
    if sequences % conditions:
        raise ValueError(f"{sequences} sequences of {conditions} conditions; expected as many of each")


def check_own(rows: Sequence[int], conditions: int) -> None:
    """Raise ``ValueError`` unless each of the sequences ``rows`` has a condition of its own."""
    if max(rows, default=0) >= conditions:
        raise ValueError(f"sequence {max(rows)} goes on, of {conditions} conditions; expected one for each sequence")


def uniform(model: Backbone, given: Any) -> Tensor:
    """The uniform row in the precision and on the device of a model's rows."""
    with torch.no_grad():
        row = model.logits(model.condition(given)[:1, :1])[0, 0]
    return torch.full_like(row, 1 / model.config.vocabulary)
