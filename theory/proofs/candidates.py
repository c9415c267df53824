"""Proofs about several candidates at one position: verifiers as they are emit the target's law."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from simlab.arrays import total_variation
from simlab.candidates import (
    Candidates,
    Deterministic,
    Greedy,
    GreedyVerifier,
    Independent,
    KSeq,
    Recursive,
    SampleAndMatch,
    Verifier,
    WithoutReplacement,
    verified_law,
)
from simlab.mutants.trees import FromTarget
from theory.proofs.base import Numbers, Proof, Question, Stated, eq, equal, ge, gt, rows_asks
from theory.symbolic import prove_verifier

BOTH, THREE = {"p": 2, "q": 2}, {"p": 3, "q": 3}

__all__ = ["CANDIDATE_PROOFS"]


def verifier_asks(
    verifier: Verifier, candidates: Candidates, *sized: tuple[int, Sequence[int]]
) -> tuple[Question, ...]:
    """That a verifier is lossless, for each K and its V."""
    return tuple(
        partial(prove_verifier, verifier, candidates=candidates, count=count, sizes=sizes) for count, sizes in sized
    )


def matched(n: Numbers, count: int, claimed: int | None = None) -> Stated:
    """Sample and match accepts sum p (1 - (1 - q)^K)."""
    found = verified_law(SampleAndMatch(), Independent(), n["p"], n["q"], count)
    power = count if claimed is None else claimed
    wanted = sum(a * (1 - (1 - b) ** power) for a, b in zip(n["p"], n["q"], strict=True))
    return [(sum(found.accepted), eq, wanted)]


def drafted(n: Numbers, count: int, helped: bool = True) -> Stated:
    """Candidates in turn: accepted as often as one draft, and more often where p(x) > q(x) > 0 for some x."""
    p, q = n["p"], n["q"]
    found = sum(verified_law(Recursive(), WithoutReplacement(), p, q, count).accepted)
    more = any(a > b > 0 for a, b in zip(p, q, strict=True)) if helped else any(p != q)
    return [(found, gt if more else ge, 1 - total_variation(p, q))]


def likeliest(n: Numbers, count: int, more: int = 0) -> Stated:
    """EAGLE-2's node accepts with the mass that p has on the K likeliest tokens of q."""
    p, q = n["p"], n["q"]
    found = verified_law(Recursive(), Deterministic(), p, q, count)
    order = sorted(range(len(q)), key=lambda x: -q[x])
    return [
        *equal(found.accepted + found.drawn, p),
        (sum(found.accepted), eq, sum(p[x] for x in order[: count + more])),
    ]


K_SMALL = (1, (2, 3)), (2, (2, 3)), (3, (2,))
CANDIDATE_PROOFS = (
    Proof(
        "candidates.lossless",
        ("candidates.lossless",),
        "recursive rejection, greedy candidates and sample and match emit p; optimal transport for V = 2",
        (
            *verifier_asks(Recursive(), Independent(), *K_SMALL),
            *verifier_asks(Recursive(), WithoutReplacement(), *K_SMALL),
            *verifier_asks(GreedyVerifier(), Greedy(), *K_SMALL),
            *verifier_asks(SampleAndMatch(), Independent(), *K_SMALL),
            *verifier_asks(SampleAndMatch(), Deterministic(), *K_SMALL),
        ),
        {
            "a draw from p after the last rejection": verifier_asks(FromTarget(), Independent(), (2, (2,)))[0],
            "K-SEQ with rho = 1": verifier_asks(KSeq(rho=1), Independent(), (2, (2,)))[0],
        },
    ),
    Proof(
        "candidates.k-seq",
        ("candidates.k-seq",),
        "K-SEQ with rho = K emits p",
        (
            *verifier_asks(KSeq(rho=2), Independent(), (2, (2, 3))),
            *verifier_asks(KSeq(rho=3), Independent(), (3, (2,))),
        ),
        {"rho = 1": verifier_asks(KSeq(rho=1), Independent(), (2, (2,)))[0]},
    ),
    Proof(
        "candidates.in-turn",
        ("pac.theorem-2",),
        "siblings without replacement, verified in turn, emit p",
        verifier_asks(Recursive(), WithoutReplacement(), *K_SMALL),
        {"a draw from p after the last rejection": verifier_asks(FromTarget(), WithoutReplacement(), (2, (2, 3)))[0]},
    ),
    Proof(
        "candidates.drafting",
        ("pac.drafting",),
        "siblings without replacement, verified in turn, are accepted with at least 1 - TV(p, q), and with more if "
        "p(x) > q(x) > 0 for some x",
        tuple(
            question for count in (2, 3) for question in rows_asks(drafted, f"K = {count}", BOTH, THREE, count=count)
        ),
        {
            "a single draft": rows_asks(drafted, "K = 1", BOTH, count=1)[0],
            "more wherever p and q differ": rows_asks(drafted, "K = 2", BOTH, count=2, helped=False)[0],
        },
    ),
    Proof(
        "candidates.sample-and-match",
        ("candidates.sample-and-match",),
        "sample and match accepts sum p (1 - (1 - q)^K)",
        tuple(
            question for count in (1, 2, 3) for question in rows_asks(matched, f"K = {count}", BOTH, THREE, count=count)
        ),
        {"a candidate more": rows_asks(matched, "K = 2", BOTH, count=2, claimed=3)[0]},
    ),
    Proof(
        "candidates.likeliest",
        ("candidates.eagle-2.posterior",),
        "a node of EAGLE-2 emits p, and accepts with p's mass on the K likeliest of q",
        tuple(
            question
            for count in (1, 2)
            for question in rows_asks(likeliest, f"K = {count}", BOTH, THREE, zeros=False, count=count)
        ),
        {"a token more": rows_asks(likeliest, "K = 1", THREE, count=1, more=1)[0]},
    ),
)
