"""How often verifiers of candidates accept."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from simlab.arrays import Number, is_exact
from simlab.candidates import Candidates, Greedy, Independent, WithoutReplacement, make_verifier, verified_law
from simlab.checks import as_pair


def verifier_acceptance(name: str, p: Any, q: Any, candidates: int, replacement: bool = False) -> Number:
    """How often a verifier accepts one of K candidates from q; exact for exact rows, but where K-SEQ's rho is not.

    ``replacement`` is for the verifiers that take candidates drawn either way.
    """
    p, q = as_pair(p, q)
    verifier = make_verifier(name)
    ways: tuple[Candidates, ...] = (Independent() if replacement else WithoutReplacement(), Independent(), Greedy())
    way = next(way for way in ways if isinstance(way, verifier.takes))
    accepted = verified_law(verifier, way, p, q, candidates).accepted.sum()
    return Fraction(accepted) if is_exact(p) else float(accepted)
