"""SJD-VP: drafts behind a rejection are drawn from a row that favours tokens whose probability rises.

Shan et al., "SJD-VP", arXiv 2603.27115, of which only the abstract could be read: "leverage the change in token
probabilities across iterations to guide sampling, favoring tokens whose probabilities increase". The row is not in it;
here it goes on in the direction of the change, as far again as ``strength`` says:

    s in proportion to [p + strength (p - q)]+,

p the row of this call and q the row declared for the draft that stands there. With s declared it is lossless, as any
row is. Code that changes the draw alone declares p, and is biased by TV(s, p) at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from simlab.arrays import Array, Number, namespace, normalised, number
from simlab.checks import check_choice, check_number
from simlab.decoders.renewal import Drafts, Renewals
from simlab.decoders.sjd import Sjd
from simlab.decoders.sjd_pp import Declared
from simlab.randomness import Randomness
from simlab.rules import Rule


@dataclass(frozen=True)
class SjdVp(Sjd):
    """SJD that draws drafts behind a rejection from [p + ``strength`` (p - q)]+.

    Attributes
    ----------
    strength
        How far the row goes on in the direction of its change, >= 0; 0 is SJD.
    declared
        Which row is declared for them: ``drawn``, or ``newest``, the row p.

    Raises
    ------
    ValueError
        As :class:`Sjd` does, for a ``strength`` below 0, another ``declared``, or a renewal, which this is one of.
    """

    renewals: ClassVar[Renewals] = Renewals(("fresh",), "this draw is a renewal of its own")

    strength: Number = 0.5
    declared: Declared = "drawn"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("strength", self.strength)
        check_choice("declared", self.declared, get_args(Declared))

    @property
    def lossless(self) -> bool:
        return self.declared == "drawn"

    def renew(self, drafts: Drafts, rule: Rule, randomness: Randomness) -> tuple[Array, Array]:
        """Drafts that stay in the window are drawn from s."""
        p, q, _, behind, _ = drafts
        xp, zero = namespace(p), number(0, p)
        further = p + number(self.strength, p) * (p - q)
        s = normalised(xp.where(further > zero, further, zero), p)
        drawn = xp.astype(xp.where(behind[..., None], s, p), p.dtype)
        return drawn, drawn if self.declared == "drawn" else p
