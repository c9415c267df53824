"""SJD++: drafts behind a rejection that the target has come to like are reused, the others drawn again.

Teng et al., "SJD++", arXiv 2512.07503, of which only the abstract could be read: it "reuses high-confidence draft
tokens after each verification phase instead of resampling them all". What confidence is, and which row a reused token
carries, is taken from an implementation by others that names the paper's equations (phymhan/nanochat at 9acce2c,
scripts/demo_sjd_nanochat.py): a draft x is reused where p(x)/q(x) > tau, and every draft is declared with the row of
this call. With that row it is biased: a draft that stays because it is likely does not follow it. Drafts follow

    r(y) = q(y) 1[p(y) > tau q(y)] + p(y) sum over x of q(x) 1[p(x) <= tau q(x)],

given what stands to their left, and with r declared it is lossless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from simlab.arrays import Array, Number, at, namespace, number, one_hot, total, wide
from simlab.checks import check_choice, check_number
from simlab.decoders.renewal import Drafts, Renewals
from simlab.decoders.sjd import Sjd
from simlab.randomness import Randomness
from simlab.rules import Rule

Declared = Literal["drawn", "newest"]


@dataclass(frozen=True)
class SjdPp(Sjd):
    """SJD that keeps a draft behind a rejection where p(x) > ``tau`` q(x).

    Attributes
    ----------
    tau
        The ratio above which a draft is reused, >= 0.
    declared
        Which row is declared for the drafts that stay in the window: ``drawn``, the row r that they follow; or
        ``newest``, that of this call, as code for it does.

    Raises
    ------
    ValueError
        As :class:`Sjd` does, for a ``tau`` below 0, another ``declared``, or a renewal, which this is one of.
    """

    renewals: ClassVar[Renewals] = Renewals(("fresh",), "reuse is a renewal of its own")

    tau: Number = 0.5
    declared: Declared = "drawn"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("tau", self.tau)
        check_choice("declared", self.declared, get_args(Declared))

    @property
    def lossless(self) -> bool:
        return self.declared == "drawn"

    def renew(self, drafts: Drafts, rule: Rule, randomness: Randomness) -> tuple[Array, Array]:
        """A draft is reused, or drawn from the row of this call."""
        p, q, x, behind, _ = drafts
        xp, zero = namespace(p), number(0, p)
        liked = wide(p) > number(self.tau, p) * wide(q)  # [B, W, V]
        reused = behind & at(liked, x)
        drawn = xp.where(reused[..., None], one_hot(x, p), p)
        if self.declared == "newest":
            return drawn, p
        followed = xp.where(liked, q, zero) + p * total(xp.where(liked, zero, q))[..., None]
        return drawn, xp.where(behind[..., None], followed, p)
