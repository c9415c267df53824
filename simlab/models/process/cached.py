"""A model with a key-value cache as a process: each call feeds a window, and nothing twice that need not be.

The decoders know nothing of it. A call is still a function of the tokens it is given: the cache remembers which token
it holds for every position, and marks a sequence whose tokens before the window are not the ones it is given. So
rejected tokens need no rollback: what follows the first of them is written over before it is ever looked at. Nodes
beside the chain of a tree wait in slots of their own; at the next call those that turn out to be committed, by its
tokens, swap slots with what the chain had in their places.

Sequences may leave a batch and others enter (:meth:`Cached.keep`, :meth:`Cached.enter`). No value is read back, so an
accelerator never waits; what went wrong is marked beside each sequence, and read with :meth:`Cached.faults`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from simlab.arrays import grid
from simlab.checks import on_host
from simlab.models.architectures.backbone import Backbone, check_parts, with_none
from simlab.models.process.branches import Branches, branches
from simlab.models.process.cache import Cache, Window
from simlab.models.process.clock import UNTIMED, Clock
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import check_visible, uniform
from simlab.processes import Process

UNKNOWN = -1
NEVER = 1 << 40  # the position of what nobody sees
ALIGNED = 8  # slots: attention reads masks whose rows are whole vectors without copying them
ENTRIES = {"cpu": 1 << 19, "cuda": 1 << 26}  # of rows that are made at once: what they pass through is as large

NOT_HELD = "tokens before the window are not in the cache; expected those of the last call"
NOT_NUMBERS = "the model's rows hold NaN; expected logits that are numbers"
LOST, NO_NUMBER = 1, 2  # the bits of a status


class Fed(NamedTuple):
    """Tokens of one call: what they are, where they are, and what they see."""

    tokens: Tensor  # int[B, L]
    position: Tensor  # int[B, L]: in the image; the condition's are negative
    place: Tensor  # int[B, L]: the entry of `slot_of` that says where each is kept
    limit: Tensor  # int[B, L]: each sees what is kept of the positions before


class Call(NamedTuple):
    """What the model is given in one call; with guidance every sequence twice, with its condition and without."""

    tokens: Tensor  # int[cB, L]
    position: Tensor  # int[cB, L]: as the model counts, the condition first
    after: Tensor  # int[B, R]: in the image, of the rows that are asked for
    slot: Tensor  # int[cB, L]: where keys and values go
    mask: Tensor  # float[cB, L, S]: added to scores, 0 for what each token sees, else minus infinity
    behind: bool  # whether all of it is known to be behind the condition


class Waiting(NamedTuple):
    """A tree whose accepted path has not swapped slots yet."""

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
        Takes the time of the parts of each call; none, unless given.

    Raises
    ------
    ValueError
        For a sampling or ``visible`` that does not fit the model.

    Notes
    -----
    What is kept of a sequence has *places*: nowhere, the condition, the image, nowhere, and as many more as trees have
    nodes beside their chain. ``slot_of[B, places]`` says in which slot, and ``position_of[B, slots]`` the reverse. The
    slots of such nodes come right behind the condition's, so that all that can be seen is at the front.
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
        self.model, self.lag, self.clock = model, lag, clock
        check_parts(model)
        sizes = model.config
        self.vocabulary, self.length, self.shape = sizes.vocabulary, sizes.length, sizes.shape
        self.uniform = uniform(model, given)
        self.calls, self.width = 0, 0
        self.batch = self.room = len(given)
        sampling = sampling or Sampling()
        sampling.check(self.length, self.vocabulary)
        self._samplings, self.guided = [sampling] * self.batch, sampling.guided
        self._kinds = kinds(self._samplings)
        self.visible = check_visible(visible, self.batch, sizes.prefix)
        with torch.no_grad():
            self.condition = self._conditions(given)

        device = self.uniform.device
        self._first = sizes.prefix + 1  # the place of the first token of the image
        self._places = self._first + self.length + 1  # those of a chain
        self._copies = 2 if self.guided else 1
        self._on_host = device.type == "cpu"
        self._fed = torch.zeros(self.batch, dtype=torch.int64, device=device)  # the first position that is not held
        self._status = torch.zeros(self.batch, dtype=torch.int64, device=device)
        self._waiting: Waiting | None = None
        self._shapes: dict[int, tuple[Any, Branches]] = {}  # by table, which so stays alive
        self._ready = 0  # sequences whose condition has been seen
        self._cache: Cache | None = None  # there from the first call on, which says how large trees are
        self.features: Tensor | None = None
        self._seen, self._hidden = (self.condition.new_tensor(score) for score in (0.0, -torch.inf))

    # calls ------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        with self.clock.during("cache"):
            self._begin(len(tokens), count, spread=0)
            return self._answer(self._feed_chain(tokens, start, count))

    @torch.no_grad()
    def forward_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> Tensor:
        """One call with tree attention: each node sees the prefix, the nodes on its path, and itself.

        Returns ``float[B, 1 + M, V]``, rows after the prefix and after each node. Raises ``ValueError`` if ``tokens``
        are of another number of sequences.

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
        """
        with self.clock.during("cache"):
            shape = self.shape_of(paths)
            self._begin(len(tokens), shape.depth + 1, shape.spread)
            call = self._feed_tree(tokens, start, nodes, shape)
            self._waiting = Waiting(start.clone(), nodes, shape)  # compiled decoders change theirs in place
            return self._ended(self._answer(call), call.after)

    def hold(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> None:
        """One call, whose rows nobody asks for."""
        self.forward_tree(tokens, start, nodes, paths)

    def over(self, tokens: Tensor, length: Tensor) -> Tensor:
        """Whether each sequence is complete, or cannot go on."""
        return super().over(tokens, length) | (self._status[: len(length)] != 0)

    def faults(self) -> dict[int, str]:
        """Why sequences cannot go on, by their rows; reads back from where the model runs."""
        return {b: fault(status) for b, status in enumerate(self.status.tolist()) if status}

    @property
    def status(self) -> Tensor:
        """``int64[B]``: 0, or why a sequence cannot go on (:func:`fault`), where the model runs."""
        return self._status[: self.batch]

    # who is in the batch ----------------------------------------------------------------------------------------

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with some of the sequences.

        ``rows``: ``int[n]``, those that stay, in the order they are to have; ``rows[i] >= i``.
        """
        move(self._own(), rows)
        if self._waiting is not None:
            start, nodes, shape = self._waiting
            self._waiting = Waiting(start[rows], nodes[rows], shape)
        self._samplings = [self._samplings[row] for row in rows]
        self._kinds = kinds(self._samplings)
        self._ready = sum(row < self._ready for row in rows)
        self.batch = len(rows)

    @torch.no_grad()
    def enter(self, given: Any, samplings: Sequence[Sampling], visible: Tensor | None = None) -> None:
        """Take sequences into the places of those that have left.

        Raises ``ValueError`` for more sequences than have left, a sampling that does not fit, or padding where the
        process was made without.

        Parameters
        ----------
        given
            ``[n, ...]``, their conditions.
        samplings
            How the rows of each are made; with guidance where those of the others are.
        visible
            ``bool[n, T]``, where the process was made with it.
        """
        first, last = self.batch, self.batch + len(given)
        if last > self.room:
            raise ValueError(f"{len(given)} sequences enter; expected as many as have left, {self.room - first}")
        if visible is not None and self.visible is None:
            raise ValueError("visible is given; expected none: the process was made without")
        self._samplings = self._samplings + [self._fitting(sampling) for sampling in samplings]
        self._kinds = kinds(self._samplings)
        self.condition[self._copies * first : self._copies * last] = self._conditions(given)
        if self.visible is not None:
            shown = check_visible(visible, len(given), self._first - 1)
            self.visible[first:last] = torch.ones_like(self.visible[first:last]) if shown is None else shown
        self._fed[first:last] = self._status[first:last] = 0
        if self._waiting is not None:
            start, nodes, shape = self._waiting
            added = last - first
            self._waiting = Waiting(
                torch.cat([start, start.new_full((added,), self.length)]),
                torch.cat([nodes, nodes.new_zeros(added, nodes.shape[1])]),
                shape,
            )
        self.batch = last
        if self._cache is not None:
            self._settle_in(slice(first, last))

    def _own(self) -> list[Tensor]:
        """What is kept of each sequence, ``[B, ...]``."""
        values = [self._fed, self._status, self.condition.unflatten(0, (-1, self._copies))]
        if self.visible is not None:
            values.append(self.visible)
        if self._cache is not None:
            values += [self._known, self._slot_of, self._position_of, self._seen_from]
            values += [kept.unflatten(0, (-1, self._copies)) for kept in (*self._cache.keys, *self._cache.values)]
        if self.features is not None:
            values.append(self.features.unflatten(0, (-1, self._copies)))
        return values

    def _fitting(self, sampling: Sampling) -> Sampling:
        sampling.check(self.length, self.vocabulary)
        if sampling.guided != self.guided:
            raise ValueError("some samplings are guided and others not; expected all of a batch to be, or none")
        return sampling

    # what is fed ------------------------------------------------------------------------------------------------

    def _begin(self, sequences: int, width: int, spread: int) -> None:
        """Make room for a call of ``width`` positions and a tree with ``spread`` nodes beside its chain."""
        if sequences != self.batch:
            raise ValueError(f"tokens are of {sequences} sequences; expected {self.batch}, one for each condition")
        self.width = width
        if self._cache is None or spread > self._spread or self._ready < self.batch:
            self.prepare(spread)

    def _feed_chain(self, tokens: Tensor, start: Tensor, count: int) -> Call:
        """What a call for ``count`` rows from ``start`` on gives the model, once it is remembered."""
        self._agree(tokens, start)
        fed = self._chain(tokens, start, self.lag + count)
        self._remember(fed, start + count - 1)
        slot = self._slot_of[: self.batch].gather(1, fed.place)
        return self._call(fed, slot, self._sees(fed, slot, self._live(start, count)))

    def _feed_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, shape: Branches) -> Call:
        """The same for the rows before a tree and after each of its nodes."""
        self._agree(tokens, start)
        chain, tree = self._chain(tokens, start, self.lag + 1), self._nodes(start, nodes, shape)
        fed = Fed(*(torch.cat(pair, dim=1) for pair in zip(chain, tree, strict=True)))
        self._remember(fed, start + shape.depth)
        slot = self._slot_of[: self.batch].gather(1, fed.place)
        return self._call(fed, slot, self._sees(fed, slot, self._live(start, shape.depth), shape))

    def _call(self, fed: Fed, slot: Tensor, mask: Tensor) -> Call:
        """The call that feeds this into these slots."""
        after, position = fed.position[:, self.lag :] + 1, fed.position + (self._first - 1)
        tokens, position, slot, mask = (self.doubled(part) for part in (fed.tokens, position, slot, mask))
        return Call(tokens, position, after, slot, mask, behind=False)

    def shape_of(self, paths: Any) -> Branches:
        """What a table of paths says, read back from an accelerator once: a decoder keeps to one table."""
        if id(paths) not in self._shapes:
            self._shapes[id(paths)] = paths, branches(on_host(paths))
        return self._shapes[id(paths)][1]

    def _place(self, position: Tensor) -> Tensor:
        """Where the token of a position is listed; outside of the sequence, nowhere."""
        return (position + self._first).clamp(0, self._places - 1)

    def _chain(self, tokens: Tensor, start: Tensor, count: int) -> Fed:
        """``count`` tokens in a row from position ``start - 1 - lag`` on."""
        position = grid(start - 1 - self.lag, count)
        values = tokens.gather(1, position.clamp(0, tokens.shape[1] - 1))
        return Fed(values, position, self._place(position), position.clamp(min=1 - self._first) + 1)

    def _nodes(self, start: Tensor, nodes: Tensor, shape: Branches) -> Fed:
        """The nodes of a tree: its longest path where the tokens would be, the others in places of their own."""
        position = start[:, None] + shape.depths.beside(start)
        aside = shape.aside.beside(start)
        place = self._place(position)
        place = torch.where((aside >= 0) & (position < self.length), self._places + aside, place)
        return Fed(nodes, position, place, start[:, None].expand_as(position))

    # one call of the model --------------------------------------------------------------------------------------

    def _live(self, start: Tensor, count: int) -> int:
        """The slots that a call may look at; where that would have to be read back, all of them."""
        if not self._on_host:
            return self.cache.slots
        return min(self.cache.slots, aligned(self._first + self._spread + int(start.max()) + count))

    def _sees(self, fed: Fed, slot: Tensor, live: int, shape: Branches | None = None) -> Tensor:
        """``[B, L, live]``, to be added to scores: 0 for what each token sees, else minus infinity."""
        seen = self._position_of[: self.batch, None, :live] < fed.limit[..., None]
        if shape is not None:
            own = slot[:, -len(shape.ancestors.values) :]
            path = shape.ancestors.beside(slot).expand(len(slot), -1, -1)
            seen[:, -own.shape[1] :].scatter_(2, own[:, None].expand_as(path), path)
        if self.visible is not None:
            seen.scatter_(2, slot[..., None], True)  # padding sees itself: nobody is no number
        return torch.where(seen, self._seen, self._hidden)

    def _answer(self, call: Call) -> Tensor:
        """Rows after all that is fed but what the model has lagged behind."""
        self.calls += 1
        with self.clock.during("model"):
            features = self._see(call)
        return self.rows_of(features[:, self.lag :] if self.lag else features, call.after)

    def _see(self, call: Call, first: int = 0) -> Tensor:
        """The features of what is fed to the sequences from ``first`` on, ``[B or 2B, L, dim]``; keys and values stay
        in the cache."""
        start = self._copies * first
        inputs = self.inputs(call.tokens, call.position, start, call.behind)
        window = Window(self.cache, call.slot, call.mask, start)
        features = self.model.features(inputs, call.position, window)
        if self.features is not None:
            rows = torch.arange(start, start + len(features), device=features.device)[:, None]
            self.features[rows, self._place(call.position + (1 - self._first))] = features
        return features

    def rows_of(self, features: Tensor, position: Tensor) -> Tensor:
        """The rows that are sampled from.

        ``features``: ``[B, L, dim]``; with guidance ``[2B, L, dim]``, each with its condition and then without.
        ``position``: ``int[B, L]``, of the rows in the image. Returns ``float[B, L, V]``; a sequence with rows that are
        no numbers is marked.
        """
        features = features.reshape(-1, self._copies, *features.shape[1:]).transpose(0, 1)
        if len(self._kinds) == 1:
            rows = self._sampled(self._kinds[0][0], features, position)
        else:
            rows = self.uniform.new_empty(*position.shape, self.vocabulary)
            for sampling, own in self._kinds:
                rows[own] = self._sampled(sampling, features[:, own], position[own])
        self._mark(rows)
        return rows

    def _mark(self, rows: Tensor) -> None:
        """Mark the sequences whose rows are no numbers."""
        numbers = rows.sum(-1).isfinite().all(-1)
        self._status[: self.batch] |= torch.where(numbers, 0, NO_NUMBER)

    def _sampled(self, sampling: Sampling, features: Tensor, position: Tensor) -> Tensor:
        """``float[B, L, V]`` from features ``[copies, B, L, dim]``, as many rows at once as may be."""
        shape = *position.shape, self.vocabulary
        features, position = features.flatten(1, 2), position.reshape(1, -1)
        count = max(1, ENTRIES[features.device.type] // self.vocabulary)
        if count >= position.shape[1]:
            return self._made(sampling, features, position).view(shape)
        rows = self.uniform.new_empty(1, position.shape[1], self.vocabulary)
        for first in range(0, position.shape[1], count):
            part = slice(first, first + count)
            rows[:, part] = self._made(sampling, features[:, part], position[:, part])
        return rows.view(shape)

    def _made(self, sampling: Sampling, features: Tensor, position: Tensor) -> Tensor:
        """``float[B, L, V]`` from features ``[copies * B, L, dim]``, those of one copy before the next."""
        with self.clock.during("model"):
            logits = self.model.logits(features)
        with self.clock.during("sampling"):
            return sampling.rows(logits, position)

    def inputs(self, tokens: Tensor, position: Tensor, first: int = 0, behind: bool = False) -> Tensor:
        """``[cB, L, dim]``: tokens ``int[cB, L]`` embedded, and the condition at its positions, which come first.

        ``first`` is the first of their conditions, ``behind`` says that no position is one of the condition's.
        """
        embedded = self.model.embed(tokens.clamp(0, self.vocabulary - 1))
        if behind:
            return embedded
        prefix = self._first - 1
        before = position.clamp(0, prefix - 1)[..., None]
        condition = self.condition[first : first + len(before)].take_along_dim(before, dim=1)
        return torch.where(position[..., None] < prefix, condition, embedded)

    def doubled(self, values: Tensor) -> Tensor:
        """``[B, ...]`` each twice with guidance: the same tokens, with their condition and without."""
        return values.repeat_interleave(2, dim=0) if self._copies == 2 else values

    def _ended(self, rows: Tensor, position: Tensor) -> Tensor:
        """As for any process, but in place: the rows were made for this call."""
        over = position >= self.length
        if self._on_host and not over.any():
            return rows
        rows.masked_fill_(over[..., None], 0)
        rows[..., 0].masked_fill_(over, 1)
        return rows

    # what is remembered -----------------------------------------------------------------------------------------

    def _agree(self, tokens: Tensor, start: Tensor) -> None:
        """Let an accepted path swap slots, and check that all before the window is what the cache holds."""
        if self._waiting is not None:
            self._settle(tokens, self._waiting)
            self._waiting = None
        first = start - 1 - self.lag
        other = self._known[: self.batch, self._first : self._places - 1] != tokens[:, : self.length]
        before = torch.arange(self.length, device=start.device) < first[:, None]
        lost = (other & before).any(1) | (first > self._fed[: self.batch])
        self._status[: self.batch] |= torch.where(lost, LOST, 0)

    def _remember(self, fed: Fed, end: Tensor) -> None:
        """Which token is held in each place; those of a chain up to position ``end`` follow one another."""
        self._known[: self.batch].scatter_(1, fed.place, fed.tokens)
        self._fed[: self.batch] = end

    def _settle(self, tokens: Tensor, tree: Waiting) -> None:
        """Swap the slots of the nodes beside the chain that turned out to be the sequence with those of its places."""
        shape, own = tree.shape, slice(0, self.batch)
        if not shape.spread:
            return
        path = shape.paths.beside(tokens)
        wanted = tokens.gather(1, grid(tree.start, shape.depth).clamp(0, tokens.shape[1] - 1))
        same = ((tree.nodes[:, path.clamp(min=0)] == wanted[:, None]) | (path < 0)).all(-1)

        # a node may hold the very token of the chain, or of one before it, where a row has no more tokens
        depth, others = shape.depths_of_others.beside(tokens), shape.others.beside(tokens)
        position = tree.start[:, None] + depth
        fits = same[:, others] & (position < self.length) & ~same[:, shape.chain.beside(tokens)][:, depth]
        fits = fits & ~(fits[:, None] & shape.earlier.beside(tokens)).any(-1)

        goal = torch.where(fits, self._place(position), 0)
        slot_of, aside = self._slot_of[own], slice(self._places, self._places + shape.spread)
        mine, theirs = slot_of[:, aside], slot_of.gather(1, goal)
        theirs, mine = torch.where(fits, theirs, mine), mine.where(fits, 0)
        slot_of[:, aside] = theirs
        slot_of.scatter_(1, goal, mine)
        self._position_of[own].scatter_(1, slot_of, self._seen_from[own])
        self._known[own].scatter_(1, goal, tree.nodes[:, others])
        deepest = torch.where(fits, position + 1, 0).amax(1)
        self._fed[own] = torch.where(deepest > 0, deepest, self._fed[own])

    def _conditions(self, given: Any) -> Tensor:
        """The conditions as inputs, with guidance each followed by that of no condition."""
        return with_none(self.model, given).flatten(0, 1) if self.guided else self.model.condition(given)

    # room -------------------------------------------------------------------------------------------------------

    @property
    def cache(self) -> Cache:
        """Keys and values, from the first call on."""
        assert self._cache is not None, "prepare makes it"
        return self._cache

    @torch.no_grad()
    def prepare(self, spread: int = 0) -> None:
        """Make room for trees with ``spread`` nodes beside their chain, and see the conditions of all who are new."""
        if self._cache is None:
            self._allocate(spread)
        elif spread > self._spread:
            self._widen(spread)
        if self._ready < self.batch and self._first > 2:
            self._prefill(self._ready)
        self._ready = self.batch

    def keep_features(self) -> None:
        """Keep the features of all tokens from now on, for a head that drafts from them."""
        sizes, inputs = self.model.config, self.condition
        self.features = torch.zeros(len(inputs), self._places, sizes.dim, dtype=inputs.dtype, device=inputs.device)
        self._ready, self._fed[:] = 0, 0

    def _prefill(self, first: int) -> None:
        """See the conditions from sequence ``first`` on but for their last tokens, which every first call feeds."""
        own = slice(first, self.batch)
        position = torch.arange(1 - self._first, -1, device=self.uniform.device).expand(self.batch - first, -1)
        place = self._place(position)
        fed = Fed(position.clamp(min=0), position, place, position + 1)
        slot = self._slot_of[own].gather(1, place)
        seen = self._position_of[own, None, :] < fed.limit[..., None]
        seen.scatter_(2, slot[..., None], True)
        self._see(self._call(fed, slot, torch.where(seen, self._seen, self._hidden)), first)

    def _allocate(self, spread: int) -> None:
        """Room for the condition, the sequence, and ``spread`` nodes beside a chain."""
        sizes, inputs, self._spread = self.model.config, self.condition, spread
        slots = aligned(self._places + spread)
        self._cache = Cache(sizes.layers, len(inputs), sizes.heads, slots, sizes.head_dim, inputs.dtype, inputs.device)
        self._known, self._slot_of, self._seen_from = (
            self._fed.new_full((self.room, self._places + spread), UNKNOWN) for _ in range(3)
        )
        self._position_of = self._fed.new_full((self.room, slots), NEVER)
        self._settle_in(slice(0, self.room))

    def _settle_in(self, rows: slice) -> None:
        """Places in the order of slots, for sequences of which nothing is kept."""
        device = self._fed.device
        chain, aside = torch.arange(self._places, device=device), torch.arange(self._spread, device=device)
        position = (chain - self._first).masked_fill((chain == 0) | (chain == self._places - 1), NEVER)
        self._slot_of[rows] = torch.cat([chain.where(chain < self._first, chain + self._spread), self._first + aside])
        self._seen_from[rows] = torch.cat([position, aside * 0 + NEVER])
        if self.visible is not None:
            self._seen_from[rows, 1 : self._first].masked_fill_(~self.visible[rows], NEVER)
        self._position_of[rows] = NEVER
        self._position_of[rows].scatter_(1, self._slot_of[rows], self._seen_from[rows])

    def _widen(self, spread: int) -> None:
        """Room for a larger tree than those before: slots behind those that its nodes have already."""
        behind, more = self._first + self._spread, aligned(spread - self._spread)
        self.cache.insert(behind, more)
        self._spread += more
        self._slot_of += more * (self._slot_of >= behind)
        added = torch.arange(behind, behind + more, device=self._fed.device).expand(self.room, -1)
        self._slot_of = torch.cat([self._slot_of, added], dim=1)
        self._known = torch.cat([self._known, torch.full_like(added, UNKNOWN)], dim=1)
        self._seen_from = torch.cat([self._seen_from, torch.full_like(added, NEVER)], dim=1)
        self._position_of = self._fed.new_full((self.room, self.cache.slots), NEVER)
        self._position_of.scatter_(1, self._slot_of, self._seen_from)


def move(kept: Iterable[Tensor], rows: Sequence[int]) -> None:
    """Put what is kept of the sequences ``rows`` in the places 0, 1, ...; ``rows[i] >= i``."""
    for values in kept:
        for to, row in enumerate(rows):
            if to != row:
                values[to] = values[row]


def fault(status: int) -> str:
    """Why a sequence cannot go on, whose status is not 0."""
    return NOT_NUMBERS if status & NO_NUMBER else NOT_HELD


def aligned(slots: int) -> int:
    """``slots``, and a few more up to a whole vector."""
    return -(-slots // ALIGNED) * ALIGNED


def kinds(samplings: Sequence[Sampling]) -> list[tuple[Sampling, list[int]]]:
    """The samplings that make different rows, and whose they are."""
    found: dict[Any, tuple[Sampling, list[int]]] = {}
    for b, sampling in enumerate(samplings):
        found.setdefault(rows_made(sampling), (sampling, []))[1].append(b)
    return list(found.values())


def rows_made(sampling: Sampling) -> Any:
    """A key that two samplings share if they make the same rows."""
    scales = tuple(np.atleast_1d(sampling.guidance).tolist())
    return scales, sampling.temperature, sampling.top_k, sampling.top_p, sampling.grammar
