"""Claims of LANTERN about its rule: what it accepts, and the bounds that a neighbourhood respects.

The paper writes q for the target and p for the draft; here p is the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from simlab.arrays import Array, at, number
from simlab.rules import Lantern, LanternMultiplicative, LanternReference, Rule, Speculative
from simlab.rules.lantern import BOUNDS, NeighbourhoodRule
from theory.acceptance import alpha
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    counterexample,
    described,
    holds_if,
    holds_under_assumptions_if,
    identity,
    refuted_if,
    rejects_mutants,
)
from theory.claims.format import fmt_row
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.example_processes import point_mass, random_row

CLAIMS = Claims("lantern")
POINT = point_mass(0, 4)
Case = tuple[tuple[Fraction, ...], tuple[Fraction, ...], Any, Fraction]


def cases(seed: int, count: int = 150) -> list[Case]:
    """Pairs of rows over 3 to 6 tokens, with lists of neighbours in random order and a delta."""
    random = Random(seed)
    found = []
    for k in range(count):
        size = 3 + k % 4
        lists = [random.sample([y for y in range(size) if y != x], random.randrange(size)) for x in range(size)]
        delta = Fraction(random.randint(1, 10), 10)
        found.append((random_row(random, size), random_row(random, size), lists, delta))
    return found


def each_token(rule: NeighbourhoodRule, p: Any) -> tuple[Array, Array]:
    """The row p once for every token that could have been drafted, ``[V, V]``, and these tokens."""
    rows = np.array([p] * len(p), dtype=object)
    return rows, np.arange(len(p))


# Acceptance ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WithoutSelf(Lantern):
    """A neighbourhood that leaves out the drafted token."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        target, draft = super()._masses(p, q, x)
        return target - at(p, x), draft


@CLAIMS.claim(
    "lantern.relaxation", "eq. 2", "The relaxed accept probability (2) is at least that of (1), token by token."
)
def relaxation(seed: int) -> Finding:
    """The neighbourhood holds x itself, so P(A) >= p(x), and min(1, m/q(x)) grows with m."""

    def lost(make: Callable[[list[list[int]], Fraction], Rule]) -> Fraction:
        """The most that any token is accepted less often than by the lossless rule."""
        worst = Fraction(0)
        for p, q, lists, delta in cases(seed):
            rows, x = each_token(Lantern(lists, delta), p)
            drafts = np.array([q] * len(q), dtype=object)
            less = Speculative().accept(rows, drafts, x) - make(lists, delta).accept(rows, drafts, x)
            worst = max(worst, *less)
        return worst

    worst = max(lost(Lantern), lost(lambda lists, delta: Lantern(lists, delta, "jsd")), lost(_doubling))
    return holds_if(
        worst == 0,
        identity(
            f"every token of {len(cases(seed))} pairs of rows with random lists of neighbours, bounded in TV, in "
            f"JSD and by a factor: none is accepted less often than by the lossless rule (largest loss {worst})",
        ),
        rejects_mutants({"neighbourhood without the token itself": WithoutSelf}, lost, "the accept probability"),
    )


def _doubling(lists: list[list[int]], delta: Fraction) -> Rule:
    return LanternMultiplicative(lists, 1 + delta)


@CLAIMS.claim(
    "lantern.monotone",
    "Table 2",
    "The mean accept probability rises with k and with delta.",
    assumptions=["the contexts are the same: two runs with other parameters visit other contexts"],
)
def monotone(seed: int) -> Finding:
    """With a longer list, or a larger delta, the tokens that joined still join, and others may follow: A grows, and
    P(A) with it, for every x. The mean over any fixed set of contexts then grows or stays. It stays where nothing
    more can join, so the rise need not be strict.
    """

    def falls(make: Callable[[list[list[int]], Fraction], Rule], lengthen: Callable[..., Any]) -> Fraction:
        """The most the mean falls when lists or delta grow."""
        worst = Fraction(0)
        for p, q, lists, delta in cases(seed):
            more = [acceptance(make(lengthen(lists, k), delta), p, q) for k in range(len(p))]
            wider = [acceptance(make(lists, Fraction(k, 10)), p, q) for k in range(11)]
            worst = max(worst, *(a - b for row in (more, wider) for a, b in pairwise(row)))
        return worst

    worst = falls(Lantern, _cut)
    return holds_under_assumptions_if(
        worst <= 0,
        identity(
            f"k from 0 to V - 1 and delta from 0 to 1 in tenths on {len(cases(seed))} pairs: acceptance never falls",
        ),
        rejects_mutants(
            {"lists that change their order as they grow": _rotated},
            lambda lengthen: falls(Lantern, lengthen),
            "monotony",
        ),
    )


def _cut(lists: list[list[int]], k: int) -> list[list[int]]:
    return [row[:k] for row in lists]


