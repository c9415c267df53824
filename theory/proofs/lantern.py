"""Proofs about one step of LANTERN's rules, for all rows up to a size, at every delta and every factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.mutants.rules import OneNeighbourMore, UpToDelta, WithoutSelf
from simlab.processes.processors import tempered
from simlab.rules import Lantern, LanternGreedy, LanternMultiplicative, LanternReference, Rule, Speculative
from theory.candidates import candidates_law
from theory.proofs.base import Comparison, Numbers, Stated, eq, equal, ge, lt, proof_of_rows
from theory.proofs.settings import (
    LINE,
    TENTH,
    THIRD,
    Make,
    but_at,
    law_and_tv_below,
    on_the_line,
    proof_of_settings,
    set_to,
    step,
)

__all__ = ["LANTERN_PROOFS", "each_token"]


# Helpers -------------------------------------------------------------------------------------------------------


def each_token(*rows: Any) -> tuple[Any, ...]:
    """Rows once for every token that could be drafted, and these tokens."""
    size = len(rows[0])
    return *(np.array([row] * size, dtype=object) for row in rows), np.arange(size)


def point(x: int, like: Any) -> Any:
    """The point mass on x."""
    return np.array([like[0] * 0 + int(y == x) for y in range(len(like))], dtype=object)


def certain_drafts(like: Any) -> Any:
    """The point mass on each token: q of drafts that are certain."""
    return np.array([point(x, like) for x in range(len(like))], dtype=object)


def neighbours(size: int) -> list[list[list[int]]]:
    """A few lists of neighbours over ``size`` tokens: all in both orders, and a pair."""
    everyone = [[y for y in range(size) if y != x] for x in range(size)]
    return [everyone, [row[::-1] for row in everyone], [[1], [0], *([] for _ in range(size - 2))]]


def by_delta(s: Any, size: int, which: int = 0, kind: Callable[..., Rule] = Lantern) -> Rule:
    """delta = s, with one of :func:`neighbours`."""
    return set_to(kind(neighbours(size)[which], 1), delta=s)


def by_factor(s: Any, size: int, which: int = 0) -> Rule | None:
    """lambda = 1/(1 - s), any number from 1, with one of :func:`neighbours`."""
    return set_to(LanternMultiplicative(neighbours(size)[which], 1), factor=1 / (1 - s)) if s < 1 else None


def factor_1(s: Any, size: int, which: int = 0) -> Rule | None:
    """lambda = 1, whatever s is."""
    return by_factor(Fraction(0), size, which)


def without_neighbours(s: Any, size: int) -> Rule:
    """The greedy rule with delta = 0, so that none joins, whatever s is."""
    return by_delta(0 * s, size, kind=LanternGreedy)


def with_lists(make: Callable[..., Rule | None], *lists: int) -> list[Make]:
    """A rule of a setting with some of :func:`neighbours`; of all others one order is the other, tokens renamed."""
    return [partial(make, which=which) for which in lists]


def as_kind(rule: Any, kind: Callable[..., Rule], delta: Any) -> Any:
    """A rule of another kind with the same neighbours."""
    return set_to(kind(rule.neighbours, 1), delta=delta)


# Statements, of which delta is s -------------------------------------------------------------------------------


def relaxed(rule: Any, n: Numbers) -> Stated:
    """No token is accepted less often than by the lossless rule."""
    rows = each_token(n["p"], n["q"])
    return [(a, ge, b) for a, b in zip(rule.accept_rows(*rows), Speculative().accept_rows(*rows), strict=True)]


def bounded(rule: Any, n: Numbers) -> Stated:
    """Of the sets of nearest tokens the largest within delta is built, and what it makes of p is within delta."""
    if not n["s"] > 0:
        return []
    p, x = each_token(n["p"])
    joined, masses = rule.joined_rows(p, x)
    found: list[Comparison] = []
    for draft, near in enumerate(rule.neighbours):
        for count in range(len(near)):
            moved = n["p"].copy()
            moved[draft] = sum(masses[draft][: count + 1], moved[draft])
            moved[near[: count + 1]] = n["p"][0] * 0
            found.append((bool(joined[draft][count]), eq, bool(total_variation(moved, n["p"]) < n["s"])))
    return [*found, *((total_variation(row, n["p"]), lt, n["s"]) for row in rule.conditional_rows(p, x))]


def gains_less(rule: Any, n: Numbers) -> Stated:
    """Under a draft that is certain, a token is accepted less than delta more often than p has it."""
    if not n["s"] > 0:
        return []
    p, x = each_token(n["p"])
    accepts = rule.accept_rows(p, certain_drafts(n["p"]), x)
    return [(one, lt, own + n["s"]) for one, own in zip(accepts, n["p"], strict=True)]


def small_delta(rule: Rule, n: Numbers) -> Stated:
    """Where delta is 0, or at most each mass of p above 0: the lossless rule."""
    if not all(n["s"] <= mass for mass in n["p"] if mass > 0):
        return []
    p, q, law, accepts = step(rule, n)
    return [*equal(law, p), (accepts, eq, 1 - total_variation(p, q))]


def greedy_after(rule: Any, n: Numbers) -> Stated:
    """Temperature 0 applied to p_A, and a draft that is certain: the greedy rule."""
    p, x = each_token(n["p"])
    target = tempered(as_kind(rule, Lantern, n["s"]).conditional_rows(p, x), 0)
    certain, lossless = certain_drafts(n["p"]), Speculative()
    one, other = (each.accept_rows(rows, certain, x) for each, rows in ((rule, p), (lossless, target)))
    after = rule.weights_rows(p, certain, x), lossless.residual_rows(target, certain, x)
    found = equal(one, other)
    for k in x:
        found += equal(after[0][k], after[1][k]) if other[k] != 1 else []
    return found


def greedy_one_hot(rule: Any, n: Numbers) -> Stated:
    """p a point mass, and a draft that is certain: LANTERN's rule, the greedy one and the lossless one are one."""
    if not any(mass == 1 for mass in n["p"]):
        return []
    p, x = each_token(n["p"])
    certain, wanted = certain_drafts(n["p"]), [own == 1 for own in n["p"]]
    found: list[Comparison] = []
    for each in (rule, as_kind(rule, LanternGreedy, n["s"]), Speculative()):
        accepts, rest = each.accept_rows(p, certain, x), each.residual_rows(p, certain, x)
        for k, is_own in enumerate(wanted):
            found.append((accepts[k], eq, int(is_own)))
            found += [] if is_own else equal(rest[k], n["p"])
    return found


