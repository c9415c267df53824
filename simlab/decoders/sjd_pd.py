"""Speculative Jacobi decoding with proactive drafting: SJD-PAC, section 4.1 and appendix A.3.

The drafts form a tree: the first positions of the window have K candidates each, drawn without replacement from the row
that SJD draws one draft from. c_1 is the draft of the window, c_2 is drawn from the same row without c_1, and so on.
They are verified in turn with recursive residuals (equations 7 and 8),

    p^(1) = p,   q^(1) = q,   p^(k+1) = residual(p^(k), q^(k), c_k),   q^(k+1) = q^(k) without c_k,

so that the token after any accepted path has the right law (:mod:`simlab.decoders.tree` has the shapes of trees). When
a candidate other than the window's own is accepted, the rows of the chain behind it were computed for other tokens;
they remain the rows that the next drafts are drawn from.

Algorithm 1 of the paper makes a tree only after a rejection. Here every call has one, of one shape: at the first call,
and after a window that was accepted whole, its candidates come from the rows that new positions start with.

The window's state is that of SJD. The other candidates depend on nothing but the rows declared for it, so they are
drawn right before the next call, and are no part of the state.
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
from simlab.decoders.sjd import Sjd, SjdState, VerifiedWindow
from simlab.decoders.tree import NONE, SHAPES, Shape, Tree, count_nodes, make_tree
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.rules import Rule


@dataclass(frozen=True)
class SjdPd(Sjd):
    """SJD with ``candidates`` drafts for each node at the first ``depth`` positions of the window.

    Attributes
    ----------
    candidates
        K, the drafts of a node, >= 1.
    depth
        The positions that have K candidates, >= 1; cut at the window, the length of the chain.
    tree
        The shape of the tree, one of ``SHAPES``.
    budget
        The most nodes the tree may have, >= 1; ``None``: any number.
    shared
        Whether all nodes of one position have the same candidates.

    Raises
    ------
    ValueError
        For a value outside its range, or a tree of more nodes than ``budget``.

    Notes
    -----
    With ``bonus`` a token follows every path that ends without a rejection, from the row after it.

    References
    ----------
    SJD-PAC, section 4.1, appendix A.3, equations 7 and 8.
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

    def draft_tree(self) -> Tree:
        return make_tree(self.tree, self.window, self.candidates, self.depth)

    def verify_window(self, state: SjdState, process: Process, rule: Rule, randomness: Randomness) -> VerifiedWindow:
        """Verify the tree from its root down to the first node without an accepted child, then the chain below it."""
        tokens, length, q, _ = state
        tree, xp = self.draft_tree(), namespace(q)
        depth, width = tree.depth, self.window

        # draw the tree; one call of the target gives the rows after all of its nodes
        nodes = self.expand_tree(tree, state, randomness)
        rows = process.forward_tree(tokens, length, xp.clip(nodes, 0, None), tree.paths.beside(nodes))
        p, x = rows[:, : width + 1], slots(tokens, grid(length, width))

        # row is the one after the drafts accepted so far; descending while one of its children is accepted
        row, accepted, next_pmf, bonus = length * 0, length * 0, rows[:, 0], length < 0
        descending, path = ~bonus, []
        for j in range(depth):
            children = tree.children.beside(nodes)[row]
            candidates = xp.where(children == NONE, NONE, slots(nodes, xp.clip(children, 0, None)))
            candidates = xp.where(descending[:, None], candidates, NONE)
            chosen, residual = self.verify_candidates(
                rule, slot(rows, row), q[:, j], candidates, randomness, length + j
            )
            found = chosen != NONE
            path.append(xp.where(found, at(candidates, xp.clip(chosen, 0, None)), x[:, j]))
            next_pmf = xp.where((descending & ~found)[:, None], residual, next_pmf)
            bonus = bonus | (descending & (children[:, 0] == NONE))
            descending = found
            row = xp.where(found, self.row_below(children, chosen), row)
            accepted = accepted + xp.astype(found, accepted.dtype)
        next_pmf, bonus = xp.where(descending[:, None], slot(rows, row), next_pmf), bonus | descending

        # the chain goes on below the tree
        if depth < width:
            chain = descending & (row == depth)
            more, last = self.verify(rule, p[:, depth:], q[:, depth:], x[:, depth:], randomness, length + depth, chain)
            next_pmf = xp.where(chain[:, None], last, next_pmf)
            bonus = bonus & (~chain | (more == width - depth))
            accepted = accepted + more
        drafts = xp.concat([xp.stack(path, axis=1), x[:, depth:]], axis=1)
        return VerifiedWindow(splice(tokens, length, drafts), p, accepted, next_pmf, bonus)

    def expand_tree(self, tree: Tree, state: SjdState, randomness: Randomness) -> Array:
        """``int[B, M]``: the token of every node, NONE where a row has no more tokens to draw."""
        tokens, length, q, _ = state
        xp = namespace(q)
        chain = slots(tokens, grid(length, self.window))
        nodes = {j: chain[:, j] for j in range(self.window)}
        for j, parents in enumerate(tree.parents):
            drawn_for = parents[:1] if self.shared else parents
            remaining = xp.broadcast_to(q[:, j : j + 1], (q.shape[0], len(drawn_for), q.shape[2]))
            position = xp.broadcast_to((length + j)[:, None], (q.shape[0], len(drawn_for)))
            for k in range(self.candidates):
                group = [int(tree.children.values[row, k]) for row in drawn_for]
                known = [nodes[node] for node in group if node < self.window]
                lane = tree.lanes[j][k].beside(position)[: len(group)]
                drawn = self.draw_candidates(remaining, position, randomness, lane)
                drawn = xp.concat([*(token[:, None] for token in known), drawn[:, len(known) :]], axis=1)
                nodes |= {node: drawn[:, g] for g, node in enumerate(group)}
                remaining = self.remaining(remaining, drawn, k)
            for row in parents[len(drawn_for) :]:
                nodes |= {int(n): nodes[int(c)] for n, c in zip(*tree.children.values[[row, parents[0]]], strict=True)}
        return xp.stack([nodes[node] for node in range(tree.nodes)], axis=1)

    def draw_candidates(self, remaining: Array, position: Array, randomness: Randomness, lane: Array) -> Array:
        """``int[B, G]``: the next candidate at each of G nodes, from the ``remaining[B, G, V]`` of its row, or NONE.

        The chain's own token is known and not drawn. ``lane[G]`` is the number of each node.
        """
        xp = namespace(remaining)
        nothing = one_hot(indices(1, position), remaining)
        possible = xp.any(remaining > 0, axis=2)
        wanted = possible & (lane >= self.window)
        drawn = randomness.draw(xp.where(wanted[..., None], remaining, nothing), position, Purpose.DRAFT, lane)
        return xp.where(possible, drawn, NONE)

    def verify_candidates(
        self, rule: Rule, p: Array, q: Array, candidates: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        """Verify the candidates of a node in turn with recursive residuals.

        Parameters
        ----------
        rule
            The verification rule.
        p, q
            ``float[B, V]``: the rows of target and draft.
        candidates
            ``int[B, K]``; NONE where there is none.
        randomness
            Where the coins come from, one lane a candidate.
        position
            ``int[B]``.

        Returns
        -------
        tuple
            The index ``int[B]`` of the accepted candidate, or NONE, and the pmf ``float[B, V]`` of the token
            if there is none.

        References
        ----------
        SJD-PAC, equations 7 and 8.
        """
        xp = namespace(p)
        chosen = position * 0 + NONE
        for k in range(candidates.shape[1]):
            x = xp.clip(candidates[:, k], 0, None)
            verified = (chosen == NONE) & (candidates[:, k] != NONE)
            probability = xp.where(verified, rule.accept_rows(p, q, x), number(0, p))
            accepted = randomness.accept(probability[:, None], position, lane=k)[:, 0]
            chosen = xp.where(accepted, k, chosen)
            rejected = (verified & ~accepted)[:, None]
            p = xp.where(rejected, rule.residual_rows(p, q, x), p)
            q = xp.where(rejected, self.declared_remaining(q, x), q)
        return chosen, p

    def remaining(self, q: Array, x: Array, k: int) -> Array:
        """The pmf that the candidate after ``c_{k+1} = x[...]`` is drawn from: q without x."""
        return without(q, x)

    def declared_remaining(self, q: Array, x: Array) -> Array:
        """The q declared for the candidate after the rejected ``x[...]``: the pmf it was drawn from."""
        return without(q, x)

    def row_below(self, children: Array, chosen: Array) -> Array:
        """The row ``[B]`` after the accepted candidate."""
        return at(children, namespace(chosen).clip(chosen, 0, None)) + 1
