"""A static tree of drafts verified from the root down, with any candidates and any verifier of them.

EAGLE's static tree (arXiv 2401.15077) and LANTERN++'s (arXiv 2502.06352), both with children drawn without
replacement and recursive rejection. From the root down the verifier of a node's candidates emits a token; while it is
one of them, its node is the next. A token that is drawn, not accepted, may be a candidate all the same: it has the law
it should have, and a node.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simlab.arrays import Array, namespace, one_hot, slot, slots
from simlab.candidates import CANDIDATES, Candidates, Verifier, make_candidates, make_verifier
from simlab.checks import check_choice
from simlab.decoders.draft_tree import DraftTree, Verified
from simlab.decoders.tree import NONE
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule

DRAWN = 1  # the lane of what a verifier emits


@dataclass(frozen=True)
class CandidateTree(DraftTree):
    """A tree of candidates, verified from root to leaf. The rule is not used.

    Attributes
    ----------
    branching
        How many candidates a node of each level has, each >= 1; or the nodes, or the name of a published tree
        (:mod:`simlab.decoders.levels`).
    candidates
        How they are drawn: a name of :data:`simlab.candidates.CANDIDATES`.
    verifier
        How they are tried: a name of :data:`simlab.candidates.VERIFIERS`; ``optimal`` and ``list`` are for few tokens.

    Raises
    ------
    ValueError
        For a branching that is no tree, an unknown name, or a verifier that is not made for such candidates.
    """

    replacement: bool = field(init=False, repr=False, default=True)  # said by the candidates
    candidates: str = "without-replacement"
    verifier: str = "recursive"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("candidates", self.candidates, tuple(CANDIDATES))
        self.trying.check_takes(self.drawing)

    @property
    def drawing(self) -> Candidates:
        return make_candidates(self.candidates)

    @property
    def trying(self) -> Verifier:
        return make_verifier(self.verifier)

    @property
    def lossless(self) -> bool:
        return self.trying.lossless

    def sibling_row(self, q: Array, before: Array, last: bool) -> Array:
        return self.drawing.row(q, before, last)

    def verify_tree(
        self, rule: Rule, p: Array, q: Array, nodes: Array, randomness: Randomness, position: Array
    ) -> Verified:
        """Go down from the root as long as the token that is emitted has a node.

        ``rule``: not used. ``p``, ``q``, ``nodes``, ``randomness``, ``position``: as in :meth:`DraftTree.verify_tree`.
        Returns the row after the accepted path, and the token, as weights.
        """
        xp, levels = namespace(p), self.levels
        children, nothing = levels.children.beside(nodes), one_hot(position * 0, p)
        row, going = position * 0, position >= 0
        stopped, emitted = ~going, nothing
        for level, families in enumerate(levels.families):
            family = children[row]
            count = xp.sum(xp.astype(family != NONE, row.dtype), axis=1)
            trying, law = going & (count > 0), nothing  # for a node without children nothing is chosen
            for each in families:
                here = trying & (count == each.count)
                at = xp.where(here, row, each.rows[0])
                x = slots(nodes, children[at][:, : each.count])
                made = sum(self.trying.verify(slot(p, at), slot(q, at), x, self.drawing))
                law = xp.where(here[:, None], made, law)
            token = randomness.draw(law[:, None], position + level, Purpose.TARGET, DRAWN)
            found = (family != NONE) & (slots(nodes, xp.clip(family, 0, None)) == token) & trying[:, None]
            going = xp.any(found, axis=1)
            missed = trying & ~going
            stopped, emitted = stopped | missed, xp.where(missed[:, None], one_hot(token[:, 0], p), emitted)
            row = xp.where(going, slot(family, xp.argmax(xp.astype(found, row.dtype), axis=1)) + 1, row)
        return Verified(row, xp.where(stopped[:, None], emitted, slot(p, row)))

    def choices(self) -> list[Run]:
        """Besides those of the tree what is emitted after each level."""
        return [*super().choices(), Run(Purpose.TARGET, DRAWN, 0, self.levels.depth)]
