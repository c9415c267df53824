"""Proofs about rows, and about one step of a rule of groups or of none, for all rows up to a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import total_variation
from simlab.mutants.rules import RULES, HalfRatio, InvertedRatio, inflated_ratio
from simlab.processes.processors import top_k
from simlab.rules import DynamicGrouped, Grouped, GroupedGroupResidual, Rule, Speculative
from theory.proofs.base import Numbers, Proof, Question, Stated, eq, equal, for_all_rows, ge, gt, le, proof_of_rows
from theory.proofs.settings import HALF, step
from theory.symbolic import Answer, prove_rule

__all__ = ["RULE_PROOFS", "of_rule"]


# Helpers -------------------------------------------------------------------------------------------------------


def partitions(size: int) -> Iterator[tuple[int, ...]]:
    """All partitions of ``size`` tokens into groups, as labels that begin with 0 and leave none out."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(size):
        found = [(*labels, new) for labels in found for new in range(max(labels, default=-1) + 2)]
    yield from found


def rule_asks(that: str, *made: Any, sizes: Sequence[int] = (2, 3), zeros: bool = True) -> tuple[Question, ...]:
    """A statement about each of some rules."""
    return tuple(partial(prove_rule, each, that, sizes=sizes, zeros=zeros) for each in made)


def of_rule(states: Callable[..., Stated], rule: Rule, size: int, statement: str, zeros: bool = True) -> Answer:
    """A statement about a rule and all rows over ``size`` tokens."""
    return for_all_rows(partial(states, rule), {"p": size, "q": size}, type(rule).__name__, statement, zeros)


def masses_of(row: Any, labels: Sequence[int]) -> np.ndarray:
    """The mass of each group."""
    groups = [[x for x, label in enumerate(labels) if label == each] for each in sorted(set(labels))]
    return np.array([sum(row[x] for x in group) for group in groups], dtype=object)


# Statements about a step ---------------------------------------------------------------------------------------


def group_theorem(rule: Any, n: Numbers) -> Stated:
    """Acceptance of groups is 1 - TV of their masses, and at least that of tokens."""
    p, q, _, accepts = step(rule, n)
    shared = total_variation(masses_of(p, rule.labels), masses_of(q, rule.labels))
    return [(accepts, eq, 1 - shared), (accepts, ge, 1 - total_variation(p, q))]


def equality(rule: Any, n: Numbers, one_sided: Callable[[Sequence[Any]], bool] | None = None) -> Stated:
    """Groups gain nothing just where none holds tokens on both sides."""
    p, q, _, accepts = step(rule, n)
    gaps = p - q
    groups = [[gaps[x] for x, label in enumerate(rule.labels) if label == each] for each in set(rule.labels)]
    fits = one_sided or (lambda group: not (any(gap > 0 for gap in group) and any(gap < 0 for gap in group)))
    lossless = 1 - total_variation(p, q)
    return [(accepts, eq if all(map(fits, groups)) else gt, lossless)]


def group_law(rule: Any, n: Numbers) -> Stated:
    """The groups of what is emitted follow p."""
    p, _, law, _ = step(rule, n)
    return equal(masses_of(law, rule.labels), masses_of(p, rule.labels))


def no_impossible(n: Numbers, group: int, window: Any = "printed") -> Stated:
    """No token that p does not have is emitted."""
    _, _, law, _ = step(DynamicGrouped(group, window=window), n)
    return [(mass, eq, 0) for mass, own in zip(law, n["p"], strict=True) if own == 0]


def concentrated(n: Numbers, smaller: bool = True) -> Stated:
    """TV(p, q) <= 1 - min(p(x), q(x)) for every x."""
    apart = total_variation(n["p"], n["q"])
    pick = min if smaller else max
    return [(apart, le, 1 - pick(a, b)) for a, b in zip(n["p"], n["q"], strict=True)]


def products(n: Numbers, share: Fraction = Fraction(1)) -> Stated:
    """TV of two products of rows is at most what 1 - (1 - TV)(1 - TV) allows."""
    a, b, c, d = (n[name] for name in "abcd")
    one = np.array([x * y for x in a for y in b], dtype=object)
    other = np.array([x * y for x in c for y in d], dtype=object)
    kept = (1 - total_variation(a, c)) * (1 - total_variation(b, d))
    return [(total_variation(one, other), le, (1 - kept) * share)]


def filtered_again(n: Numbers, count: int, again: int | None = None) -> Stated:
    """The residual of rows filtered to top-k is its own top-k, where no token ties for the k-th place of the target."""
    falling = sorted(n["p"], reverse=True)
    if count < len(falling) and falling[count - 1] == falling[count]:
        return []
    p, q = (top_k(row, count) for row in (n["p"], n["q"]))
    residual = Speculative().residual_rows(p, q, np.int64(0))
    return equal(top_k(residual, count if again is None else again), residual)


