"""MARS as its published code verifies the children of one node (github.com/5SSjw/MARS, commit 8909b411bcf6).

``mars/model/utils.py``, ``evaluate_posterior``, when sampling. Where the position is relaxed
(:mod:`simlab.rules.mars`), the first child that is one of the two likeliest tokens is accepted, all others are passed
over, and if there is none the token is drawn from p. Elsewhere a child x is accepted with min(1, p(x)/q(x)), q(x) being
what the draft model gave it, although children are the draft model's likeliest tokens and no draws; after a rejection p
loses q(x) on x alone, and what remains is scaled up: the other tokens keep what q has too much or too little of.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, at, namespace, nonempty, number, one_hot, wide
from simlab.rules.base import acceptance_ratio, every_token, mass
from simlab.rules.mars import Mars


@dataclass(frozen=True)
class MarsReference(Mars):
    """Accept the two likeliest and nothing else where z2/z1 > ``threshold``; elsewhere as the lossless rule does.

    Attributes
    ----------
    normaliser, threshold
        Those of :class:`Mars`.

    Notes
    -----
    The residual is p where the position is relaxed; elsewhere p with max(p(x) - q(x), 0) on the rejected x.
    """

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        (relaxed, two), draft = self.relaxed_rows(p), mass(q, x)
        target = namespace(p).where(relaxed, at(two, x) * draft, mass(p, x))
        return acceptance_ratio(p, target, draft, draft)

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): the two likeliest are found once a row."""
        return self.accept_rows(p[..., None, :], q[..., None, :], every_token(p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        p, q = wide(p), wide(q)
        xp, (relaxed, _) = namespace(p), self.relaxed_rows(p)
        lessened = xp.where(p > q, p - q, number(0, p))
        own = (one_hot(x, p) > 0) & ~relaxed[..., None]
        return nonempty(xp.where(own, lessened, p), p)
