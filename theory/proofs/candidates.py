"""Proofs about several candidates at one position: verifiers emit the target's law, and what sets of them allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from simlab.arrays import at, total_variation
from simlab.candidates import (
    Candidates,
    Deterministic,
    Greedy,
    GreedyVerifier,
    Independent,
    KSeq,
    Optimal,
    Recursive,
    SampleAndMatch,
    Verifier,
    WithoutReplacement,
    verified_law,
)
from simlab.candidates.base import NONE, drawn_law
from simlab.mutants.trees import FromTarget
from simlab.optimum import Sets, candidate_sets, optimal_acceptance, optimal_plan
from simlab.rules import Rule, Speculative
from theory.proofs.base import (
    Comparison,
    Numbers,
    Proof,
    Question,
    Stated,
    eq,
    equal,
    for_all_rows,
    ge,
    gt,
    le,
    proof_of_rows,
    subsets,
)
from theory.symbolic import prove_verifier

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


@dataclass(frozen=True)
class Chosen(Candidates):
    """These tokens, whatever q is."""

    tokens: tuple[int, ...]

    def row(self, q: Any, drawn: Any, last: bool) -> Any:
        point = np.array([q[..., 0].flat[0] * 0 + int(y == self.tokens[drawn.shape[-1]]) for y in range(q.shape[-1])])
        return np.broadcast_to(point, q.shape)


class KeepsImpossible(Speculative):
    """Accepts a token with p = 0."""

    def accept_rows(self, p: Any, q: Any, x: Any) -> Any:
        return np.where(at(p, x) == 0, at(p, x) + 1, super().accept_rows(p, q, x))


def chosen(n: Numbers, missed: int = 0, rule: Rule | None = None) -> Stated:
    """Tokens chosen without chance, in every number and order: p is emitted, and its mass on them is accepted."""
    p, found = n["p"], list[Comparison]()
    for count in range(1, len(p) + 1):
        for order in permutations(range(len(p)), count):
            law = verified_law(Recursive(rule or Speculative()), Chosen(order), p, p, count)
            own = sum((p[x] for x in order[missed:]), p[0] * 0)
            found += [*equal(law.accepted + law.drawn, p), (sum(law.accepted), eq, own)]
    return found


def sets_of(candidates: Candidates, q: Any, count: int) -> Sets:
    """The law of the set of candidates."""
    found: Sets = {}
    for drawn, weight in drawn_law(candidates, q, count).items():
        members = frozenset(drawn) - {NONE}
        found[members] = found.get(members, 0) + weight
    return found


def any_sets(row: Any, size: int, most: int) -> Sets:
    """Any law of sets of 1 to ``most`` tokens."""
    some = (each for each in subsets(size) if 0 < len(each) <= most)
    return {frozenset(each): mass for each, mass in zip(some, row, strict=True)}


def of_sets(
    states: Callable[..., Stated], *sizes: tuple[int, int], rows: str = "p", shares: Sequence[str] = (), **settings: Any
) -> tuple[Question, ...]:
    """A statement about rows over V tokens and any law of sets of 1 to K of them, for each V and K."""
    return tuple(
        partial(
            for_all_rows,
            partial(states, size=size, most=most, **settings),
            dict.fromkeys(rows, size),
            "rows",
            f"sets of at most {most} candidates",
            True,
            shares,
            {"s": sum(1 for each in subsets(size) if 0 < len(each) <= most)},
        )
        for size, most in sizes
    )


def best_flow(n: Numbers, size: int, most: int, cut: Callable[..., Any] = optimal_acceptance) -> Stated:
    """The masses of an optimal plan are possible, and as much as the smallest cut."""
    p, sets = n["p"], any_sets(n["s"], size, most)
    plan = optimal_plan(p, sets)
    whole = sum(plan.values(), p * 0)
    found: list[Comparison] = [(sum(row), le, sets[members]) for members, row in plan.items()]
    found += [(mass, le, own) for mass, own in zip(whole, p, strict=True)]
    found += [(mass, ge, 0) for row in plan.values() for mass in row]
    found += [(row[y], eq, 0) for members, row in plan.items() for y in range(size) if y not in members]
    return [*found, (sum(whole), eq, cut(p, sets))]


def without_last(p: Any, sets: Sets) -> Any:
    """The smallest cut of those without the last token."""
    found = [
        sum((p[y] for y in inside), p[0] * 0) + sum((m for s, m in sets.items() if not s <= set(inside)), p[0] * 0)
        for inside in subsets(len(p) - 1)
    ]
    return min(found)


def frontier_of_sets(n: Numbers, size: int, most: int, share: Fraction = Fraction(1)) -> Stated:
    """What can be accepted of candidates for r is at most what can be for p, and TV(r, p)."""
    sets = any_sets(n["s"], size, most)
    own, other = (optimal_acceptance(n[name], sets) for name in "pr")
    return [(other, le, own + total_variation(n["p"], n["r"]) * share)]


def frontier_reached(n: Numbers, size: int, most: int) -> Stated:
    """Mass that an optimal plan leaves over, moved onto tokens of the sets that have some left."""
    p, sets = n["p"], any_sets(n["s"], size, most)
    plan = optimal_plan(p, sets)
    left = p - sum(plan.values(), p * 0)
    open_, r = sum(left), p.copy()
    if open_ == 0:
        return []
    moved = n["t"] * open_  # any part of 1 - optimum
    r = r - left * n["t"]
    for members, mass in sets.items():
        r[min(members)] = r[min(members)] + (mass - sum(plan[members])) * n["t"]
    best = optimal_acceptance(p, sets)
    return [(total_variation(p, r), eq, moved), (optimal_acceptance(r, sets), eq, best + moved)]


def greedy_best(n: Numbers, count: int, verifier: Verifier | None = None) -> Stated:
    """The verifier of greedy candidates accepts p(T) + sum min(p, q'), as often as is possible."""
    p, q = n["p"], n["q"]
    found = sum(verified_law(verifier or GreedyVerifier(), Greedy(), p, q, count).accepted)
    order = sorted((x for x in range(len(q)) if q[x] > 0), key=lambda x: -q[x])
    top = order[: count - 1]
    rest = [x for x in range(len(q)) if x not in top]
    left = sum((q[x] for x in rest), q[0] * 0)
    wanted = sum((p[x] for x in top), p[0] * 0)
    if left > 0:
        wanted = wanted + sum(min(p[x], q[x] / left) for x in rest)
    return [(found, eq, wanted), (found, eq, optimal_acceptance(p, sets_of(Greedy(), q, count)))]


def replaced(n: Numbers, count: int, fewer: int = 0) -> Stated:
    """For every set of tokens: all candidates are within it no more often without replacement than with it."""
    q = n["q"]
    without, with_ = candidate_sets(q, count - fewer), candidate_sets(q, count, replacement=True)
    found: list[Comparison] = []
    for some in subsets(len(q)):
        one, other = (sum((m for s, m in sets.items() if s <= set(some)), q[0] * 0) for sets in (without, with_))
        found.append((one, le, other))
    return found


K_SMALL = (1, (2, 3)), (2, (2, 3)), (3, (2,))
CANDIDATE_PROOFS = (
    Proof(
        "candidates.lossless",
        ("candidates.lossless",),
        "recursive rejection, greedy candidates and sample and match emit p, for K = 1, 2, and of two tokens 3; "
        "optimal transport of two tokens for K = 1, 2",
        (
            *verifier_asks(Recursive(), Independent(), *K_SMALL),
            *verifier_asks(Recursive(), WithoutReplacement(), *K_SMALL),
            *verifier_asks(GreedyVerifier(), Greedy(), *K_SMALL),
            *verifier_asks(SampleAndMatch(), Independent(), *K_SMALL),
            *verifier_asks(SampleAndMatch(), Deterministic(), *K_SMALL),
            *(
                question
                for drawing in (Independent(), WithoutReplacement(), Greedy())
                for question in verifier_asks(Optimal(), drawing, (1, (2,)), (2, (2,)))
            ),
        ),
        {
            "a draw from p after the last rejection": verifier_asks(FromTarget(), Independent(), (2, (2,)))[0],
            "K-SEQ with rho = 1": verifier_asks(KSeq(rho=1), Independent(), (2, (2,)))[0],
        },
    ),
    Proof(
        "candidates.k-seq",
        ("candidates.k-seq",),
        "K-SEQ with rho = K emits p, for K = 2, and of two tokens 3",
        (
            *verifier_asks(KSeq(rho=2), Independent(), (2, (2, 3))),
            *verifier_asks(KSeq(rho=3), Independent(), (3, (2,))),
        ),
        {"rho = 1": verifier_asks(KSeq(rho=1), Independent(), (2, (2,)))[0]},
    ),
    Proof(
        "candidates.in-turn",
        ("pac.theorem-2",),
        "siblings without replacement, verified in turn, emit p, for K = 1, 2, and of two tokens 3",
        verifier_asks(Recursive(), WithoutReplacement(), *K_SMALL),
        {"a draw from p after the last rejection": verifier_asks(FromTarget(), WithoutReplacement(), (2, (2, 3)))[0]},
    ),
    proof_of_rows(
        "candidates.drafting",
        ("pac.drafting",),
        "siblings without replacement, verified in turn, are accepted with at least 1 - TV(p, q), and with more if "
        "p(x) > q(x) > 0 for some x, for K = 2, 3",
        drafted,
        *({"count": count} for count in (2, 3)),
        wrong={
            "a single draft": {"count": 1},
            "more wherever p and q differ": {"count": 2, "helped": False},
        },
    ),
    proof_of_rows(
        "candidates.sample-and-match",
        ("candidates.sample-and-match",),
        "sample and match accepts sum p (1 - (1 - q)^K), for K = 1, 2, 3",
        matched,
        *({"count": count} for count in (1, 2, 3)),
        wrong={"a candidate more": {"count": 2, "claimed": 3}},
    ),
    proof_of_rows(
        "candidates.chosen",
        ("candidates.eagle-2.posterior",),
        "tokens chosen without chance, verified in turn as point masses: p is emitted, and p(C) accepted, for every "
        "set C of them in every order",
        chosen,
        wrong={
            "a token less": {"missed": 1},
            "candidates with p(x) = 0 accepted": {"rule": KeepsImpossible()},
        },
        rows="p",
    ),
    Proof(
        "candidates.best-flow",
        ("baselines.optimal-candidates", "candidates.lossless"),
        "any law of sets of one and two candidates: an optimal plan is one, and as much as the smallest cut, "
        "which none exceeds",
        of_sets(best_flow, (2, 2), (3, 2)),
        {"cuts without the last token": of_sets(best_flow, (2, 2), cut=without_last)[0]},
    ),
    Proof(
        "candidates.frontier",
        ("baselines.frontier-candidates",),
        "any law of sets of candidates: what can be accepted for r is at most that for p and TV(r, p); V = "
        "2: it is reached",
        (
            *of_sets(frontier_of_sets, (2, 2), (3, 3), rows="pr"),
            *of_sets(frontier_reached, (2, 2), shares=("t",)),
        ),
        {"half the TV": of_sets(frontier_of_sets, (2, 2), rows="pr", share=Fraction(1, 2))[0]},
    ),
    proof_of_rows(
        "candidates.greedy",
        ("candidates.greedy",),
        "greedy candidates are accepted with p(T) + sum min(p, q') off T, as often as is possible, for K = 1, 2",
        greedy_best,
        *({"count": count} for count in (1, 2)),
        wrong={"the candidates in turn": {"count": 2, "verifier": Recursive()}},
        wrong_size=3,
    ),
    proof_of_rows(
        "candidates.replacement",
        ("candidates.replacement",),
        "without replacement all candidates are within a set no more often than with it, so no cut is smaller, for "
        "K = 1, 2, 3",
        replaced,
        *({"count": count} for count in (1, 2, 3)),
        wrong={"one candidate less": {"count": 2, "fewer": 1}},
        rows="q",
    ),
)
