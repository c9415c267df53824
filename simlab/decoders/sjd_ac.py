"""Speculative Jacobi decoding with adaptive continuation: SJD-PAC, section 4.2 and Algorithm 1, lines 5 to 16.

SJD draws every draft behind the first rejection again. Adaptive continuation verifies these drafts too, each with its
own coin against the row of this call: an accepted draft stays, a rejected one is replaced from the residual. Either way
the token follows the rule's one-step law for (p, q), for a lossless rule p itself, and that is declared as its q. It is
a draft for the next call, and the same token far more often than one drawn again would be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from simlab.arrays import Array, full, grid, namespace, one_hot, slots
from simlab.checks import check_choice
from simlab.decoders.sjd import DraftTail, PositionRows, Sjd, SjdState, VerifiedWindow
from simlab.randomness import Randomness
from simlab.rules import Rule

Relabel = Literal["target", "law"]


@dataclass(frozen=True)
class SjdAc(Sjd):
    """SJD that verifies its whole window and replaces only the rejected drafts.

    Attributes
    ----------
    relabel
        Which q is declared for a verified draft: the ``target`` row, as engines do, or the ``law`` of what the rule
        emits. They differ for a lossy rule only, and then only the law is true.

    Raises
    ------
    ValueError
        As :class:`Sjd` does, and for another ``relabel``.
    """

    relabel: Relabel = "target"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("relabel", self.relabel, get_args(Relabel))

    def draft_tail(
        self, state: SjdState, verified: VerifiedWindow, rule: Rule, randomness: Randomness, start: Array
    ) -> DraftTail:
        xp, width = namespace(verified.p), self.window
        p, q, position = verified.p[:, :width], state.q, grid(state.length, width)
        x = slots(state.tokens, position)
        continued = self.continued(position, start)

        # a position has one coin a call: the scan to the first rejection has not used those behind it
        probability = rule.accept_rows(p, q, x)
        accepted = randomness.accept(xp.where(continued, probability, full((1,), 1, p)), state.length)
        drawn = xp.where(accepted[..., None], one_hot(x, p), rule.weights_rows(p, q, x))
        drawn = xp.where(continued[..., None], drawn, p)
        declared = p
        if self.relabel == "law":
            declared = xp.where(continued[..., None], rule.law_rows(p, q), p)
        last = verified.p[:, width:]  # the row after the window has had no draft yet
        return DraftTail(
            PositionRows(xp.concat([drawn, last], axis=1), state.length),
            PositionRows(xp.concat([declared, last], axis=1), state.length),
        )

    def continued(self, position: Array, start: Array) -> Array:
        """``bool[B, W]``: the positions whose drafts are verified further: all that stay in the window."""
        return position >= start[:, None]
