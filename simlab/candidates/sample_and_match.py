"""Sample and match: a token from p, accepted if it is one of the candidates, however they were drawn.

The verification of llama.cpp and mlx-lm. It never looks at q, so it is lossless for any candidates, and accepts p(C):
sum p (1 - (1 - q)^K) for K independent ones. For candidates that are certain it is recursive rejection with q = 1, as
in the trees of EAGLE-2.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, namespace, number
from simlab.candidates.base import Candidates, Verified, Verifier, among


@dataclass(frozen=True)
class SampleAndMatch(Verifier):
    """A token from p, whatever the candidates."""

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        accepted = namespace(p).where(among(x, p), p, number(0, p))
        return Verified(accepted, p - accepted)
