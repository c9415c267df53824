"""Traversal verification: a tree of drafts verified from its leaves to its root.

Weng et al., "Traversal Verification for Speculative Tree Decoding", arXiv 2505.12398, made again from its abstract and
the statements there: it considers the whole sequence from a node to the root, is lossless, and over a chain is block
verification. Verification goes depth first to the first leaf and accepts the whole path with the leaf's weight; else
the leaf is deleted, its parent gets what is left of its row and weight, and the next child is tried. A parent without
children left is a leaf. The root is always accepted.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, asarray, at, full, namespace, normalised, number, slot, total, wide
from simlab.decoders.draft_tree import DraftTree, Verified
from simlab.decoders.tree import NONE
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule


@dataclass(frozen=True)
class Traversal(DraftTree):
    """A tree of drafts verified from leaf to root. The rule is not used: this is lossless by itself.

    Attributes
    ----------
    branching
        How many children a node of each level has, each >= 1; or the nodes, or the name of a published tree
        (:mod:`simlab.decoders.levels`).
    replacement
        Whether siblings are drawn independently; else each without those before it.

    Raises
    ------
    ValueError
        For a branching that is no tree.

    References
    ----------
    Weng et al., arXiv 2505.12398, abstract.
    """

    def verify_tree(
        self, rule: Rule, p: Array, q: Array, nodes: Array, randomness: Randomness, position: Array
    ) -> Verified:
        """Try all rows, each after those below it, until the coin of one comes up.

        ``rule``: not used. ``p``, ``q``, ``nodes``, ``randomness``, ``position``: as in :meth:`DraftTree.verify_tree`.
        Returns the row after the accepted path, and the token's weights.
        """
        xp = namespace(p)
        order, weights, left = self.traverse(wide(p), wide(q), nodes)
        turn = randomness.accept_first(xp.stack(weights, axis=1), position)
        return Verified(asarray(order, nodes)[turn], slot(xp.stack(left, axis=1), turn))

    def traverse(self, p: Array, q: Array, nodes: Array) -> tuple[list[int], list[Array], list[Array]]:
        """All rows in the order in which they are tried, with the weight ``[B]`` and the row ``[B, V]`` of each when it
        is: once all below it are rejected. Tosses no coin.

        The weight of the root is 1, and that of a child x of a row of weight w is min(1, w p(x)/q(x)). Once x is
        rejected, with s = sum_y [w p(y) - q(y)]^+, the row p becomes [w p - q]+ and the weight s/(s + 1 - w); without
        replacement q loses x.
        """
        xp, one, zero = namespace(p), number(1, p), number(0, p)
        children = [[node for node in family if node != NONE] for family in self.levels.children.values.tolist()]
        order: list[int] = []
        weights: list[Array] = []
        left: list[Array] = []

        def visit(row: int, weight: Array) -> None:
            target = p[:, row]
            declared = q[:, row] if row < q.shape[1] else target
            for node in children[row]:
                there = nodes[:, node] != NONE
                x = xp.clip(nodes[:, node], 0, None)
                ratio = weight * at(target, x) / xp.where(there, at(declared, x), one)
                visit(node + 1, xp.where(there, xp.where(ratio < one, ratio, one), zero))

                excess = weight[:, None] * target - declared
                excess = xp.where(excess > zero, excess, zero)
                s = total(excess)
                spread = s + (one - weight)
                kept = xp.where(spread > zero, s / xp.where(spread > zero, spread, one), one)
                target = xp.where(there[:, None], normalised(excess, target), target)
                weight = xp.where(there, kept, weight)
                declared = self.remaining(declared, nodes[:, node])
            order.append(row)
            weights.append(weight)
            left.append(target)

        visit(0, full((len(nodes),), 1, p))
        return order, weights, left

    def choices(self) -> list[Run]:
        """Besides those of the tree a coin for each row."""
        return [*super().choices(), *(Run(Purpose.ACCEPT, k, 0, 1) for k in range(self.levels.nodes + 1))]