def _rotated(lists: list[list[int]], k: int) -> list[list[int]]:
    return [(row[k:] + row[:k])[:k] for row in lists]


# Bounds --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UpTo(Lantern):
    """Lets neighbours join while the bound does not *exceed* delta."""

    def _within(self, moved: Array, own: Array) -> Array:
        return BOUNDS[self.bound](moved, own) <= number(self.delta, moved)


@dataclass(frozen=True, eq=False)
class OneMore(Lantern):
    """Lets the neighbour that reaches the bound join as well."""

    def _within(self, moved: Array, own: Array) -> Array:
        inside = super()._within(moved, own)
        return np.concatenate([np.ones_like(inside[..., :1]), inside[..., :-1]], axis=-1)


@CLAIMS.claim(
    "lantern.conditional-bound",
    "3.3",
    "TV(p_A(. given D = x), p) < delta for every drafted x, where delta > 0.",
)
def conditional_bound(seed: int) -> Finding:
    """p_A differs from p on A only: x gains what the others lose, so the TV is the mass m that moves. With x alone m
    = 0 < delta; a neighbour joins only while m stays below delta. The bound is about the target that *one* drafted
    token is compared with; see lantern.output-bound for what comes out.
    """
    tried = cases(seed)

    def reached(make: Callable[[list[list[int]], Fraction], Lantern]) -> int:
        """How many drafted tokens have a conditional target at or beyond delta."""
        count = 0
        for p, _, lists, delta in tried:
            rule = make(lists, delta)
            rows, x = each_token(rule, p)
            count += int((tv(rule.conditional_rows(rows, x), rows) >= delta).sum())
        return count

    beyond = reached(Lantern)
    drafted = sum(len(p) for p, *_ in tried)
    return holds_if(
        beyond == 0,
        identity(f"TV computed for {drafted} drafted tokens of {len(tried)} rows: {beyond} reach delta"),
        rejects_mutants(
            {"at most delta for below delta": UpTo, "the first that reaches it joins": OneMore},
            reached,
            "the conditional bound",
        ),
    )


@CLAIMS.claim(
    "lantern.largest",
    "3.3",
    "The neighbourhood that is built, nearest first and stopping, is the largest subset of B_k that respects the "
    "bound.",
)
def largest(seed: int) -> Finding:
    """The text defines A as the largest such subset and then builds it nearest first. A near token with much mass
    stops the building, where farther ones with little would still fit.
    """
    p, delta = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 10), Fraction(1, 10)), Fraction(1, 4)
    lists = [[y for y in range(4) if y != x] for x in range(4)]
    rule = Lantern(lists, delta)
    built = rule.accept(p, POINT, 0)[()]
    fits = p[0] + p[2] + p[3]
    return refuted_if(
        built == p[0] and p[2] + p[3] < delta,
        counterexample(
            f"p = {fmt_row(p)}, x = 0, neighbours 1, 2, 3 in this order, delta = 1/4: token 1 would move 3/10 "
            f"and stops the building, P(A) = {built}; tokens 2 and 3 together move 1/5, P = {fits}",
            described("lantern", {"neighbours": lists, "delta": delta, "bound": "tv"}, p, POINT, x=0),
        ),
    )


@CLAIMS.claim(
    "lantern.zero-delta",
    "3.3",
    "With delta = 0, or delta at most the smallest mass that p has, the rule is the lossless one, also with top-k "
    "filtered targets.",
)
def zero_delta(seed: int) -> Finding:
    """A neighbour joins while the mass m moved is below delta. With delta = 0 none does; with delta at most the
    smallest mass of p only neighbours of mass 0 do. Either way P(A) = p(x), and p_A = p: zeros replaced by zeros. So
    the accept probability and the residual are those of the lossless rule. The same goes for the factor of LANTERN++
    as it goes to 1.
    """
    tried = cases(seed)

    def apart(make: Callable[[list[list[int]], Fraction], Rule]) -> Fraction:
        worst = Fraction(0)
        for p, q, lists, _ in tried:
            for delta in (Fraction(0), min(x for x in p if x > 0)):
                rule = make(lists, delta)
                worst = max(worst, tv(step_law(rule, p, q), p), abs(acceptance(rule, p, q) - alpha(p, q)))
        return worst

    divergence = apart(lambda lists, delta: Lantern(lists, 0 * delta, "jsd"))
    worst = max(apart(Lantern), divergence, apart(lambda lists, delta: LanternMultiplicative(lists, 1)))
    zeros = sum(0 in p for p, *_ in tried)
    return holds_if(
        worst == 0,
        identity(
            f"output law p and acceptance 1 - TV(p, q) on {len(tried)} pairs, {zeros} of them with zeros in p as "
            f"top-k leaves them (largest difference {worst})",
        ),
        rejects_mutants(
            {"reference residual: p without all k neighbours": LanternReference, "one neighbour more": OneMore},
            apart,
            "the rule at delta = 0",
        ),
    )
