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
from functools import cached_property

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
from simlab.decoders.base import drafts_of, row_after
from simlab.decoders.sjd import Sjd, SjdState, VerifiedWindow
from simlab.decoders.tree import NONE, SHAPES, Shape, Tree, count_nodes, make_tree
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
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
        return self._tree

    @cached_property
    def _tree(self) -> Tree:
        return make_tree(self.tree, self.window, self.candidates, self.depth, self.shared)

    def choices(self) -> list[Run]:
        """Besides those of SJD a coin for every candidate, and the draw of every child."""
        tree = self.draft_tree()
        families = tree.families
        coins = [Run(Purpose.ACCEPT, k, 0, tree.depth) for k in range(1, self.candidates)]
        levels = families.levels.values.tolist()
        draws = [Run(Purpose.DRAFT, *each, 1) for turn in families.turns for each in zip(turn, levels, strict=True)]
        return [*super().choices(), *coins, *draws]

    def verify_window(self, state: SjdState, process: Process, rule: Rule, randomness: Randomness) -> VerifiedWindow:
        """Verify the tree from its root down to the first node without an accepted child, then the chain below it."""
        tokens, length, q = state.tokens, state.length, state.q
        tree, xp = self.draft_tree(), namespace(q)
        depth, width, families = tree.depth, self.window, tree.families

        # draw the tree; one call of the target gives the rows after all of its nodes
        nodes, declared = self.draw_tree(tree, state, randomness)
        rows = process.forward_tree(tokens, length, xp.clip(nodes, 0, None), tree.paths.beside(nodes))
        p, x = rows[:, : width + 1], slots(tokens, grid(length, width))

        # of every parent: how likely each child is accepted once those before are not, and the residual of them all
        candidates = nodes[:, families.nodes.beside(nodes)]
        parents = rows[:, families.rows.beside(nodes)]
        probability, residual, order = self.verify_candidates(rule, parents, declared, candidates)

        # row is the one after the drafts accepted so far; descending while one of its children is accepted
        children, number_of = tree.children.beside(nodes), families.of_row.beside(nodes)
        row, accepted, path = length * 0, length * 0, []
        descending = length >= 0
        for j in range(depth):
            parent = number_of[row]
            verified = descending & (parent != NONE)
            parent = xp.clip(parent, 0, None)
            ratios = xp.where(verified[:, None], slot(probability, parent), number(0, q))
            failed = randomness.accept_first(ratios, length + j)
            descending = failed < self.candidates
            chosen = at(slot(order, parent), xp.clip(failed, 0, self.candidates - 1))
            path.append(xp.where(descending, at(children[row], chosen), j))
            row = xp.where(descending, self.row_below(children[row], chosen), row)
            accepted = accepted + xp.astype(descending, accepted.dtype)
        parent = number_of[row]
        bonus = parent == NONE
        next_pmf = xp.where(bonus[:, None], slot(rows, row), slot(residual, xp.clip(parent, 0, None)))
        drafts = xp.concat([slots(nodes, xp.stack(path, axis=1)), x[:, depth:]], axis=1)

        # the chain goes on below the tree
        if depth < width:
            chain = descending & (row == depth)
            chances = self.chances(rule, p[:, depth:-1], q[:, depth:], x[:, depth:])
            more = randomness.accept_prefix(xp.where(chain[:, None], chances, number(0, q)), length + depth)
            last = row_after(rule, p[:, depth:], q[:, depth:], x[:, depth:], more)
            next_pmf = xp.where(chain[:, None], last, next_pmf)
            bonus = bonus & (~chain | (more == width - depth))
            accepted = accepted + more
        return VerifiedWindow(splice(tokens, length, drafts), p, accepted, next_pmf, bonus)

    def draw_tree(self, tree: Tree, state: SjdState, randomness: Randomness) -> tuple[Array, list[Array]]:
        """Draw the children of all P parents side by side, one after the other without those before.

        Returns the token of every node, ``int[B, M]``, NONE where a row has no more tokens to draw, and for each of the
        K candidates the pmfs ``[B, P, V]`` that are declared for it.
        """
        tokens, length, q = state.tokens, state.length, state.q
        xp, families = namespace(q), tree.families
        chain = slots(tokens, grid(length, self.window))
        levels, on_chain = families.levels.beside(chain), families.on_chain.beside(chain)
        position, known, rows = length[:, None] + levels, chain[:, levels], q[:, levels]

        drawn, drawn_from = [], [rows]
        for k, nodes in enumerate(families.turns):
            pmf = drawn_from[k]
            if k == 0:  # the chain's own token is known
                pmf = xp.where(on_chain[:, None], one_hot(known, rows), rows)
            own = max(nodes) < self.window
            drawn.append(known if own else drafts_of(pmf, position, randomness, nodes))
            if k + 1 < self.candidates:
                drawn_from.append(self.remaining(drawn_from[k], drawn[k], k))

        family = xp.stack(drawn, axis=2)
        declared = self.declared(rows, family, drawn_from)
        if self.shared:
            declared = [each[:, families.group.beside(chain)] for each in declared]
        every = xp.concat([chain, xp.reshape(family, (len(chain), -1))], axis=1)
        return every[:, families.drawn.beside(chain)], declared

    def verify_candidates(
        self, rule: Rule, p: Array, declared: list[Array], candidates: Array
    ) -> tuple[Array, Array, Array]:
        """What becomes of the K candidates of P parents, verified in turn with recursive residuals. Tosses no coin.

        ``p``: ``float[B, P, V]``, the target's rows. ``declared``: for each candidate, ``float[B, P, V]``, the pmf it
        was drawn from. ``candidates``: ``int[B, P, K]``; NONE where there is none.

        Returns the probability ``float[B, P, K]`` that each is accepted once those before it are rejected, the pmf
        ``float[B, P, V]`` of the token if all are, and the number ``int[B, P, K]`` of the candidate at each turn. See
        SJD-PAC, equations 7 and 8.
        """
        xp, probability = namespace(p), []
        for k in range(self.candidates):
            x = xp.clip(candidates[..., k], 0, None)
            there = candidates[..., k] != NONE
            probability.append(xp.where(there, rule.accept_rows(p, declared[k], x), number(0, p)))
            p = xp.where(there[..., None], rule.residual_rows(p, declared[k], x), p)
        turns = 0 * candidates + indices(self.candidates, candidates)
        return xp.stack(probability, axis=2), p, turns

    def remaining(self, q: Array, x: Array, k: int) -> Array:
        """The pmf that the candidate after ``c_{k+1} = x[...]`` is drawn from: q without x."""
        return without(q, x)

    def declared(self, q: Array, candidates: Array, drawn_from: list[Array]) -> list[Array]:
        """The q ``[B, P, V]`` declared for each of the ``candidates[B, P, K]`` of rows q: the pmf it was drawn from."""
        return drawn_from

    def row_below(self, children: Array, chosen: Array) -> Array:
        """The row ``[B]`` after the accepted candidate."""
        return at(children, chosen) + 1
