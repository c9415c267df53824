"""Speculative decoding over a tree of drafts: a draft process makes every level, one call of the target verifies all.

``branching`` says which children each node has (:mod:`simlab.decoders.levels`). They are drawn from the draft's row
after it: each from the whole row (``replacement``), or from what its elder siblings have left of it. How the tree is
verified is the decoder's: :mod:`simlab.decoders.traversal`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from simlab.arrays import Array, indices, namespace, slots, splice, without
from simlab.checks import check_flag
from simlab.decoders.base import drafts_of
from simlab.decoders.drafted import Drafted, SpeculativeState
from simlab.decoders.levels import Branching, Levels, check_branching, levels_of
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule


class Verified(NamedTuple):
    """What becomes of a tree."""

    row: Array  # int[B]: the row after the accepted path
    next_pmf: Array  # float[B, V]: weights of the token after it


@dataclass(frozen=True)
class DraftTree(Drafted):
    """A tree of drafts, verified in one call, and one more token.

    Raises ``ValueError`` for a branching that is no tree.
    """

    # how many children a node of each level has, each >= 1; or the nodes, or the name of a published tree (levels)
    branching: Branching
    replacement: bool = True  # whether siblings are drawn independently; else each without those before it

    def __post_init__(self) -> None:
        object.__setattr__(self, "branching", check_branching(self.branching))
        check_flag("replacement", self.replacement)

    @property
    def levels(self) -> Levels:
        """The shape of the tree."""
        return levels_of(check_branching(self.branching))

    @property
    def longest(self) -> int:
        return self.levels.depth

    def speculate(
        self, state: SpeculativeState, process: Process, rule: Rule, randomness: Randomness, draft: Process
    ) -> tuple[Array, Array]:
        tokens, length = state
        xp, levels = namespace(tokens), self.levels

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
        return splice(tokens, length + accepted, last), accepted

    def draft_nodes(self, state: SpeculativeState, draft: Process, randomness: Randomness) -> tuple[Array, Array]:
        """Draw the tree level by level.

        Returns the nodes ``int[B, M]``, NONE where a row has no more tokens to draw, and the draft's rows
        ``float[B, R, V]`` of the R rows that are not of the last level. The number of a node is its lane.
        """
        tokens, length = state
        xp, levels = namespace(tokens), self.levels
        nodes, rows = tokens[:, :0], []
        for level, families in enumerate(levels.families):
            if level == 0:
                made = draft.forward(tokens, length, 1)
            else:
                paths = levels.paths[level - 1].beside(tokens)
                made = draft.forward_tree(tokens, length, xp.clip(nodes, 0, None), paths)
                made = made[:, levels.rows(level).start :]
            rows.append(made)
            for each in families:
                own = made[:, each.places.beside(tokens)]
                position = length[:, None] + level + 0 * indices(own.shape[1], length)
                family = position[..., None][..., :0]
                for k in range(each.count):
                    left = self.sibling_row(own, family, last=k == each.count - 1)
                    family = xp.concat(
                        [family, drafts_of(left, position, randomness, each.lanes(k))[..., None]], axis=2
                    )
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

        ``p``: ``float[B, M + 1, V]``, the target's rows. ``q``: ``float[B, R, V]``, the draft's, of those that are not
        of the last level. ``nodes``: ``int[B, M]``, the drafts; NONE where there is none. ``position``: ``int[B]``,
        that of the first level.
        """

    def choices(self) -> list[Run]:
        """A draw for each node, and of the token after the path."""
        levels = self.levels
        draws = [
            Run(Purpose.DRAFT, node, level, 1)
            for level in range(levels.depth)
            for node in range(levels.starts[level], levels.starts[level + 1])
        ]
        return [*draws, Run(Purpose.TARGET, 0, 0, levels.depth + 1)]
