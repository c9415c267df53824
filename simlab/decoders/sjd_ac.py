"""Speculative Jacobi decoding with adaptive continuation: SJD-PAC, section 4.2 and Algorithm 1, lines 5 to 16.

SJD draws every draft behind the first rejection again. Adaptive continuation verifies these drafts too, each with its
own coin against the row of this call: an accepted draft stays, a rejected one is replaced from the residual. Either way
the token follows the rule's one-step law for (p, q), for a lossless rule p itself, and that is declared as its q. It is
a draft for the next call, and the same token far more often than one drawn again would be.

It is SJD with the renewal ``maximal`` (:mod:`simlab.decoders.renewal`), and one choice more for lossy rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from simlab.arrays import Array
from simlab.checks import check_choice
from simlab.decoders.renewal import Drafts, Renewal, maximal_by_law
from simlab.decoders.sjd import Sjd
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
        As :class:`Sjd` does, for another ``relabel``, or for ``law`` with another renewal than ``maximal``.
    """

    relabel: Relabel = "target"
    renewal: Renewal = field(default="maximal", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("relabel", self.relabel, get_args(Relabel))
        if self.relabel == "law" and self.renewal != "maximal":
            raise ValueError(f"renewal is {self.renewal!r}; expected 'maximal', whose drafts are relabelled by law")

    def renew(self, drafts: Drafts, rule: Rule, randomness: Randomness) -> tuple[Array, Array]:
        if self.relabel == "law":
            return maximal_by_law(drafts, rule, randomness)
        return super().renew(drafts, rule, randomness)
