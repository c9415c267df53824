"""Speculative Jacobi decoding with adaptive continuation: SJD-PAC, section 4.2 and Algorithm 1, lines 5 to 16.

SJD draws every token behind the first rejection anew. Adaptive continuation goes on verifying instead, each token by
its own coin against the rows of this call: a token that passes stays, another is replaced from the residual. What
stands there afterwards follows the rule's output law for (p, q), for a lossless rule p itself, and is declared so. It
is a draft for the next call, and the same token far more often than one drawn anew would be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from simlab.arrays import Array, full, grid, namespace, one_hot, slots
from simlab.checks import check_choice
from simlab.decoders.sjd import Known, Sjd, SjdState, Tail, Verified
from simlab.randomness import Randomness
from simlab.rules import Rule

Relabel = Literal["target", "law"]


@dataclass(frozen=True)
class SjdAc(Sjd):
    """SJD that verifies its whole window and replaces only what is rejected.

    ``relabel`` says which q is declared for a token that went through a verification: the ``target`` row, as engines
    do, or the ``law`` of what the rule emits. They differ for a lossy rule only, and then only the law is true.
    """

    relabel: Relabel = "target"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("relabel", self.relabel, get_args(Relabel))

    def _tail(self, state: SjdState, seen: Verified, rule: Rule, randomness: Randomness, start: Array) -> Tail:
        xp, width = namespace(seen.p), self.window
        p, q, position = seen.p[:, :width], state.q, grid(state.length, width)
        x = slots(state.tokens, position)
        continued = self._continues(position, start)

        # the coin of a position is the one that a scan to the first rejection has left untossed
        probability = rule.accept_rows(p, q, x)
        kept = randomness.accept(xp.where(continued, probability, full((1,), 1, p)), state.length)
        drawn = xp.where(kept[..., None], one_hot(x, p), rule.weights_rows(p, q, x))
        drawn = xp.where(continued[..., None], drawn, p)
        declared = p
        if self.relabel == "law":
            declared = xp.where(continued[..., None], rule.law_rows(p, q), p)
        last = seen.p[:, width:]  # the row after the window has had no draft yet
        return Tail(
            Known(xp.concat([drawn, last], axis=1), state.length),
            Known(xp.concat([declared, last], axis=1), state.length),
        )

    def _continues(self, position: Array, start: Array) -> Array:
        """``bool[B, W]``: the positions whose tokens are verified on; all that stay in the window."""
        return position >= start[:, None]
