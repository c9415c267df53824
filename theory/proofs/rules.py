"""Proofs about one step of a rule, for all rows up to a size: the rule as it is, at settings that are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import total_variation
from simlab.mutants.rules import RULES, HalfRatio, InvertedRatio, OneNeighbourMore, UpToDelta, WithoutSelf
from simlab.rules import (
    Addition,
    Amplify,
    Fuzzy,
    Grouped,
    GroupedGroupResidual,
    Lantern,
    LanternMultiplicative,
    Lenience,
    Mixture,
    OptimalLossy,
    Rule,
    Speculative,
    Truncation,
)
from simlab.rules.truncation import likely
from theory.proofs.base import Numbers, Proof, Question, Stated, eq, equal, for_all_rows, ge, gt, le, lt, proof_of_rows
from theory.symbolic import Answer, prove_rule

TENTH, HALF = Fraction(1, 10), Fraction(1, 2)

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


def of_rules(
    states: Callable[..., Stated], statement: str, rules: Sequence[Rule], sizes: Sequence[int] = (2, 3)
) -> tuple[Question, ...]:
    """The same for each of some rules and sizes."""
    return tuple(partial(of_rule, states, rule, size, statement) for size in sizes for rule in rules)


def proof_of_rules(
    name: str,
    claims: tuple[str, ...],
    statement: str,
    states: Callable[..., Stated],
    *rules: Rule,
    wrong: Mapping[str, Rule],
    sizes: Sequence[int] = (2, 3),
) -> Proof:
    """A proof that a statement is true of rules, and false of those that are ``wrong``, at the first of the sizes."""
    others = {told: partial(of_rule, states, rule, sizes[0], statement) for told, rule in wrong.items()}
    return Proof(name, claims, statement, of_rules(states, statement, rules, sizes), others)


def step(rule: Rule, n: Numbers) -> tuple[Any, Any, Any, Any]:
    """Both rows, the law of a step, and its acceptance."""
    found = rule.step_rows(n["p"][None], n["q"][None])
    return n["p"], n["q"], found.law[0], found.acceptance[0]


def masses_of(row: Any, labels: Sequence[int]) -> np.ndarray:
    """The mass of each group."""
    groups = [[x for x, label in enumerate(labels) if label == each] for each in sorted(set(labels))]
    return np.array([sum(row[x] for x in group) for group in groups], dtype=object)


def neighbours(size: int) -> list[list[list[int]]]:
    """A few lists of neighbours over ``size`` tokens: none, all in both orders, and a pair."""
    everyone = [[y for y in range(size) if y != x] for x in range(size)]
    return [everyone, [row[::-1] for row in everyone], [[1], [0], *([] for _ in range(size - 2))]]


def each_draft(rule: Any, n: Numbers) -> tuple[Any, Any, Any]:
    """p and q once for every token that could be drafted, and these tokens."""
    p, q = n["p"], n["q"]
    size = len(p)
    return np.array([p] * size, dtype=object), np.array([q] * size, dtype=object), np.arange(size)


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


def law_below(rule: Any, n: Numbers, factor: Fraction) -> Stated:
    """No token is emitted more often than ``factor`` times p."""
    p, _, law, _ = step(rule, n)
    return [*((mass, le, own * factor) for mass, own in zip(law, p, strict=True))]


def law_and_tv_below(rule: Any, n: Numbers, factor: Fraction) -> Stated:
    """The same, and TV is at most 1 - 1/factor."""
    p, _, law, _ = step(rule, n)
    return [*law_below(rule, n, factor), (total_variation(law, p), le, 1 - 1 / factor)]


def law_between(rule: Any, n: Numbers) -> Stated:
    """No token is emitted more often than the larger of p and q."""
    p, q, law, _ = step(rule, n)
    return [(mass, le, max(a, b)) for mass, a, b in zip(law, p, q, strict=True)]


def sure_where_small(rule: Any, n: Numbers, epsilon: Fraction) -> Stated:
    """Where q <= epsilon everywhere, drafts are kept and q comes out."""
    _, q, law, accepts = step(rule, n)
    if not all(mass <= epsilon for mass in q):
        return []
    return [(accepts, eq, 1), *equal(law, q)]


def relaxed(rule: Any, n: Numbers) -> Stated:
    """No token is accepted less often than by the lossless rule."""
    rows = each_draft(rule, n)
    return [(a, ge, b) for a, b in zip(rule.accept_rows(*rows), Speculative().accept_rows(*rows), strict=True)]


def within_bound(rule: Any, n: Numbers) -> Stated:
    """The conditional target of each drafted token is within delta."""
    p, _, x = each_draft(rule, n)
    moved = rule.conditional_rows(p, x)
    return [(total_variation(row, own), lt, Fraction(rule.delta)) for row, own in zip(moved, p, strict=True)]


def gains_less(rule: Any, n: Numbers) -> Stated:
    """Under a draft that is certain, a token is accepted less than delta more often than p has it."""
    p, _, x = each_draft(rule, n)
    certain = np.array([[1 if y == each else 0 for y in x] for each in x], dtype=object) + p * 0
    found = rule.accept_rows(p, certain, x)
    return [(accepts, lt, row[each] + Fraction(rule.delta)) for accepts, row, each in zip(found, p, x, strict=True)]


def mended_budget(rule: Any, n: Numbers, budget: Fraction) -> Stated:
    """TV is the budget, or TV(p, q) if that is less, and acceptance is what such a TV buys."""
    p, q, law, accepts = step(rule, n)
    apart = total_variation(p, q)
    spent = min(apart, budget)
    return [(total_variation(p, law), eq, spent), (accepts, eq, min(1 - apart + spent, 1))]


def mixed(rule: Any, n: Numbers, weight: Fraction) -> Stated:
    """The law is a mixture, and acceptance 1 - w TV(p, q)."""
    p, q, law, accepts = step(rule, n)
    return [*equal(law, p * weight + q * (1 - weight)), (accepts, eq, 1 - total_variation(p, q) * weight)]


def cut(rule: Any, n: Numbers, threshold: Fraction) -> Stated:
    """The law of truncation: q where p is likely, the rest from p cut to there."""
    p, q, law, _ = step(rule, n)
    inside = [bool(each) for each in likely(p[None], threshold)[0]]
    kept, there = (sum(m for m, i in zip(row, inside, strict=True) if i) for row in (q, p))
    wanted = [
        (b if i else b * 0) + (a / there * (1 - kept) if i else a * 0) for a, b, i in zip(p, q, inside, strict=True)
    ]
    return equal(law, wanted)


def fuzzy(rule: Any, n: Numbers, threshold: Fraction) -> Stated:
    """q within the threshold, p beyond it."""
    p, q, law, accepts = step(rule, n)
    if total_variation(p, q) <= threshold:
        return [(accepts, eq, 1), *equal(law, q)]
    return [*equal(law, p)]


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


# The proofs ----------------------------------------------------------------------------------------------------


def by_partition(kind: Callable[..., Rule], states: Callable[..., Stated], statement: str) -> tuple[Question, ...]:
    """A statement about rules with every partition of two and of three tokens."""
    return tuple(
        partial(of_rule, states, kind(labels), size, statement) for size in (2, 3) for labels in partitions(size)
    )


def lanterns(kind: Callable[..., Rule], *settings: Any, size: int = 3) -> list[Rule]:
    """LANTERN's rule with each of :func:`neighbours`."""
    return [kind(lists, *settings) for lists in neighbours(size)]


