"""Several candidates for one position: how they are drawn, and how they are tried.

``make_candidates(name)`` and ``make_verifier(name, **parameters)`` make one of each by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simlab.candidates.base import NONE, Candidates, Verified, Verifier, drawn_law, verified_law
from simlab.candidates.drawing import Deterministic, Greedy, Independent, WithoutReplacement
from simlab.candidates.greedy import GreedyVerifier
from simlab.candidates.k_seq import KSeq
from simlab.candidates.list_sampling import ListSampling
from simlab.candidates.optimal import Optimal
from simlab.candidates.recursive import Recursive
from simlab.candidates.sample_and_match import SampleAndMatch
from simlab.registry import make

CANDIDATES: dict[str, Callable[..., Candidates]] = {
    "independent": Independent,
    "without-replacement": WithoutReplacement,
    "greedy": Greedy,
    "deterministic": Deterministic,
}
VERIFIERS: dict[str, Callable[..., Verifier]] = {
    "recursive": Recursive,
    "k-seq": KSeq,
    "greedy": GreedyVerifier,
    "optimal": Optimal,
    "list": ListSampling,
    "sample-and-match": SampleAndMatch,
}


def make_candidates(name: str) -> Candidates:
    """The way of drawing candidates called ``name``, a key of ``CANDIDATES``; ``ValueError`` for another."""
    return make("way of drawing candidates", CANDIDATES, name, {})


def make_verifier(name: str, **parameters: Any) -> Verifier:
    """The verifier called ``name``.

    ``name``: a key of ``VERIFIERS``. ``parameters``: the fields of the verifier's class. Raises ``ValueError`` for an
    unknown name or parameter, or a bad value.
    """
    return make("verifier", VERIFIERS, name, parameters)


__all__ = [
    "CANDIDATES",
    "NONE",
    "VERIFIERS",
    "Candidates",
    "Deterministic",
    "Greedy",
    "GreedyVerifier",
    "Independent",
    "KSeq",
    "ListSampling",
    "Optimal",
    "Recursive",
    "SampleAndMatch",
    "Verified",
    "Verifier",
    "WithoutReplacement",
    "drawn_law",
    "make_candidates",
    "make_verifier",
    "verified_law",
]
