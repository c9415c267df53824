"""Speculative decoding over a tree of drafts: a draft process makes every level, one call of the target verifies all.

``branching`` (K_1, ..., K_D) gives every node of level j - 1 K_j children, drawn from the draft's row after it: each
from the whole row (``replacement``), or from what its elder siblings have left of it. How the tree is verified is the
decoder's: :mod:`simlab.decoders.traversal`.

Nodes are numbered level by level; row r is the pmf after node r - 1, and row 0 the pmf after the prefix.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import prod
from typing import ClassVar, NamedTuple

import numpy as np

from simlab.arrays import Array, Constant, indices, namespace, one_hot, slots, splice, without
from simlab.checks import check_at_least, check_flag
from simlab.decoders.base import Decoder, Info, advance
from simlab.decoders.speculative import SpeculativeState
from simlab.decoders.tree import NONE
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule


@dataclass(frozen=True, eq=False)
class Levels:
    """The shape of a tree in which all nodes of one level have as many children."""

    branching: tuple[int, ...]
    starts: tuple[int, ...]  # the first node of each level, and how many nodes there are
    paths: tuple[Constant, ...]  # by level j: int[nodes up to it, j + 1], the way down to each, then NONE
    depths: Constant  # int[nodes + 1]: the level of the row after each, 0 for the root

    @property
    def nodes(self) -> int:
        return self.starts[-1]

    def rows(self, level: int) -> range:
        """The rows that stand before the nodes of a level, its parents."""
        return range(1) if level == 0 else range(1 + self.starts[level - 1], 1 + self.starts[level])

    def children(self, row: int) -> range:
        """The children of a row; none of a leaf."""
        for level, count in enumerate(self.branching):
            rows = self.rows(level)
            if row in rows:
                first = self.starts[level] + (row - rows.start) * count
                return range(first, first + count)
        return range(0)


@cache
def levels_of(branching: tuple[int, ...]) -> Levels:
    """The tree of that branching."""
    sizes = list(accumulate(branching, lambda nodes, count: nodes * count))
    starts = (0, *accumulate(sizes))
    paths: list[list[int]] = []
    for level, count in enumerate(branching):
        above = [[]] if level == 0 else paths[starts[level - 1] :]
        paths += [[*path, starts[level] + k * count + j] for k, path in enumerate(above) for j in range(count)]
    tables = [
        Constant(np.array([path + [NONE] * (level + 1 - len(path)) for path in paths[: starts[level + 1]]]))
        for level in range(len(branching))
    ]
    return Levels(branching, starts, tuple(tables), Constant(np.array([0, *map(len, paths)])))


def count_branches(branching: Sequence[int]) -> int:
    """How many nodes that tree has, without making it."""
    return sum(prod(branching[: level + 1]) for level in range(len(branching)))


class Verified(NamedTuple):
    """What becomes of a tree."""

    row: Array  # int[B]: the row after the accepted path
    next_pmf: Array  # float[B, V]: weights of the token after it


@dataclass(frozen=True)
class DraftTree(Decoder[SpeculativeState]):
    """A tree of drafts, verified in one call, and one more token.

    Attributes
    ----------
    branching
        How many children a node of each level has, each >= 1.
    replacement
        Whether siblings are drawn independently; else each without those before it.

    Raises
    ------
    ValueError
        For a branching without levels, or with a number below 1.
    """

    branching: Sequence[int]
    replacement: bool = True
    needs_draft: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.branching, str) or not isinstance(self.branching, Sequence) or not self.branching:
            raise ValueError(f"branching is {self.branching!r}; expected how many children a node of each level has")
        counts = tuple(check_at_least("a number of branching", count, 1) for count in self.branching)
        object.__setattr__(self, "branching", counts)
        check_flag("replacement", self.replacement)

    @property
    def levels(self) -> Levels:
        """The shape of the tree."""
        return levels_of(tuple(self.branching))

    def init(self, process: Process, randomness: Randomness, batch: int) -> SpeculativeState:
        tokens = process.buffer(batch, process.length + len(self.branching) + 1)
        return SpeculativeState(tokens, tokens[:, 0])

    def step(
        self,
        state: SpeculativeState,
        process: Process,
        rule: Rule,
        randomness: Randomness,
        draft: Process | None = None,
    ) -> tuple[SpeculativeState, Info]:
        if draft is None:
            raise ValueError("draft is None; expected a draft process: speculative decoding needs one")
        tokens, length = state
        xp, levels = namespace(tokens), self.levels
        randomness = randomness.ahead(length, self._choices)

        # draft the tree, and verify it in one call of the target
        nodes, q = self.draft_nodes(state, draft, randomness)
        paths = levels.paths[-1].beside(nodes)
        p = process.forward_tree(tokens, length, xp.clip(nodes, 0, None), paths)
        row, next_pmf = self.verify_tree(rule, p, q, nodes, randomness, length)

        # commit the accepted path and the token after it
        accepted = levels.depths.beside(length)[row]
        path = paths[xp.clip(row - 1, 0, None)]
        tokens = splice(tokens, length, slots(nodes, xp.clip(path, 0, None)))
        last = randomness.draw(next_pmf[:, None], length + accepted, Purpose.TARGET)
        tokens = splice(tokens, length + accepted, last)
        length, info = advance(process, length, accepted)
        return SpeculativeState(tokens, length), info

    def draft_nodes(self, state: SpeculativeState, draft: Process, randomness: Randomness) -> tuple[Array, Array]:
        """Draw the tree level by level.

        Parameters
        ----------
        state
            The sequences so far.
        draft
            The draft process.
        randomness
            Where the drafts come from; the number of a node is its lane.

        Returns
        -------
        tuple
            The nodes ``int[B, M]``, NONE where a row has no more tokens to draw, and the draft's rows
            ``float[B, R, V]`` of the R rows that have children.
        """
        tokens, length = state
        xp, levels = namespace(tokens), self.levels
        nodes, rows = tokens[:, :0], []
        for level, count in enumerate(levels.branching):
            if level == 0:
                made = draft.forward(tokens, length, 1)
            else:
                paths = levels.paths[level - 1].beside(tokens)
                made = draft.forward_tree(tokens, length, xp.clip(nodes, 0, None), paths)
                made = made[:, levels.rows(level).start :]
            rows.append(made)
            position = length[:, None] + level + 0 * indices(made.shape[1], length)
            family = position[..., None][..., :0]
            for k in range(count):
                lanes = tuple(range(levels.starts[level] + k, levels.starts[level + 1], count))
                left = self.sibling_row(made, family, last=k == count - 1)
                family = xp.concat([family, drawn(left, position, randomness, lanes)[..., None]], axis=2)
            nodes = xp.concat([nodes, xp.reshape(family, (len(tokens), -1))], axis=1)
        return nodes, xp.concat(rows, axis=1)

    def sibling_row(self, q: Array, before: Array, last: bool) -> Array:
        """The pmf ``[..., V]`` that a node is drawn from after its elder siblings ``before[..., j]``."""
        for k in range(before.shape[-1]):
            q = self.remaining(q, before[..., k])
        return q

    def remaining(self, q: Array, x: Array) -> Array:
        """The pmf ``[..., V]`` that the sibling after x is drawn from."""
        return q if self.replacement else without(q, x)

    @abstractmethod
    def verify_tree(
        self, rule: Rule, p: Array, q: Array, nodes: Array, randomness: Randomness, position: Array
    ) -> Verified:
        """Which path of the tree is accepted.

        Parameters
        ----------
        rule
            The verification rule.
        p
            ``float[B, M + 1, V]``: the target's rows.
        q
            ``float[B, R, V]``: the draft's rows, of those that have children.
        nodes
            ``int[B, M]``: the drafts; NONE where there is none.
        randomness
            Where the coins come from.
        position
            ``int[B]``: the position of the first level.
        """

    def choices(self) -> list[Run]:
        """A draw for each node, and of the token after the path."""
        levels = self.levels
        draws = [
            Run(Purpose.DRAFT, node, level, 1)
            for level in range(len(levels.branching))
            for node in range(levels.starts[level], levels.starts[level + 1])
        ]
        return [*draws, Run(Purpose.TARGET, 0, 0, len(levels.branching) + 1)]


def drawn(pmf: Array, position: Array, randomness: Randomness, lanes: tuple[int, ...]) -> Array:
    """``int[B, P]``: a draft from each row of ``pmf[B, P, V]``, NONE where nothing is left of it."""
    xp = namespace(pmf)
    possible = xp.any(pmf > 0, axis=2)
    nothing = one_hot(indices(1, position), pmf)
    found = randomness.draw(xp.where(possible[..., None], pmf, nothing), position, Purpose.DRAFT, lanes)
    return xp.where(possible, found, NONE)
