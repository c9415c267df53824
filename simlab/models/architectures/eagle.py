"""An EAGLE-style head: a draft that goes on from the target's own features.

Li et al., "EAGLE: speculative sampling requires rethinking feature uncertainty", arXiv 2401.15077, section 4.1; LANTERN
drafts with one. From the target's feature of a token and the embedding of the next one, one layer makes the next
feature, and the target's own output layer turns that into a row. Behind what the target has seen, the head goes on
from features of its own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from simlab.arrays import grid
from simlab.models.architectures.transformer import Causal, Config, Layer, Memory, Norm, Transformer, rotations
from simlab.models.process.cache import Cache, Window
from simlab.models.process.cached import Cached
from simlab.models.process.uncached import Uncached
from simlab.processes import Process


class Head(nn.Module):
    """One layer over (feature, next token) pairs of a target of that size."""

    frequencies: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.join = nn.Linear(2 * config.dim, config.dim, bias=False)
        self.layer = Layer(config, 0)
        self.norm = Norm(config.dim)
        self.register_buffer("frequencies", rotations(config), persistent=False)

    def initialise(self, generator: torch.Generator) -> None:
        """Normal weights of standard deviation 0.02, the gains 1."""
        with torch.no_grad():
            for weights in self.parameters():
                if weights.ndim > 1:
                    weights.normal_(0.0, 0.02, generator=generator)

    def features(self, before: Tensor, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        """``[B, L, dim]``: the features at ``position[B, L]``, from those ``before`` each and embedded ``inputs``."""
        turn = self.frequencies[position.clamp(0, len(self.frequencies) - 1)]
        made: Tensor = self.norm(self.layer(self.join(torch.cat([before, inputs], dim=-1)), turn, memory))
        return made

    def forward(self, target: Transformer, given: Tensor, tokens: Tensor, features: Tensor) -> Tensor:
        """``[B, T + n, dim]``: each feature from the target's one before it; nothing before the first is 0."""
        inputs = torch.cat([target.condition(given), target.embed(tokens)], dim=1)
        before = torch.cat([torch.zeros_like(features[:, :1]), features[:, :-1]], dim=1)
        position = torch.arange(inputs.shape[1], device=inputs.device).expand(inputs.shape[:2])
        return self.features(before, inputs, position, Causal())


class _Drafting(Process):
    """What both forms know: when the target has been called, all that is committed has features of its own."""

    target: Cached | Uncached

    def __init__(self, head: Head, target: Cached | Uncached) -> None:
        if head.config != target.model.config:
            raise ValueError(f"head is made for {head.config}; expected {target.model.config}, that of its target")
        if target.visible is not None:
            raise ValueError("the target has padded conditions; expected none: a head sees all of a condition")
        self.head, self.target = head, target
        self.vocabulary, self.length, self.shape = target.vocabulary, target.length, target.shape
        self.uniform = target.uniform
        self._calls: int | None = None
        self._base: Tensor  # int[B]: where the drafts since the target's last call begin

    def _begins(self, start: Tensor, count: int) -> bool:
        """Whether this is the first draft since the target was called."""
        if count != 1:
            raise ValueError(f"count is {count}; expected 1: a head makes one draft after the other")
        begins = self._calls != self.target.calls
        if begins:
            self._calls, self._base = self.target.calls, start
        return begins


class EagleDraft(_Drafting):
    """The rows of a ``head`` beside a cached ``target``, for decoders that need a draft process.

    Raises ``ValueError`` for a head that was made for another target, or a call for more than one row.
    """

    target: Cached

    def __init__(self, head: Head, target: Cached) -> None:
        super().__init__(head, target)
        sizes, inputs = head.config, target.condition
        self._nowhere = sizes.prefix + self.length
        self._slots = torch.arange(self._nowhere + 1, device=inputs.device)
        shape = len(inputs), sizes.heads, self._nowhere + 1, sizes.head_dim
        self._cache = Cache(1, *shape, inputs.dtype, inputs.device)
        self._made = torch.zeros(len(inputs), self._nowhere + 1, sizes.dim, dtype=inputs.dtype, device=inputs.device)
        self._all = torch.arange(len(inputs), device=inputs.device)[:, None]

    @torch.no_grad()
    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        prefix = self.head.config.prefix
        fed = 1
        first = self._calls is None
        if self._begins(start, count):
            # all that was committed since the last time, now from the target's features; at first the condition
            fed = prefix if first else self.target.width
        position = grid(start - fed, fed)
        slot = prefix + position
        real = slot - 1 <= prefix + self._base[:, None] - 2
        slot = slot.where((slot >= 0) & (position < self.length), self._nowhere)
        before = self._before(self._doubled(slot), self._doubled(real))
        values = tokens.take_along_dim(position.clamp(0, tokens.shape[1] - 1), dim=1)

        mask = self._slots <= slot[..., None]
        window = Window(self._cache, self._doubled(slot), self._doubled(mask))
        inputs = self.target.inputs(position, values)
        made = self.head.features(before, inputs, prefix + self._doubled(position), window)
        self._made[self._all, self._doubled(slot)] = made
        return self.target.sampling.rows(self.target.model.logits(made[:, -1:]), start[:, None])

    def _before(self, slot: Tensor, real: Tensor) -> Tensor:
        """The features one slot before: the target's where they are ``real``, the head's own behind, 0 before all."""
        index = (slot - 1).clamp(min=0)[..., None]
        found = torch.where(
            real[..., None], self.target.features.take_along_dim(index, dim=1), self._made.take_along_dim(index, dim=1)
        )
        return torch.where(slot[..., None] > 0, found, 0.0)

    def _doubled(self, values: Tensor) -> Tensor:
        return self.target.doubled(values)


class EagleUncached(_Drafting):
    """The reference form: for every draft the whole sequence is seen, and the head goes on from there, again."""

    target: Uncached
    _depth: int

    @torch.no_grad()
    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        self._depth = 0 if self._begins(start, count) else self._depth + 1
        prefix, target = self.head.config.prefix, self.target
        features = target.features(tokens)
        inputs = torch.cat(
            [target.conditions(len(tokens)), target.model.embed(target.doubled(tokens[:, : self.length]))], dim=1
        )
        slot = torch.arange(inputs.shape[1], device=inputs.device).expand(inputs.shape[:2])
        base = prefix + target.doubled(self._base)[:, None]
        known = torch.where((slot <= base - 2)[..., None], features, 0.0)
        for depth in range(self._depth + 1):
            before = torch.cat([torch.zeros_like(known[:, :1]), known[:, :-1]], dim=1)
            made = self.head.features(before, inputs, slot, Causal())
            known = torch.where((slot == base - 1 + depth)[..., None], made, known)
        last = (prefix + target.doubled(start) - 1).clamp(max=inputs.shape[1] - 1)
        seen = made.take_along_dim(last[:, None, None], dim=1)
        return target.sampling.rows(target.model.logits(seen), start[:, None])