LOSSLESS = "what is emitted follows p"
GROUPS_THEOREM = "acceptance = 1 - TV of the group masses, and >= 1 - TV(p, q), for every partition"
EQUALITY = "acceptance of groups is 1 - TV(p, q) just where no group holds tokens on both sides"
LINE = "acceptance = 1 - TV(p, q) + TV(p, law)"
AMPLIFY, ADD = Amplify(Fraction(3, 2)), Addition(TENTH)
TWICE, FIFTH, QUARTER = Fraction(2), Fraction(1, 5), Fraction(1, 4)
NEAR = neighbours(3)[0]  # all others
BEYOND_DELTA = {"up to delta": UpToDelta(NEAR, FIFTH), "one more": OneNeighbourMore(NEAR, FIFTH)}

RULE_PROOFS = (
    Proof(
        "speculative.acceptance",
        ("leviathan.acceptance", "scd.visit", "pac.retention"),
        "speculative sampling accepts 1 - TV(p, q)",
        rule_asks("accepts == alpha", Speculative(), sizes=(2, 3, 4)),
        {
            name: rule_asks("accepts == alpha", rule)[0]
            for name, rule in (("ratio inverted", InvertedRatio()), ("ratio times 1.01", AMPLIFY))
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
        "lossy.frontier",
        ("leviathan.frontier", "gsd.naive-lossy.tv"),
        f"amplify and addition are on the line: {LINE}",
        rule_asks("frontier", AMPLIFY, ADD),
        {"amplify with 1/2": rule_asks("frontier", Amplify(HALF))[0]},
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
    proof_of_rules(
        "amplify.bounded",
        ("gsd.naive-lossy.explode",),
        "amplify with 4: no token above 4 p, TV at most 3/4",
        partial(law_and_tv_below, factor=Fraction(4)),
        Amplify(4),
        wrong={"addition": Addition(Fraction(3, 10))},
    ),
    proof_of_rules(
        "addition.explodes",
        ("gsd.naive-lossy.explode",),
        "where q <= epsilon, every draft is kept",
        partial(sure_where_small, epsilon=Fraction(3, 5)),
        Addition(Fraction(3, 5)),
        wrong={"epsilon below q": Addition(HALF)},
    ),
    proof_of_rules(
        "lossy.no-token-gains",
        ("gsd.naive-lossy.explode",),
        "law <= max(p, q) for amplify and addition",
        law_between,
        Amplify(5),
        Addition(Fraction(3, 10)),
        wrong={"amplify with 1/2": Amplify(HALF)},
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
    proof_of_rules(
        "lantern.relaxation",
        ("lantern.relaxation",),
        "no token is accepted less often than by the lossless rule",
        relaxed,
        *lanterns(Lantern, FIFTH),
        *lanterns(LanternMultiplicative, TWICE),
        wrong={"neighbourhood without the token": WithoutSelf(NEAR, FIFTH)},
        sizes=(3,),
    ),
    proof_of_rules(
        "lantern.conditional-bound",
        ("lantern.conditional-bound", "lantern.largest.nearest"),
        "TV(conditional target, p) < delta, for delta = 1/5",
        within_bound,
        *lanterns(Lantern, FIFTH),
        wrong=BEYOND_DELTA,
        sizes=(3,),
    ),
    proof_of_rules(
        "lantern.gain",
        ("lantern.gain",),
        "a token gains less than delta, for delta = 1/5",
        gains_less,
        *lanterns(Lantern, FIFTH),
        wrong=BEYOND_DELTA,
        sizes=(3,),
    ),
    Proof(
        "lantern.frontier",
        ("lantern.frontier", "gsd.drawbacks"),
        f"LANTERN's rule, bounded in TV or by a factor: {LINE}",
        rule_asks("frontier", *lanterns(Lantern, FIFTH), *lanterns(LanternMultiplicative, TWICE), sizes=(3,)),
        {
            "addition with half the residual": rule_asks("frontier", Lenience(HALF, "lenient"), sizes=(3,))[0],
            "neighbourhood without the token": rule_asks("frontier", WithoutSelf(NEAR, FIFTH), sizes=(3,))[0],
        },
    ),
    Proof(
        "lantern.zero",
        ("lantern.zero-delta", "lantern.output-bound"),
        "with delta = 0, or the factor 1, the rule is lossless",
        rule_asks("lossless", *lanterns(Lantern, 0), *lanterns(LanternMultiplicative, 1), sizes=(3,)),
        {"one more": rule_asks("lossless", OneNeighbourMore(NEAR, 0), sizes=(3,))[0]},
    ),
    proof_of_rules(
        "lantern.multiplicative",
        ("lantern-reference.multiplicative",),
        "a factor of 2: law <= 2 p, TV <= 1/2",
        partial(law_and_tv_below, factor=TWICE),
        *lanterns(LanternMultiplicative, TWICE),
        wrong={"bounded by a sum": Lantern(NEAR, 1)},
        sizes=(3,),
    ),
    Proof(
        "optimal-lossy.budget",
        ("baselines.optimal-lossy",),
        "TV = min(s, TV(p, q)), acceptance = min(1, 1 - TV(p, q) + s), for s = 0, 1/10, 1/2, 1",
        tuple(
            question
            for budget in (Fraction(0), TENTH, HALF, Fraction(1))
            for question in of_rules(partial(mended_budget, budget=budget), f"s = {budget}", [OptimalLossy(budget)])
        ),
        {"amplify": of_rules(partial(mended_budget, budget=HALF), "s = 1/2", [Amplify(1 + HALF)])[0]},
    ),
    Proof(
        "mixture.law",
        ("ensemble.frontier",),
        "law = w p + (1 - w) q, acceptance = 1 - w TV(p, q)",
        tuple(
            question
            for weight in (Fraction(0), QUARTER, Fraction(2, 3), Fraction(1))
            for question in of_rules(partial(mixed, weight=weight), f"w = {weight}", [Mixture(weight)])
        ),
        {"1 - w": of_rules(partial(mixed, weight=QUARTER), "w = 1/4", [Mixture(1 - QUARTER)])[0]},
    ),
    Proof(
        "lenience.bounded",
        ("lenience.bound",),
        "law <= p/l for l = 1/5 and 1/2, with both residuals",
        tuple(
            question
            for factor in (FIFTH, HALF)
            for residual in ("target", "lenient")
            for question in of_rules(
                partial(law_below, factor=1 / factor), f"law <= p/l, l = {factor}", [Lenience(factor, residual)]
            )
        ),
        {"the factor squared": of_rules(partial(law_below, factor=TWICE), "law <= 2 p", [Amplify(4)])[0]},
    ),
    Proof(
        "truncation.law",
        ("truncation.law",),
        "q on A, the rest from p cut to A, for thresholds 1/4 and 1/2",
        tuple(
            question
            for threshold in (QUARTER, HALF)
            for question in of_rules(partial(cut, threshold=threshold), f"t = {threshold}", [Truncation(threshold)])
        ),
        {
            told: of_rules(partial(cut, threshold=HALF), "t = 1/2", [rule])[0]
            for told, rule in (("replaced from p", Truncation(HALF, "target")), ("lossless", Speculative()))
        },
    ),
    proof_of_rules(
        "fuzzy.law",
        ("fuzzy.law",),
        "q within the threshold 1/3, p beyond it, with both readings",
        partial(fuzzy, threshold=Fraction(1, 3)),
        *(Fuzzy(Fraction(1, 3), "tv", beyond) for beyond in ("target", "speculative")),
        wrong={"half the threshold": Fuzzy(Fraction(1, 6), "tv")},
    ),
)
