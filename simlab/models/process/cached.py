"""A model with a key-value cache as a process: each call feeds a window, and nothing twice that need not be.

The decoders know nothing of it. A call is still a function of the tokens it is given: the cache remembers which token
it holds for every position, and a call stops with an error where those before the window are not the ones it is given.
So rejected tokens need no rollback: what follows the first of them is written over before it is ever looked at. The
accepted path of a tree moves into place at the next call, by the tokens that were committed.

No value is read back, so an accelerator never waits; ``torch._assert_async`` checks where the values are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from simlab.arrays import Constant, grid, indices, marked
from simlab.models.architectures.backbone import Backbone, check_parts
from simlab.models.process.cache import Cache, Window
from simlab.models.process.clock import UNTIMED, Clock
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import check_visible, uniform
from simlab.processes import Process

UNKNOWN = -1
NOT_NUMBERS = "the model's rows hold NaN; expected logits that are numbers"


class Fed(NamedTuple):
    """Tokens of one call: where they are, and what they are."""

    position: Tensor  # int[B, L]: in the image; the condition's are negative
    slot: Tensor  # int[B, L]
    tokens: Tensor  # int[B, L]


class Waiting(NamedTuple):
    """A tree whose accepted path has not moved yet."""

    start: Tensor  # int[B]
    nodes: Tensor  # int[B, M]
    shape: Branches


class Cached(Process):
    """Sequences of a model with a key-value cache, one for each condition.

    Parameters
    ----------
    model
        The backbone.
    given
        ``[B, ...]``, conditions as the model takes them.
    sampling
        How rows are made of logits; a plain softmax, unless given.
    lag
        How many tokens before the one that precedes a window are fed again: 0 for a target, which has seen every draft
        it keeps; 1 for a draft model, which has not seen its own last token.
    visible
        ``bool[B, T]``: the positions of the condition that are not padding; of both halves with guidance, as LlamaGen's
        sampler has it.
    clock
        Takes the time of ``model`` and ``sampling`` in each call; none, unless given.

    Raises
    ------
    ValueError
        For a sampling or ``visible`` that does not fit the model.
    RuntimeError
        In a call, for tokens that the cache does not hold, or rows with NaN.
    """

    def __init__(
        self,
        model: Backbone,
        given: Any,
        sampling: Sampling | None = None,
        lag: int = 0,
        visible: Tensor | None = None,
        clock: Clock = UNTIMED,
    ) -> None:
        self.model, self.sampling, self.lag, self.clock = model, sampling or Sampling(), lag, clock
        check_parts(model)
        sizes = model.config
        self.vocabulary, self.length, self.shape = sizes.vocabulary, sizes.length, sizes.shape
        self.sampling.check(self.length, self.vocabulary)
        self.visible = check_visible(visible, len(given), sizes.prefix)
        self.uniform = uniform(model, given)
        self.calls, self.width = 0, 0
        with torch.no_grad():
            self.condition = self._conditions(given)
        self.batch = len(given)
        self._waiting: Waiting | None = None
        self._shapes: dict[int, tuple[Tensor, Branches]] = {}  # by table, which so stays alive
        self._known = torch.full((self.batch, self.length), UNKNOWN, device=self.uniform.device)
        self._allocate(scratch=0)
        if sizes.prefix > 1:
            with torch.no_grad():
                self._prefill()

    # calls ------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        self._begin(tokens, start, count)
        fed = self._before(tokens, start, self.lag + count)
        self._known = self._remember(fed)
        return self._answer(fed, self._behind(fed.slot), self.lag)

    @torch.no_grad()
    def forward_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> Tensor:
        """One call with tree attention: each node sees the prefix, the nodes on its path, and itself.

        Parameters
        ----------
        tokens
            ``int[B, N]``, sequences so far.
        start
            ``int[B]``, the position of the tree's first nodes.
        nodes
            ``int[B, M]``, tokens of the tree.
        paths
            ``int[M, D]``, the nodes from the root down to each, itself last, then -1.

        Returns
        -------
        torch.Tensor
            ``float[B, 1 + M, V]``, rows after the prefix and after each node.

        Raises
        ------
        ValueError
            If ``tokens`` are of another number of sequences.
        """
        shape = self._shape(paths)
        self._begin(tokens, start, shape.depth + 1)
        self._scratch(shape.spread)
        fed = self._before(tokens, start, self.lag + 1)
        tree = self._nodes(start, nodes, shape)
        self._known = self._remember(fed, tree, shape)
        self._waiting = Waiting(start, nodes, shape)

        prefix = torch.arange(self.cache.slots, device=start.device) < (self.model.config.prefix + start)[:, None, None]
        path = shape.paths.beside(nodes).expand(len(nodes), -1, -1)
        places = tree.slot[:, None].expand(-1, path.shape[1], -1).take_along_dim(path.clamp(min=0), dim=2)
        mask = prefix | marked(places.where(path >= 0, UNKNOWN), path >= 0, self.cache.slots)
        together = Fed(*(torch.cat(pair, dim=1) for pair in zip(fed, tree, strict=True)))
        rows = self._answer(together, torch.cat([self._behind(fed.slot), mask], dim=1), self.lag)
        return self._ended(rows, together.position[:, self.lag :] + 1)

    # what is fed ------------------------------------------------------------------------------------------------

    def _shape(self, paths: Tensor) -> Branches:
        """What a table of paths says, read back from an accelerator once: a decoder keeps to one table."""
        if id(paths) not in self._shapes:
            self._shapes[id(paths)] = paths, branches(paths.cpu().numpy())
        return self._shapes[id(paths)][1]

    def _before(self, tokens: Tensor, start: Tensor, count: int) -> Fed:
        """``count`` tokens in a row from position ``start - 1 - lag`` on."""
        position = grid(start - 1 - self.lag, count)
        values = tokens.take_along_dim(position.clamp(0, tokens.shape[1] - 1), dim=1)
        return Fed(position, self._slot(position), values)

    def _nodes(self, start: Tensor, nodes: Tensor, shape: Branches) -> Fed:
        """The nodes of a tree: its longest path where the tokens would be, the others behind everything."""
        position = start[:, None] + shape.depths.beside(start)
        aside = shape.aside.beside(start)
        slot = torch.where(aside >= 0, self._behind_all + aside, self._slot(position))
        return Fed(position, slot.where(position < self.length, self._nowhere), nodes)

    def _slot(self, position: Tensor) -> Tensor:
        """Where the token of a position is kept; outside of the sequence, where nobody looks."""
        slot = self.model.config.prefix + position
        return slot.where((slot >= 0) & (position < self.length), self._nowhere)

    def _behind(self, slot: Tensor) -> Tensor:
        """``bool[B, L, slots]``: what a token in a slot sees of a sequence without branches: all up to itself."""
        return torch.arange(self.cache.slots, device=slot.device) <= slot[..., None]

    # one call of the model --------------------------------------------------------------------------------------

    def _answer(self, fed: Fed, mask: Tensor, skipped: int) -> Tensor:
        """Rows after all that is fed but the first ``skipped``."""
        with self.clock.during("model"):
            logits = self.model.logits(self._see(fed, mask)[:, skipped:])
        with self.clock.during("sampling"):
            rows = self.sampling.rows(logits, fed.position[:, skipped:] + 1)
            torch._assert_async(rows.isfinite().all(), NOT_NUMBERS)
        return rows

    def _see(self, fed: Fed, mask: Tensor) -> Tensor:
        """The features of what is fed, ``[B or 2B, L, dim]``; keys and values stay in the cache."""
        self.calls += 1
        slot, mask = self.doubled(fed.slot), self.doubled(self._unpadded(fed.slot, mask))
        inputs = self.inputs(fed.position, fed.tokens)
        position = self.model.config.prefix + self.doubled(fed.position)
        features = self.model.features(inputs, position, Window(self.cache, slot, mask))
        self.features[self._all, slot] = features
        return features

    def _unpadded(self, slot: Tensor, mask: Tensor) -> Tensor:
        """The mask without the padding of the condition, of which each position sees itself alone."""
        if self.visible is None:
            return mask
        seen = functional.pad(self.visible, (0, self.cache.slots - self.visible.shape[1]), value=True)
        return mask & (seen[:, None] | (torch.arange(self.cache.slots, device=slot.device) == slot[..., None]))

    def inputs(self, position: Tensor, tokens: Tensor) -> Tensor:
        """``[B or 2B, L, dim]``: tokens ``int[B, L]`` embedded; where positions are negative, the condition."""
        prefix, position = self.model.config.prefix, self.doubled(position)
        condition = (prefix + position).clamp(0, prefix - 1)
        before = self.condition.take_along_dim(condition[..., None], dim=1)
        embedded = self.model.embed(self.doubled(tokens.clamp(0, self.vocabulary - 1)))
        return torch.where(position[..., None] < 0, before, embedded)

    def doubled(self, values: Tensor) -> Tensor:
        """``[B, ...]`` once more with guidance: the same tokens, with their condition and without."""
        return torch.cat([values, values]) if self.sampling.guided else values

    # what is remembered -----------------------------------------------------------------------------------------

    def _begin(self, tokens: Tensor, start: Tensor, width: int) -> None:
        """Move an accepted path into place, and check that all before the window is what the cache holds."""
        if len(tokens) != self.batch:
            raise ValueError(f"tokens are of {len(tokens)} sequences; expected {self.batch}, one for each condition")
        self.width = width
        if self._waiting is not None:
            self._settle(tokens, self._waiting)
            self._waiting = None
        before = torch.arange(self.length, device=start.device) < (start - 1 - self.lag)[:, None]
        held = (self._known == tokens[:, : self.length]) | ~before
        torch._assert_async(
            held.all(), "tokens before the window are not in the cache; expected those of the last call"
        )

    def _remember(self, fed: Fed, tree: Fed | None = None, shape: Branches | None = None) -> Tensor:
        """``int[B, N]``: the token held for each position; unknown behind the last that was fed in a row."""
        if tree is not None and shape is not None:
            chain = shape.chain.beside(tree.tokens)
            fed = Fed(*(torch.cat([first, second[:, chain]], dim=1) for first, second in zip(fed, tree, strict=True)))
        place = torch.arange(self.length, device=fed.position.device)
        offset = place - fed.position[:, :1]
        inside = (offset >= 0) & (offset < fed.position.shape[1])
        values = fed.tokens.take_along_dim(offset.clamp(0, fed.tokens.shape[1] - 1), dim=1)
        return torch.where(offset < 0, self._known, torch.where(inside, values, UNKNOWN))

    def _settle(self, tokens: Tensor, tree: Waiting) -> None:
        """Move the nodes beside the chain that turned out to be the sequence to where it is kept."""
        shape = tree.shape
        if not shape.spread:
            return
        path = shape.paths.beside(tokens)
        wanted = tokens.take_along_dim(grid(tree.start, shape.depth).clamp(0, tokens.shape[1] - 1), dim=1)
        same = ((tree.nodes[:, path.clamp(min=0)] == wanted[:, None]) | (path < 0)).all(-1)
        fits = same[:, shape.others.beside(tokens)]  # [B, nodes beside the chain]

        # at most one of a depth is on the path, and the deepest of all is the last that is known
        aside = self._behind_all + indices(shape.spread, tokens)
        depth = shape.depths_of_others.beside(tokens)
        place = tree.start[:, None] + depth
        # a node may hold the very token of the chain, where a row has no more tokens: then the chain's stays
        chain = same[:, shape.chain.beside(tokens)]
        fits = fits & (place < self.length) & ~chain[:, depth]
        goal = torch.where(fits, self._slot(place), self._nowhere)
        self.cache.move(self.doubled(aside.expand_as(goal)), self.doubled(goal))
        self.features[self._all, self.doubled(goal)] = self.features[self._all, self.doubled(aside.expand_as(goal))]
        deepest = torch.where(fits, place, UNKNOWN).amax(dim=1, keepdim=True)
        positions = torch.arange(self.length, device=tokens.device)
        now = (positions >= tree.start[:, None]) & (positions <= deepest)
        later = (deepest >= 0) & (positions > deepest)
        self._known = torch.where(now, tokens[:, : self.length], torch.where(later, UNKNOWN, self._known))

    def _conditions(self, given: Any) -> Tensor:
        """The conditions as inputs, with guidance those of no condition behind them."""
        condition = self.model.condition(given)
        if self.sampling.guided:
            condition = torch.cat([condition, self.model.condition(self.model.null(len(condition)))])
        return condition

    def _prefill(self) -> None:
        """See the condition but for its last token, which every first call feeds."""
        position = torch.arange(-self.model.config.prefix, -1, device=self.uniform.device).expand(self.batch, -1)
        fed = Fed(position, self._slot(position), position.clamp(min=0))
        self._see(fed, self._behind(fed.slot))
        self.calls = 0

    # room -------------------------------------------------------------------------------------------------------

    def _allocate(self, scratch: int) -> None:
        """Room for the condition, the sequence, ``scratch`` nodes beside a chain, and for what nobody looks at."""
        sizes, inputs = self.model.config, self.condition
        self._behind_all = sizes.prefix + self.length
        slots = self._behind_all + scratch + 1
        self._nowhere = slots - 1
        self.cache = Cache(sizes.layers, len(inputs), sizes.heads, slots, sizes.head_dim, inputs.dtype, inputs.device)
        self.features = torch.zeros(len(inputs), slots, sizes.dim, dtype=inputs.dtype, device=inputs.device)
        self._all = torch.arange(len(inputs), device=inputs.device)[:, None]

    def _scratch(self, nodes: int) -> None:
        """Room for as many nodes beside a chain; only the first tree, or a larger one, makes more."""
        if self.cache.slots - self._behind_all - 1 >= nodes:
            return
        old, features, kept = self.cache, self.features, self._behind_all
        self._allocate(nodes)
        for new, before in zip((*self.cache.keys, *self.cache.values), (*old.keys, *old.values), strict=True):
            new[:, :, :kept] = before[:, :, :kept]
        self.features[:, :kept] = features[:, :kept]


# the shape of a tree -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Branches:
    """A tree as the cache sees it: its longest path, the *chain*, and the nodes beside it."""

    depth: int
    paths: Constant  # int[M, D]: the nodes from the root down to each, itself last, then -1
    depths: Constant  # int[M]: 0 for those that follow the prefix
    chain: Constant  # int[D]: the nodes of the chain
    aside: Constant  # int[M]: the number of each node among those beside the chain, -1 on it
    others: Constant  # int[A]: those nodes
    depths_of_others: Constant  # int[A]

    @property
    def spread(self) -> int:
        """How many nodes are beside the chain."""
        return len(self.others.values)


def branches(table: np.ndarray) -> Branches:
    """The shape of a tree whose paths are ``table[M, D]``."""
    depths = (table >= 0).sum(axis=1) - 1
    chain = table[depths.argmax()]
    chain = chain[chain >= 0]
    others = np.setdiff1d(np.arange(len(table)), chain)
    aside = np.full(len(table), -1)
    aside[others] = np.arange(len(others))
    depth = len(chain)
    return Branches(
        depth,
        Constant(table[:, :depth]),
        Constant(depths),
        Constant(chain),
        Constant(aside),
        Constant(others),
        Constant(depths[others]),
    )
