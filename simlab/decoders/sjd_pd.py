"""Speculative Jacobi decoding with proactive drafting: SJD-PAC, section 4.1 and appendix A.3.

The first positions of the window have K candidates each, drawn without replacement from the rows that SJD draws one
token from: c_1 is the token of the window, c_2 is drawn from the same row without c_1, and so on. They are verified
in turn with recursive residuals (equations 7 and 8),

    p^(1) = p,   q^(1) = q,   p^(k+1) = residual(p^(k), q^(k), c_k),   q^(k+1) = q^(k) without c_k,

so that whatever node the tree is left at, what follows has the right law (:mod:`simlab.decoders.tree` has the
shapes). A draft other than the window's own leads off the chain: the rows behind it were computed for other tokens,
and stay what they were, the rows the next drafts are drawn from.

Algorithm 1 of the paper makes a tree only after a rejection. Here every call has one, of one shape: at the first call,
and after a window that was kept whole, its candidates come from the rows that new positions start with.

The window's state is that of SJD. The other candidates depend on nothing but the rows declared for it, so they are
drawn when the next call is about to be made, and forgotten after it.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import (
    Array,
    at,
    grid,
    indices,
    namespace,
    number,
    one_hot,
    slot,
    slots,
    splice,
    without,
)
from simlab.checks import check_at_least, check_choice, check_flag
from simlab.decoders.sjd import Sjd, SjdState, Verified
from simlab.decoders.tree import NONE, SHAPES, Shape, Tree, count_nodes, tree
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.rules import Rule


@dataclass(frozen=True)
class SjdPd(Sjd):
    """SJD with ``candidates`` drafts a node at the first ``depth`` positions of the window.

    ``tree`` is its shape, ``window`` the length of its chain; ``depth`` is cut at the window. With ``budget`` a tree of
    more nodes than that is a ``ValueError``. With ``shared`` all nodes of one position have the same
    candidates. With ``bonus`` a token follows every path that ends in an accepted draft, from that draft's own row.
    """

    candidates: int = 4
    depth: int = 3
    tree: Shape = "comb"
    budget: int | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("candidates", self.candidates, 1)
        check_at_least("depth", self.depth, 1)
        check_choice("tree", self.tree, SHAPES)
        check_flag("shared", self.shared)
        nodes = count_nodes(self.tree, self.window, self.candidates, self.depth)
        if self.budget is not None and nodes > check_at_least("budget", self.budget, 1):
            raise ValueError(
                f"budget is {self.budget} but the tree has {nodes} nodes, {nodes - self.budget} too many; expected a "
                f"smaller window, candidates or depth"
            )

    def _tree(self) -> Tree:
        return tree(self.tree, self.window, self.candidates, self.depth)

    def _look(self, state: SjdState, process: Process, rule: Rule, randomness: Randomness) -> Verified:
        """Verify the tree: down its nodes while a candidate is kept, then along the chain."""
        tokens, length, q, _ = state
        shape, xp = self._tree(), namespace(q)
        depth, width = shape.depth, self.window

        # draw the tree, and see all of it in one call
        nodes = self._grow(shape, state, randomness)
        rows = process.forward_tree(tokens, length, xp.clip(nodes, 0, None), shape.paths.beside(nodes))
        p, x = rows[:, : width + 1], slots(tokens, grid(length, width))

        # row is where the walk stands, after what would follow if it ended there
        row, count, after, spare = length * 0, length * 0, rows[:, 0], length < 0
        walking, path = ~spare, []
        for j in range(depth):
            children = shape.children.beside(nodes)[row]
            candidates = xp.where(children == NONE, NONE, slots(nodes, xp.clip(children, 0, None)))
            candidates = xp.where(walking[:, None], candidates, NONE)
            picked, left = self._pick(rule, slot(rows, row), q[:, j], candidates, randomness, length + j)
            kept = picked != NONE
            path.append(xp.where(kept, at(candidates, xp.clip(picked, 0, None)), x[:, j]))
            after = xp.where((walking & ~kept)[:, None], left, after)
            spare = spare | (walking & (children[:, 0] == NONE))
            walking = kept
            row = xp.where(kept, self._below(children, picked), row)
            count = count + xp.astype(kept, count.dtype)
        after, spare = xp.where(walking[:, None], slot(rows, row), after), spare | walking

        # the chain goes on below the tree
        if depth < width:
            chain = walking & (row == depth)
            more, last = self.verify(rule, p[:, depth:], q[:, depth:], x[:, depth:], randomness, length + depth, chain)
            after = xp.where(chain[:, None], last, after)
            spare = spare & (~chain | (more == width - depth))
            count = count + more
        kept_path = xp.concat([xp.stack(path, axis=1), x[:, depth:]], axis=1)
        return Verified(splice(tokens, length, kept_path), p, count, after, spare)

    def _grow(self, shape: Tree, state: SjdState, randomness: Randomness) -> Array:
        """``int[B, M]``: the token of every node, NONE where a row has no more tokens to draw."""
        tokens, length, q, _ = state
        xp = namespace(q)
        chain = slots(tokens, grid(length, self.window))
        nodes = {j: chain[:, j] for j in range(self.window)}
        for j, parents in enumerate(shape.parents):
            drawn_for = parents[:1] if self.shared else parents
            left = xp.broadcast_to(q[:, j : j + 1], (q.shape[0], len(drawn_for), q.shape[2]))
            place = xp.broadcast_to((length + j)[:, None], (q.shape[0], len(drawn_for)))
            for k in range(self.candidates):
                group = [int(shape.children.values[row, k]) for row in drawn_for]
                known = [nodes[node] for node in group if node < self.window]
                drawn = self._draw(left, place, randomness, shape.lanes[j][k].beside(place)[: len(group)])
                drawn = xp.concat([*(token[:, None] for token in known), drawn[:, len(known) :]], axis=1)
                nodes |= {node: drawn[:, g] for g, node in enumerate(group)}
                left = self._left(left, drawn, k)
            for row in parents[len(drawn_for) :]:
                nodes |= {int(n): nodes[int(c)] for n, c in zip(*shape.children.values[[row, parents[0]]], strict=True)}
        return xp.stack([nodes[node] for node in range(shape.nodes)], axis=1)

    def _draw(self, left: Array, place: Array, randomness: Randomness, lane: Array) -> Array:
        """``int[B, G]``: the next candidate of each of G nodes from what is ``left[B, G, V]`` of its row, or NONE.

        The chain's own token is known and not drawn. ``lane[G]`` is the number of each node.
        """
        xp = namespace(left)
        nothing = one_hot(indices(1, place), left)
        there = xp.any(left > 0, axis=2)
        wanted = there & (lane >= self.window)
        drawn = randomness.draw(xp.where(wanted[..., None], left, nothing), place, Purpose.DRAFT, lane)
        return xp.where(there, drawn, NONE)

    def _pick(
        self, rule: Rule, p: Array, q: Array, candidates: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        """Verify the ``candidates[B, K]`` of a node in turn.

        Returns which of them is kept, ``[B]``, or NONE, and the pmf ``[B, V]`` of the token if it is none.
        """
        xp = namespace(p)
        picked = position * 0 + NONE
        for k in range(candidates.shape[1]):
            x = xp.clip(candidates[:, k], 0, None)
            asked = (picked == NONE) & (candidates[:, k] != NONE)
            probability = xp.where(asked, rule.accept_rows(p, q, x), number(0, p))
            kept = randomness.accept(probability[:, None], position, lane=k)[:, 0]
            picked = xp.where(kept, k, picked)
            rejected = (asked & ~kept)[:, None]
            p = xp.where(rejected, rule.residual_rows(p, q, x), p)
            q = xp.where(rejected, self._rescored(q, x), q)
        return picked, p

    def _left(self, q: Array, x: Array, k: int) -> Array:
        """What the candidate after ``c_{k+1} = x[...]`` is drawn from: q without it."""
        return without(q, x)

    def _rescored(self, q: Array, x: Array) -> Array:
        """The q that the candidate after the rejected ``x[...]`` is scored with: what it was drawn from."""
        return without(q, x)

    def _below(self, children: Array, picked: Array) -> Array:
        """The row ``[B]`` after the candidate that was kept."""
        return at(children, namespace(picked).clip(picked, 0, None)) + 1
