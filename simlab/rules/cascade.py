"""A speculative cascade, token by token: the draft decides where the target finds it likely, the target elsewhere.

Narasimhan et al., "Faster cascades via speculative decoding", ICLR 2025 (arXiv 2405.19261), of whose rules this is the
one that compares each token with the target's likeliest. With A the tokens of p at least ``threshold`` times as likely
as the likeliest, the cascade's own law is

    c = q on A, and in place of what q puts off A, p:   c(y) = q(y) 1[y in A] + p(y) q(off A),

and it is decoded without loss against c: accept min(1, c/q), which is 1 on A, residual [c - q]+. What is emitted is c.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, Number, namespace, number, positive_part, total, wide
from simlab.checks import check_number
from simlab.rules.base import RatioRule, acceptance_ratio, mass
from simlab.rules.truncation import likely


@dataclass(frozen=True)
class Cascade(RatioRule):
    """Accept x with min(1, c(x)/q(x)), c the law of a cascade; what is emitted is c.

    Attributes
    ----------
    threshold
        0 to 1; the draft decides on tokens of p at least so many times as likely as the likeliest. 0 accepts
        everything.

    Raises
    ------
    ValueError
        For a ``threshold`` outside [0, 1].

    References
    ----------
    Narasimhan et al., arXiv 2405.19261.
    """

    threshold: Number

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold, most=1)

    def law_of_cascade(self, p: Array, q: Array) -> Array:
        """c, ``[..., V]``. ``p``, ``q``: ``[..., V]``: rows known to be pmfs. Returns ``float[..., V]``."""
        xp, p, q = namespace(p), wide(p), wide(q)
        left, zero = likely(p, self.threshold), number(0, p)
        deferred = total(xp.where(left, zero, q))
        return xp.where(left, q, zero) + p * deferred[..., None]

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return mass(self.law_of_cascade(p, q), x), mass(q, x)

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): c is made once a row."""
        return acceptance_ratio(p, self.law_of_cascade(p, q), wide(q), q)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return positive_part(self.law_of_cascade(p, q), q, fallback=p)

    one_residual = True
