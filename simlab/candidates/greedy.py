"""The verifier of greedy candidates: the last by speculative sampling, and the others where the residual hits them.

Hu et al., arXiv 2502.18779. T are the K - 1 likeliest tokens of q, the last candidate x follows q', what is left of q
off T. x is accepted with min(1, p(x)/q'(x)), else a token is drawn from [p - q']+; one in T is accepted, as it has a
node of its own. It accepts p(T) + sum_{off T} min(p, q'), as often as any lossless method can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simlab.arrays import Array, namespace, number
from simlab.candidates.base import Candidates, Verified, Verifier, among
from simlab.candidates.drawing import Greedy
from simlab.candidates.recursive import Recursive


@dataclass(frozen=True)
class GreedyVerifier(Verifier):
    """Speculative sampling of the last candidate; a token drawn that is one of the others is accepted."""

    takes: ClassVar[tuple[type[Candidates], ...]] = (Greedy,)

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        row = candidates.row(q, x[..., :-1], last=True)
        accepted, drawn = Recursive().verify(p, row, x[..., -1:], candidates)
        matched = namespace(p).where(among(x, p), drawn, number(0, p))
        return Verified(accepted + matched, drawn - matched)
