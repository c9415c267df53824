"""SJD whose window is verified as a block, and whose first position has more candidates.

Where the block accepts nothing, which on image models is every second call, siblings of the first draft are tried in
turn with recursive residuals, as :mod:`simlab.decoders.sjd_pd` has them: traversal verification
(:mod:`simlab.decoders.traversal`) of a comb whose only branches are at its root. Siblings are drawn, and their coins
tossed, with noise of their own, and nothing behind them is looked at. So a draft behind follows what it follows in
:mod:`simlab.decoders.sjd_block`, [q - w p]+, whichever of them is accepted, and is coupled as there. Deeper siblings
would be tried where the block stops in front of them, after which it may go on to a shorter prefix: then the weights
are others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from simlab.arrays import grid, namespace, number, slot, slots, splice
from simlab.checks import check_at_least
from simlab.decoders.sjd import SjdState, VerifiedWindow
from simlab.decoders.sjd_block import LOSSLESS, SjdBlock
from simlab.decoders.sjd_pd import SjdPd
from simlab.decoders.tree import Tree
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule


@dataclass(frozen=True)
class SjdBlockTree(SjdBlock):
    """SJD that accepts drafts of its window jointly, with ``candidates`` drafts at its first position.

    Attributes
    ----------
    candidates
        K, the drafts of the first position, >= 1; with 1 it is :class:`SjdBlock`.

    Raises
    ------
    ValueError
        As :class:`SjdBlock` does, or for ``candidates`` below 1.
    """

    candidates: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("candidates", self.candidates, 1)

    @cached_property
    def _siblings(self) -> SjdPd:
        """What draws and verifies the candidates of the first position."""
        return SjdPd(self.window, candidates=self.candidates, depth=1)

    def draft_tree(self) -> Tree:
        return self._siblings.draft_tree()

    def choices(self) -> list[Run]:
        """As of the tree; but of lane 1 coins are tossed for drafts behind, too, which need a run of their own."""
        behind = Run(Purpose.ACCEPT, 1, 0, self.window)
        return [*(run for run in self._siblings.choices() if run[:2] != behind[:2]), behind]

    def verify_window(self, state: SjdState, process: Process, rule: Rule, randomness: Randomness) -> VerifiedWindow:
        """Verify the chain as a block, and the siblings of its first draft where nothing of it is accepted."""
        tokens, length, q = state.tokens, state.length, state.q
        siblings, tree, xp = self._siblings, self.draft_tree(), namespace(q)
        nodes, declared = siblings.draw_tree(tree, state, randomness)
        rows = process.forward_tree(tokens, length, xp.clip(nodes, 0, None), tree.paths.beside(nodes))
        p, x = rows[:, : self.window + 1], slots(tokens, grid(length, self.window))
        accepted, next_pmf = self.verify(rule, p, q, x, randomness, length)

        family = nodes[:, tree.families.nodes.beside(nodes)]  # [B, 1, K], the first draft before its siblings
        probability, residual, _ = siblings.verify_candidates(LOSSLESS, p[:, :1], declared, family)
        none, chosen = accepted == 0, length * 0  # which sibling is accepted, 0 for none
        for k in range(1, self.candidates):
            chance = xp.where(none & (chosen == 0), probability[:, 0, k], number(0, q))
            chosen = xp.where((chance > 0) & randomness.accept(chance[:, None], length, lane=k)[:, 0], k, chosen)
        taken = chosen > 0
        first = xp.where(taken, slot(family[:, 0], chosen), x[:, 0])
        drafts = xp.concat([first[:, None], x[:, 1:]], axis=1)
        next_pmf = xp.where(none[:, None], residual[:, 0], next_pmf)
        next_pmf = xp.where(taken[:, None], slot(rows, xp.where(taken, self.window + chosen, 0)), next_pmf)
        whole = taken | (accepted == self.window)
        return VerifiedWindow(splice(tokens, length, drafts), p, xp.where(taken, 1, accepted), next_pmf, whole)