def gumbel_of_two(n: Numbers, half: int = 1) -> Stated:
    """V = 2: the sum of 1 / sum_y max(p(y)/p(x), q(y)/q(x)) is 1 - TV."""
    p, q = n["p"], n["q"]
    both = [x for x in range(len(p)) if p[x] > 0 and q[x] > 0]
    terms = [1 / sum(max(a / p[x], b / q[x]) for a, b in zip(p, q, strict=True)) for x in both]
    return [(sum(terms, p[0] * 0), eq, (1 - total_variation(p, q)) / half)]


# The proofs ----------------------------------------------------------------------------------------------------


def by_partition(kind: Callable[..., Rule], states: Callable[..., Stated], statement: str) -> tuple[Question, ...]:
    """A statement about rules with every partition of two and of three tokens."""
    return tuple(
        partial(of_rule, states, kind(labels), size, statement) for size in (2, 3) for labels in partitions(size)
    )


LOSSLESS = "what is emitted follows p"
GROUPS_THEOREM = "acceptance = 1 - TV of the group masses, and >= 1 - TV(p, q), for every partition"
EQUALITY = "acceptance of groups is 1 - TV(p, q) just where no group holds tokens on both sides"

RULE_PROOFS = (
    Proof(
        "speculative.acceptance",
        ("leviathan.acceptance", "scd.visit", "pac.retention"),
        "speculative sampling accepts 1 - TV(p, q)",
        rule_asks("accepts == alpha", Speculative(), sizes=(2, 3, 4)),
        {
            name: rule_asks("accepts == alpha", rule)[0]
            for name, rule in (("ratio inverted", InvertedRatio()), ("ratio times 1.01", inflated_ratio()))
        },
    ),
    Proof(
        "speculative.lossless",
        ("leviathan.lossless", "sjd.theorem-1.sequence", "pac.theorem-1", "samplers.processors"),
        LOSSLESS,
        rule_asks("lossless", Speculative(), sizes=(2, 3, 4)),
        {name: rule_asks("lossless", rule)[0] for name, rule in RULES.items()},
    ),
    Proof(
        "groups.frontier",
        ("leviathan.frontier", "gsd.naive-lossy.tv"),
        "groups accept at most 1 - TV(p, q) + TV(p, law)",
        rule_asks("accepts <= alpha + tv", *map(Grouped, partitions(3)), sizes=(3,)),
        {"nine tenths of the TV": rule_asks("accepts <= alpha + 9/10 * tv", Grouped((0, 0, 1)), sizes=(3,))[0]},
    ),
    Proof(
        "groups.theorem-1",
        ("gsd.theorem-1", "gsd.expected-ratio.capped", "gsd.dynamic.partition"),
        GROUPS_THEOREM,
        by_partition(Grouped, group_theorem, GROUPS_THEOREM),
        {"half the ratio of group masses": partial(of_rule, group_theorem, HalfRatio((0, 0, 1)), 3, GROUPS_THEOREM)},
    ),
    Proof(
        "groups.equality",
        ("gsd.theorem-1", "gsd.expected-ratio.capped"),
        EQUALITY,
        by_partition(Grouped, equality, EQUALITY),
        {
            "only tokens with p = q count as one side": partial(
                of_rule,
                partial(equality, one_sided=lambda group: all(gap == 0 for gap in group)),
                Grouped((0, 0, 1)),
                3,
                EQUALITY,
            )
        },
    ),
    Proof(
        "groups.group-residual",
        ("gsd.unbiased.group-residual",),
        "with the residual of groups, groups follow p",
        by_partition(GroupedGroupResidual, group_law, "groups follow p"),
        {"the residual of tokens": partial(of_rule, group_law, Grouped((0, 0, 1)), 3, "groups follow p")},
    ),
    proof_of_rows(
        "groups.printed-support",
        ("gsd.support.printed",),
        "GSD's window as printed emits no token of probability 0, for G = 1, 2, 3",
        no_impossible,
        *({"group": group} for group in (1, 2, 3)),
        wrong={"a centred window": {"group": 2, "window": "centred"}},
        wrong_size=3,
    ),
    proof_of_rows(
        "sjd-reference.residual",
        ("sjd-reference.residual",),
        "top-k of the residual of rows filtered to top-k leaves it, without a tie at place k of p, for k = 1, 2",
        filtered_again,
        *({"count": count} for count in (1, 2)),
        wrong={"top-1 of top-2": {"count": 2, "again": 1}},
        wrong_size=3,
    ),
    proof_of_rows(
        "rows.concentrated",
        ("gsd.accumulation",),
        "TV(p, q) <= 1 - min(p(x), q(x)) for every x",
        concentrated,
        wrong={"the larger": {"smaller": False}},
        sizes=(2, 3, 4),
    ),
    proof_of_rows(
        "rows.products",
        ("gsd.compounding",),
        "1 - TV of products >= the product of 1 - TV, for two rows each",
        products,
        wrong={"half of it": {"share": HALF}},
        sizes=(2,),
        rows="abcd",
    ),
    proof_of_rows(
        "rows.gumbel-of-two",
        ("scd.gumbel-repeats",),
        "V = 2: the sum of 1 / sum_y max(p(y)/p(x), q(y)/q(x)) is 1 - TV",
        gumbel_of_two,
        wrong={"three tokens": {}},
        wrong_size=3,
        sizes=(2,),
    ),
)