def greedy_code(rule: Any, n: Numbers) -> Stated:
    """The published code: x is raised by what joins, and accepted if it is the argmax; else p's argmax is emitted."""
    p = list(n["p"])
    rows, tokens = each_token(n["p"])
    certain = certain_drafts(n["p"])
    accepts, rest = rule.accept_rows(rows, certain, tokens), rule.weights_rows(rows, certain, tokens)
    found: list[Comparison] = []
    for x, near in enumerate(rule.neighbours):
        raised, moved, would_be = list(p), p[0] * 0, list[Any]()
        for y in near:
            would_be.append(moved + p[y])
            if would_be[-1] > n["s"]:
                break
            moved = would_be[-1]
        if not p[x] > 0 or any(mass == n["s"] for mass in would_be):
            continue
        raised[x] = raised[x] + moved
        kept = raised.index(max(raised)) == x
        found.append((accepts[x], eq, int(kept)))
        found += [] if kept else [(rest[x][p.index(max(p))], eq, 1)]
    return found


def in_turn(rule: Rule, p: Any, tokens: Sequence[int]) -> Any:
    """The law of the token emitted when ``tokens`` are verified in turn as what they are: point masses."""
    if not tokens:
        return p
    x, *others = tokens
    certain = point(x, p)
    accept = rule.accept_rows(p, certain, np.int64(x))[()]
    if accept == 1:
        return certain
    below = in_turn(rule, rule.residual_rows(p, certain, np.int64(x)), others)
    return below * (1 - accept) + certain * accept


def dynamic_tree(n: Numbers, count: int = 0) -> Stated:
    """The dynamic tree without neighbours emits p, whatever distinct candidates it verifies."""
    p = n["p"]
    rule = LanternReference(neighbours(len(p))[0], Fraction(1, 2), count)
    orders = (order for count in range(1, len(p) + 1) for order in permutations(range(len(p)), count))
    return [comparison for order in orders for comparison in equal(in_turn(rule, p, order), p)]


def same_row(q: Array, x: Any) -> Array:
    """What siblings are scored with if they are taken for independent."""
    return q


def static_tree(n: Numbers, count: int, after: Callable[[Array, int], Array] | None = None) -> Stated:
    """The static tree without neighbours emits p."""
    p, q = n["p"], n["q"]
    rule = LanternReference(neighbours(len(p))[0], 0, 0, "static")
    return equal(candidates_law(rule, p, q, count, *([after] if after else []))[0], p)


# The proofs ----------------------------------------------------------------------------------------------------

WITHOUT_SELF, UP_TO, ONE_MORE, GREEDY = (
    partial(by_delta, kind=kind) for kind in (WithoutSelf, UpToDelta, OneNeighbourMore, LanternGreedy)
)
BEYOND_DELTA: dict[str, Make] = {
    "up to delta": UP_TO,
    "one more": ONE_MORE,
    "up to delta for delta = 1/3 alone": but_at(THIRD, UP_TO, by_delta),
}

NEAR = "each token has all others as neighbours, in either order, or two have each other"

