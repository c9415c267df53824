"""Proofs about one step of a rule, for all rows up to a size: the rule as it is, at any setting or at ones named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import total_variation
from simlab.mutants.rules import (
    RULES,
    HalfRatio,
    InvertedRatio,
    OneNeighbourMore,
    UpToDelta,
    WithoutSelf,
    inflated_ratio,
)
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

HALF = Fraction(1, 2)
Make = Callable[[Any, int], Rule | None]  # a rule of a setting made of a number from 0 to 1, over V tokens, if any

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


def at_setting(n: Numbers, states: Callable[..., Stated], make: Make) -> Stated:
    """A statement about a rule, over the rows of ``n``, with the setting that is made of the number ``s``."""
    rule = make(n["s"], len(n["p"]))
    return [] if rule is None else states(rule, n)


def proof_of_settings(
    name: str,
    claims: tuple[str, ...],
    statement: str,
    states: Callable[..., Stated],
    *makes: Make,
    wrong: Mapping[str, Make],
    sizes: Sequence[int] = (2, 3),
) -> Proof:
    """A proof that a statement is true of rules at every setting, and false of those that are ``wrong``, maybe at one
    setting alone."""
    asked, others = [*({"make": make} for make in makes)], {told: {"make": make} for told, make in wrong.items()}
    stated = partial(at_setting, states=states)
    return proof_of_rows(name, claims, statement, stated, *asked, wrong=others, sizes=sizes, shares=("s",))


def but_at(value: Fraction, wrong: Make, right: Make) -> Make:
    """A rule that is wrong where ``s`` is ``value`` and nowhere else: only a proof for every setting sees it."""
    return lambda s, size: (wrong if s == value else right)(s, size)


def always(rule: Rule) -> Make:
    """One rule, whatever the setting."""
    return lambda s, size: rule


def set_to(rule: Rule, **settings: Any) -> Rule:
    """A rule with settings that are unknown numbers, which no constructor takes for numbers."""
    for name, value in settings.items():
        object.__setattr__(rule, name, value)
    return rule


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


def on_the_line(rule: Rule, n: Numbers) -> Stated:
    """Acceptance = 1 - TV(p, q) + TV(p, law)."""
    p, q, law, accepts = step(rule, n)
    return [(accepts, eq, 1 - total_variation(p, q) + total_variation(p, law))]


def law_below(rule: Rule, n: Numbers) -> Stated:
    """No token is emitted more often than 1/s times p."""
    p, _, law, _ = step(rule, n)
    return [(mass * n["s"], le, own) for mass, own in zip(law, p, strict=True)]


def law_and_tv_below(rule: Rule, n: Numbers, turned: bool = False) -> Stated:
    """The same, and TV is at most 1 - s; ``turned``, with 1 - s in the place of s."""
    p, _, law, _ = step(rule, n)
    least = 1 - n["s"] if turned else n["s"]
    return [
        *((mass * least, le, own) for mass, own in zip(law, p, strict=True)),
        (total_variation(law, p), le, 1 - least),
    ]


def law_between(rule: Any, n: Numbers) -> Stated:
    """No token is emitted more often than the larger of p and q."""
    p, q, law, _ = step(rule, n)
    return [(mass, le, max(a, b)) for mass, a, b in zip(law, p, q, strict=True)]


def sure_below(rule: Rule, n: Numbers, added: bool) -> Stated:
    """Where q <= p + epsilon everywhere, or q <= k p, drafts are kept and q comes out."""
    p, q, law, accepts = step(rule, n)
    s = n["s"]  # k = 1/s, epsilon = s/(1 - s)
    if not all((b - a) * (1 - s) <= s if added else b * s <= a for a, b in zip(p, q, strict=True)):
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


def budgeted(rule: Rule, n: Numbers) -> Stated:
    """TV is the budget s, or TV(p, q) if that is less, and acceptance is what such a TV buys."""
    p, q, law, accepts = step(rule, n)
    apart = total_variation(p, q)
    spent = min(apart, n["s"])
    return [(total_variation(p, law), eq, spent), (accepts, eq, min(1 - apart + spent, 1))]


def mixed(rule: Rule, n: Numbers) -> Stated:
    """The law is a mixture, its TV to p 1 - w of TV(p, q), and acceptance 1 - w TV(p, q)."""
    p, q, law, accepts = step(rule, n)
    apart, w = total_variation(p, q), n["s"]
    return [
        *equal(law, p * w + q * (1 - w)),
        (total_variation(law, p), eq, apart * (1 - w)),
        (accepts, eq, 1 - apart * w),
    ]


def cut(rule: Rule, n: Numbers) -> Stated:
    """The law of truncation: q where p is likely, the rest from p cut to there; and its TV to p cut to there."""
    p, q, law, accepts = step(rule, n)
    inside = [int(each) for each in likely(p[None], n["s"])[0]]
    own, other = p * inside / sum(p * inside), q * inside
    kept = sum(other)
    found = [(accepts, eq, kept), *equal(law, other + own * (1 - kept))]
    apart = total_variation(other / kept, own) * kept if kept > 0 else kept
    return [*found, (total_variation(law, own), eq, apart)]


def fuzzy(rule: Rule, n: Numbers, verified: bool) -> Stated:
    """q within the threshold s/(1 - s), where all is accepted; p beyond it, where nothing is, or as without loss."""
    p, q, law, accepts = step(rule, n)
    apart = total_variation(p, q)
    if apart * (1 - n["s"]) <= n["s"]:
        return [(accepts, eq, 1), *equal(law, q)]
    return [(accepts, eq, 1 - apart if verified else 0), *equal(law, p)]


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


# Rules of a setting that is made of s, from 0 to 1


def amplified(s: Any, size: int = 0) -> Rule | None:
    """k = 1/s, any number from 1."""
    return set_to(Amplify(1), k=1 / s) if s > 0 else None


def added(s: Any, size: int = 0) -> Rule | None:
    """epsilon = s/(1 - s), any number from 0."""
    return set_to(Addition(1), epsilon=s / (1 - s)) if s < 1 else None


def lenient(s: Any, size: int = 0, residual: str = "target") -> Rule | None:
    """l = s, above 0."""
    return set_to(Lenience(1, residual), factor=s) if s > 0 else None


def budget(s: Any, size: int = 0) -> Rule:
    """The TV that may be spent is s."""
    return set_to(OptimalLossy(1), tv=s)


def mixture(s: Any, size: int = 0) -> Rule:
    """w = s."""
    return set_to(Mixture(1), weight=s)


def truncated(s: Any, size: int = 0, residual: str = "truncated") -> Rule:
    """t = s."""
    return set_to(Truncation(1, residual), threshold=s)


def fuzzed(s: Any, size: int = 0, beyond: str = "target") -> Rule | None:
    """T = s/(1 - s), any number from 0."""
    return set_to(Fuzzy(1, "tv", beyond), threshold=s / (1 - s)) if s < 1 else None


def by_delta(s: Any, size: int, which: int = 0, kind: Callable[..., Rule] = Lantern) -> Rule:
    """delta = s, with one of :func:`neighbours`."""
    return set_to(kind(neighbours(size)[which], 1), delta=s)


def by_factor(s: Any, size: int, which: int = 0) -> Rule | None:
    """lambda = 1/(1 - s), any number from 1, with one of :func:`neighbours`."""
    return set_to(LanternMultiplicative(neighbours(size)[which], 1), factor=1 / (1 - s)) if s < 1 else None


def with_lists(make: Callable[..., Rule | None], *lists: int) -> list[Make]:
    """A rule of a setting with some of :func:`neighbours`; of all others one order is the other, tokens renamed."""
    return [partial(make, which=which) for which in lists]


LOSSLESS = "what is emitted follows p"
GROUPS_THEOREM = "acceptance = 1 - TV of the group masses, and >= 1 - TV(p, q), for every partition"
EQUALITY = "acceptance of groups is 1 - TV(p, q) just where no group holds tokens on both sides"
LINE = "acceptance = 1 - TV(p, q) + TV(p, law)"
THIRD, FIFTH, TENTH = Fraction(1, 3), Fraction(1, 5), Fraction(1, 10)
HALVED = always(Amplify(HALF))
NEAR = neighbours(3)[0]  # all others
WITHOUT_SELF = partial(by_delta, kind=WithoutSelf)
BEYOND_DELTA = {"up to delta": UpToDelta(NEAR, FIFTH), "one more": OneNeighbourMore(NEAR, FIFTH)}

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
    proof_of_settings(
        "lossy.frontier",
        ("leviathan.frontier", "gsd.naive-lossy.tv"),
        f"for every k >= 1 and epsilon >= 0: amplify and addition are on the line: {LINE}",
        on_the_line,
        amplified,
        added,
        wrong={
            "amplify with 1/2": HALVED,
            "the same for k = 3 alone": but_at(THIRD, HALVED, amplified),
            "the same for epsilon = 1/2 alone": but_at(THIRD, HALVED, added),
        },
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
    proof_of_settings(
        "amplify.bounded",
        ("gsd.naive-lossy.explode",),
        "for every k >= 1: amplify emits no token above k p, and TV is at most 1 - 1/k",
        law_and_tv_below,
        amplified,
        wrong={
            "addition": always(Addition(Fraction(3, 10))),
            "10 in place of k = 3 alone": but_at(THIRD, always(Amplify(10)), amplified),
        },
    ),
    proof_of_settings(
        "amplify.explodes",
        ("gsd.naive-lossy.explode",),
        "for every k >= 1: where q <= k p, amplify keeps every draft, so that q is emitted",
        partial(sure_below, added=False),
        amplified,
        wrong={"2 in place of k = 3 alone": but_at(THIRD, always(Amplify(2)), amplified)},
    ),
    proof_of_settings(
        "addition.explodes",
        ("gsd.naive-lossy.explode",),
        "for every epsilon >= 0: where q <= p + epsilon, addition keeps every draft, so that q is emitted",
        partial(sure_below, added=True),
        added,
        wrong={"1/4 in place of epsilon = 1/2 alone": but_at(THIRD, always(Addition(Fraction(1, 4))), added)},
    ),
    proof_of_settings(
        "lossy.no-token-gains",
        ("gsd.naive-lossy.explode",),
        "for every k >= 1 and epsilon >= 0: law <= max(p, q) for amplify and addition",
        law_between,
        amplified,
        added,
        wrong={
            "amplify with 1/2": HALVED,
            "the same for k = 3 alone": but_at(THIRD, HALVED, amplified),
            "the same for epsilon = 1/2 alone": but_at(THIRD, HALVED, added),
        },
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
    proof_of_settings(
        "lantern.relaxation",
        ("lantern.relaxation",),
        "for every delta, and every factor in its place: no token is accepted less often than by the lossless rule",
        relaxed,
        *with_lists(by_delta, 0, 1, 2),
        *with_lists(by_factor, 0, 2),
        wrong={
            "neighbourhood without the token": WITHOUT_SELF,
            "the same for delta = 1/3 alone": but_at(THIRD, WITHOUT_SELF, by_delta),
            "the same for the factor 3/2 alone": but_at(THIRD, WITHOUT_SELF, by_factor),
        },
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
    proof_of_settings(
        "lantern.frontier",
        ("lantern.frontier", "gsd.drawbacks"),
        f"LANTERN's rule, bounded in TV by any delta or by any factor: {LINE}",
        on_the_line,
        *with_lists(by_delta, 0, 1, 2),
        *with_lists(by_factor, 0, 2),
        wrong={
            "neighbourhood without the token, for delta = 1/3 alone": but_at(THIRD, WITHOUT_SELF, by_delta),
            "the same for the factor 3/2 alone": but_at(THIRD, WITHOUT_SELF, by_factor),
        },
    ),
    Proof(
        "lantern.zero",
        ("lantern.zero-delta", "lantern.output-bound"),
        "with delta = 0, or the factor 1, the rule is lossless",
        rule_asks("lossless", *lanterns(Lantern, 0), *lanterns(LanternMultiplicative, 1), sizes=(3,)),
        {"one more": rule_asks("lossless", OneNeighbourMore(NEAR, 0), sizes=(3,))[0]},
    ),
    proof_of_settings(
        "lantern.multiplicative",
        ("lantern-reference.multiplicative",),
        "for every factor: law <= factor p, TV <= 1 - 1/factor",
        partial(law_and_tv_below, turned=True),
        *with_lists(by_factor, 0, 2),
        wrong={
            "bounded by a sum": lambda s, size: by_delta(Fraction(1), size),
            "10 in place of the factor 3/2 alone": but_at(THIRD, lambda s, size: by_factor(9 * TENTH, size), by_factor),
        },
    ),
    proof_of_settings(
        "optimal-lossy.budget",
        ("baselines.optimal-lossy",),
        "for every s: TV = min(s, TV(p, q)), acceptance = min(1, 1 - TV(p, q) + s)",
        budgeted,
        budget,
        wrong={
            "amplify": lambda s, size: set_to(Amplify(1), k=1 + s),
            "1/2 in place of s = 1/3 alone": but_at(THIRD, always(OptimalLossy(HALF)), budget),
        },
    ),
    proof_of_settings(
        "mixture.law",
        ("ensemble.frontier",),
        "for every w: law = w p + (1 - w) q, at TV (1 - w) TV(p, q) from p, and acceptance = 1 - w TV(p, q)",
        mixed,
        mixture,
        wrong={
            "1 - w": lambda s, size: mixture(1 - s),
            "1/2 in place of w = 1/3 alone": but_at(THIRD, always(Mixture(HALF)), mixture),
        },
    ),
    proof_of_settings(
        "lenience.bounded",
        ("lenience.bound",),
        "for every l: law <= p/l, with both residuals",
        law_below,
        *(partial(lenient, residual=residual) for residual in ("target", "lenient")),
        wrong={
            "the factor squared": lambda s, size: lenient(s * s),
            **{
                f"1/10 in place of l = 1/3 alone, [p - {told}q]+": but_at(
                    THIRD, always(Lenience(TENTH, residual)), partial(lenient, residual=residual)
                )
                for told, residual in (("", "target"), ("l ", "lenient"))
            },
        },
    ),
    proof_of_settings(
        "truncation.law",
        ("truncation.law",),
        "for every threshold: q on A, the rest from p cut to A, and its TV to p cut to A",
        cut,
        truncated,
        wrong={
            "replaced from p": partial(truncated, residual="target"),
            "lossless": always(Speculative()),
            "1/10 in place of the threshold 1/3 alone": but_at(THIRD, always(Truncation(TENTH)), truncated),
        },
    ),
    *(
        proof_of_settings(
            name,
            ("fuzzy.law",),
            f"for every threshold on TV: q within it, where all is accepted; p beyond it, where {told}",
            partial(fuzzy, verified=beyond == "speculative"),
            partial(fuzzed, beyond=beyond),
            wrong={
                "1/10 in place of the threshold 1/2 alone": but_at(
                    THIRD, always(Fuzzy(TENTH, "tv", beyond)), partial(fuzzed, beyond=beyond)
                ),
                f"beyond 1/2 alone {other}": but_at(
                    THIRD, partial(fuzzed, beyond=another), partial(fuzzed, beyond=beyond)
                ),
            },
        )
        for name, beyond, told, another, other in (
            ("fuzzy.law", "target", "nothing is accepted", "speculative", "as without loss"),
            ("fuzzy.verified", "speculative", "1 - TV(p, q) is accepted", "target", "nothing is accepted"),
        )
    ),
)
