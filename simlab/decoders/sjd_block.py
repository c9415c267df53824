"""SJD whose window is verified as a block, and whose drafts behind the accepted ones are coupled all the same.

Block verification (:mod:`simlab.decoders.block`) accepts the most drafts of one chain that any lossless verification
does, but its coins have looked at all of them: a draft behind the accepted ones does not follow its declared q any
more, and the couplings of :mod:`simlab.decoders.renewal` would be biased. What it follows is known. With w_0 = 1 and
w_i = min(1, w_{i-1} p(x_i)/q(x_i)), at least i drafts are accepted with probability w_i given them; and given that
fewer than i are, and what stands to its left, draft i + 1 follows

    q'(x) in proportion to q(x) - min(q(x), w_i p(x)) = [q(x) - w_i p(x)]+.

So it is verified as a draft from q': kept with min(1, p(x)/q'(x)), and else replaced from [p - q']+. Whatever stands
there afterwards has the law p, which is declared. Or it stays as it is, and q' is declared. Far behind, w is small and
q' is q.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from simlab.arrays import Array, at, namespace, normalised, number, wide
from simlab.decoders.block import Block
from simlab.decoders.renewal import Drafts, Renewal, Renewals, maximal
from simlab.decoders.sjd import Sjd
from simlab.randomness import Randomness
from simlab.rules import Rule, Speculative

LOSSLESS = Speculative()


@dataclass(frozen=True)
class SjdBlock(Sjd):
    """SJD that accepts drafts of its window jointly. The rule is not used: this is lossless by itself.

    Attributes
    ----------
    renewal
        How drafts behind the accepted ones are renewed: ``maximal``, ``fresh`` or ``kept``.

    Raises
    ------
    ValueError
        As :class:`Sjd` does, or for another ``renewal``.
    """

    renewals: ClassVar[Renewals] = Renewals(("fresh", "maximal", "kept"))

    renewal: Renewal = field(default="maximal", kw_only=True)

    def verify(
        self, rule: Rule, p: Array, q: Array, x: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        """The longest prefix whose coin comes up, as :meth:`Joint.verify` has it."""
        return Block(self.window).verify(rule, p, q, x, randomness, position)

    def renew(self, drafts: Drafts, rule: Rule, randomness: Randomness) -> tuple[Array, Array]:
        """Drafts behind the accepted ones stay, declared as q', or are verified once more, by coins of their own."""
        if self.renewal != "fresh":
            drafts = drafts._replace(q=self.followed(drafts.p, drafts.q, drafts.x))
        if self.renewal == "maximal":
            return maximal(drafts, LOSSLESS, randomness, lane=1)
        return super().renew(drafts, rule, randomness)

    def followed(self, p: Array, q: Array, x: Array) -> Array:
        """``[B, W, V]``: what drafts follow that are not accepted, given those to their left; q where all are."""
        w, _ = Block(self.window).scales(at(wide(p), x), at(wide(q), x))
        left = wide(q) - w[..., None] * wide(p)
        zero = number(0, left)
        return normalised(namespace(p).where(left > zero, left, zero), wide(q))