LANTERN_PROOFS = (
    proof_of_settings(
        "lantern.relaxation",
        ("lantern.relaxation",),
        "for every delta, and every factor in its place: no token is accepted less often than by the lossless rule; "
        f"{NEAR}",
        relaxed,
        *with_lists(by_delta, 0, 1, 2),
        *with_lists(by_factor, 0, 2),
        wrong={
            "neighbourhood without the token": WITHOUT_SELF,
            "the same for delta = 1/3 alone": but_at(THIRD, WITHOUT_SELF, by_delta),
            "the same for the factor 3/2 alone": but_at(THIRD, WITHOUT_SELF, by_factor),
        },
    ),
    proof_of_settings(
        "lantern.bounded",
        ("lantern.largest.nearest", "lantern.conditional-bound", "lantern.output-bound"),
        f"for every delta > 0: of the sets of nearest tokens the largest within TV delta is built; {NEAR}",
        bounded,
        *with_lists(by_delta, 0, 1, 2),
        wrong=BEYOND_DELTA,
        rows="p",
    ),
    proof_of_settings(
        "lantern.gain",
        ("lantern.gain",),
        f"for every delta > 0: under a draft that is certain a token gains less than delta; {NEAR}",
        gains_less,
        *with_lists(by_delta, 0, 1, 2),
        wrong=BEYOND_DELTA,
        rows="p",
    ),
    proof_of_settings(
        "lantern.frontier",
        ("lantern.frontier", "gsd.drawbacks", "lantern.output-bound"),
        f"LANTERN's rule, bounded in TV by any delta or by any factor: {LINE}; {NEAR}",
        on_the_line,
        *with_lists(by_delta, 0, 1, 2),
        *with_lists(by_factor, 0, 2),
        wrong={
            "neighbourhood without the token": WITHOUT_SELF,
            "the same for delta = 1/3 alone": but_at(THIRD, WITHOUT_SELF, by_delta),
            "the same for the factor 3/2 alone": but_at(THIRD, WITHOUT_SELF, by_factor),
        },
    ),
    proof_of_settings(
        "lantern.zero",
        ("lantern.zero-delta", "lantern.output-bound"),
        "with the factor 1, and for every delta that is at most each mass of p above 0, as 0 is, the rule is lossless; "
        f"{NEAR}",
        small_delta,
        *with_lists(by_delta, 0, 1, 2),
        *with_lists(factor_1, 0, 2),
        wrong={
            "one more": ONE_MORE,
            "one more for delta = 1/3 alone": but_at(THIRD, ONE_MORE, by_delta),
            "the factor 6/5": lambda s, size: by_factor(Fraction(1, 6), size),
        },
    ),
    proof_of_settings(
        "lantern.multiplicative",
        ("lantern-reference.multiplicative",),
        f"for every factor: law <= factor p, TV <= 1 - 1/factor; {NEAR}",
        partial(law_and_tv_below, turned=True),
        *with_lists(by_factor, 0, 2),
        wrong={
            "bounded by a sum": lambda s, size: by_delta(Fraction(1), size),
            "10 in place of the factor 3/2 alone": but_at(THIRD, lambda s, size: by_factor(9 * TENTH, size), by_factor),
        },
    ),
    proof_of_settings(
        "lantern.greedy-after",
        ("lantern.greedy",),
        "temperature 0 on p_A and a certain draft: x is accepted if it is the argmax of p_A, else that is emitted; "
        f"{NEAR}",
        greedy_after,
        *with_lists(partial(by_delta, kind=LanternGreedy), 0, 1, 2),
        wrong={"LANTERN's rule": by_delta, "the same for delta = 1/3 alone": but_at(THIRD, by_delta, GREEDY)},
        rows="p",
    ),
    proof_of_settings(
        "lantern.greedy-one-hot",
        ("lantern.greedy",),
        "p a point mass and a certain draft, for every delta <= 1: LANTERN's rule is the greedy and the lossless one; "
        f"{NEAR}",
        greedy_one_hot,
        *with_lists(by_delta, 0, 1, 2),
        wrong={"up to delta for delta = 1 alone": but_at(Fraction(1), UP_TO, by_delta)},
        sizes=(2, 3, 4),
        rows="p",
    ),
    proof_of_settings(
        "lantern.greedy-code",
        ("lantern.greedy.code",),
        "the published code accepts x with p(x) > 0 if it is the argmax of p_A, else emits that, where what joins "
        f"comes to delta with no neighbour; {NEAR}",
        greedy_code,
        *with_lists(partial(by_delta, kind=LanternGreedy), 0, 1, 2),
        wrong={
            "without neighbours": without_neighbours,
            "the same for delta = 3/4 alone": but_at(Fraction(3, 4), without_neighbours, GREEDY),
        },
        rows="p",
    ),
    proof_of_rows(
        "lantern-reference.dynamic",
        ("lantern-reference.dynamic.lossless",),
        "k = 0: distinct candidates in turn, each scored with q = 1, emit p, in every number and order",
        dynamic_tree,
        wrong={"one neighbour": {"count": 1}},
        wrong_size=3,
        rows="p",
    ),
    proof_of_rows(
        "lantern-reference.static",
        ("lantern-reference.static.lossless",),
        "k = 0: siblings drawn without replacement emit p, for every number of them",
        static_tree,
        *({"count": count} for count in (1, 2, 3)),
        wrong={"siblings scored with q itself": {"count": 2, "after": same_row}},
        wrong_size=3,
    ),
)
