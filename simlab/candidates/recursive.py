"""Recursive rejection: the candidates one after the other by a rule, what is left of p after each that is rejected.

SpecInfer, Miao et al., arXiv 2305.09781; without replacement SJD-PAC, appendix A.3. Candidate x_k, drawn from q_k, is
accepted by the rule for the pair p_k, q_k with p_1 = p; once it is rejected p_{k+1} is the rule's residual, and after
the last a token is drawn from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simlab.arrays import Array, namespace, number, one_hot
from simlab.candidates.base import Candidates, Verified, Verifier
from simlab.rules import Rule, Speculative


@dataclass(frozen=True)
class Recursive(Verifier):
    """Candidates in turn, with recursive residuals."""

    # how each of them is verified; speculative sampling, which makes it lossless, if it is not said
    rule: Rule = field(default_factory=Speculative)

    @property
    def lossless(self) -> bool:
        return isinstance(self.rule, Speculative)

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        xp, one, zero = namespace(p), number(1, p), number(0, p)
        left, accepted = p, p * zero
        reached = p[..., 0] * zero + one  # the probability that all before were rejected
        for k in range(x.shape[-1]):
            row = candidates.row(q, x[..., :k], last=k == x.shape[-1] - 1)
            there = x[..., k] >= 0
            token = xp.where(there, x[..., k], 0)
            keep = xp.where(there, self.rule.accept_rows(left, row, token), zero)
            accepted = accepted + (reached * keep)[..., None] * one_hot(token, p)
            reached = reached * (one - keep)
            left = xp.where(there[..., None], self.rule.residual_rows(left, row, token), left)
        return Verified(accepted, reached[..., None] * left)
