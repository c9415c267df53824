"""An EAGLE-style head: a draft that goes on from the target's own features.

Li et al., "EAGLE: speculative sampling requires rethinking feature uncertainty", arXiv 2401.15077, section 4.1; LANTERN
drafts with one. From the target's feature of a token and the embedding of the next one, one layer makes the next
feature, and the target's own output layer turns that into a row. Behind what the target has seen, the head goes on
from features of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from simlab.arrays import grid
from simlab.models.architectures.transformer import (
    Causal,
    Config,
    Layer,
    Memory,
    Norm,
    Rotating,
    Transformer,
    rotations,
)
from simlab.models.process.cache import Cache, Window
from simlab.models.process.cached import NEVER, Cached, move
from simlab.models.process.uncached import Uncached
from simlab.processes import Process


class Head(Rotating):
    """One layer over (feature, next token) pairs of a target of that size."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.join = nn.Linear(2 * config.dim, config.dim, bias=False)
        self.layer = Layer(config, 0)
        self.norm = Norm(config.dim)
        self.register_buffer("frequencies", rotations(config), persistent=False)

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


class HeadDrafting(Process):
    """What every form knows: when the target has been called, all that is committed has features of its own."""

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
        self.base: Tensor  # int[B]: where the drafts since the target's last call begin

    def begins(self, start: Tensor, count: int) -> bool:
        """Whether this is the first draft since the target was called."""
        if count != 1:
            raise ValueError(f"count is {count}; expected 1: a head makes one draft after the other")
        begins = self._calls != self.target.calls
        if begins:
            self._calls, self.base = self.target.calls, start + 0  # compiled decoders change theirs in place
        return begins


class EagleDraft(HeadDrafting):
    """The rows of a ``head`` beside a cached ``target``, for decoders that need a draft process.

    Raises ``ValueError`` for a head that was made for another target, a call for more than one row, or a tree.
    """

    target: Cached

    def __init__(self, head: Head, target: Cached) -> None:
        super().__init__(head, target)
        target.keep_features()
        sizes, inputs = head.config, target.condition
        self._places = sizes.prefix + self.length + 2  # those of the target: nowhere, condition, image, nowhere
        self._position_of = torch.arange(self._places, device=inputs.device)
        self._position_of[0] = self._position_of[-1] = NEVER
        shape = len(inputs), sizes.heads, self._places, sizes.head_dim
        self._cache = Cache(1, *shape, inputs.dtype, inputs.device)
        self._made = torch.zeros(len(inputs), self._places, sizes.dim, dtype=inputs.dtype, device=inputs.device)
        self._ready = 0  # sequences whose condition has been seen

    def forward_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> Tensor:
        raise ValueError("a head on the target's features drafts chains; expected a draft model for trees")

    @torch.no_grad()
    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        with self.target.clock.during("drafting"):
            prefix, fed = self.head.config.prefix, 1
            if self.begins(start, count):
                self.target.prepare()
                if self._ready < self.target.batch and prefix > 1:
                    position = torch.arange(-prefix, -1, device=start.device).expand(len(tokens) - self._ready, -1)
                    self._make(position, position.clamp(min=0), position < 0, self._ready)
                # all that was committed since the last time, now from the target's features
                self._ready, fed = self.target.batch, max(1, self.target.width)
            position = grid(start - fed, fed)
            values = tokens.gather(1, position.clamp(0, tokens.shape[1] - 1))
            made = self._make(position, values, position <= self.base[:, None] - 1)
            return self.target.rows_of(made[:, -1:], start[:, None])

    def _make(self, position: Tensor, tokens: Tensor, real: Tensor, first: int = 0) -> Tensor:
        """The features of tokens of the sequences from ``first`` on, from the target's where they are ``real``."""
        doubled, prefix = self.target.doubled, self.head.config.prefix
        place = (position + prefix + 1).clamp(0, self._places - 1)
        seen = self._position_of <= place.clamp(min=1)[..., None]
        mask = torch.where(seen, 0.0, -torch.inf).to(self._made.dtype)
        place, start = doubled(place), len(self._made) // self.target.room * first
        own = slice(start, start + len(place))
        inputs = self.target.inputs(doubled(tokens), prefix + doubled(position), start)
        before = self._before(own, place, doubled(real))
        window = Window(self._cache, place, doubled(mask), start)
        made = self.head.features(before, inputs, prefix + doubled(position), window)
        self._made[torch.arange(own.start, own.stop, device=place.device)[:, None], place] = made
        return made

    def _before(self, own: slice, place: Tensor, real: Tensor) -> Tensor:
        """The features one place before: the target's where they are ``real``, the head's own behind, 0 before all."""
        assert self.target.features is not None, "it keeps them for this head"
        index = (place - 1).clamp(min=0)[..., None]
        features, made = (kept[own].take_along_dim(index, dim=1) for kept in (self.target.features, self._made))
        return torch.where(place[..., None] > 1, torch.where(real[..., None], features, made), 0.0)

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with some of the sequences; their target is told by itself."""
        copies = len(self._made) // self.target.room
        made = self._made, *self._cache.keys, *self._cache.values
        move((values.unflatten(0, (-1, copies)) for values in made), rows)
        self._ready = sum(row < self._ready for row in rows)
