"""Claims of LANTERN about its rule: what it accepts, and the bounds that a neighbourhood keeps.

The paper writes q for the target and p for the draft; here p is the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import log
from random import Random
from typing import Any

import numpy as np

from simlab.arrays import Array, at, number
from simlab.rules import Lantern, LanternMultiplicative, LanternReference, Rule, Speculative
from simlab.rules.lantern import BOUNDS, Relaxed, moved_js
from theory.acceptance import alpha
from theory.claims.base import Claims, Evidence, Finding, caught, numbers, require
from theory.distances import js, tv
from theory.exact import acceptance, step_law
from theory.worlds import random_row

CLAIMS = Claims("lantern")
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


def each_token(rule: Relaxed, p: Any) -> tuple[Array, Array]:
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
    return Finding(
        "holds" if worst == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"every token of {len(cases(seed))} pairs of rows with random lists of neighbours, bounded in TV, in "
                f"JSD and by a factor: none is accepted less often than by the lossless rule (largest loss {worst})",
            ),
            caught({"neighbourhood without the token itself": WithoutSelf}, lost, "the accept probability"),
        ],
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
    return Finding(
        "holds-under-assumptions" if worst <= 0 else "refuted",
        [
            Evidence(
                "identity",
                f"k from 0 to V - 1 and delta from 0 to 1 in tenths on {len(cases(seed))} pairs: acceptance never "
                "falls",
            ),
            caught(
                {"lists that change their order as they grow": _rotated},
                lambda lengthen: falls(Lantern, lengthen),
                "monotony",
            ),
        ],
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
    return Finding(
        "holds" if beyond == 0 else "refuted",
        [
            Evidence(
                "identity", f"TV computed for {drafted} drafted tokens of {len(tried)} rows: {beyond} reach delta"
            ),
            caught(
                {"at most delta for below delta": UpTo, "the first that reaches it joins": OneMore},
                reached,
                "the conditional bound",
            ),
        ],
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

    worst = max(apart(Lantern), apart(lambda lists, delta: LanternMultiplicative(lists, 1)))
    zeros = sum(0 in p for p, *_ in tried)
    return Finding(
        "holds" if worst == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"output law p and acceptance 1 - TV(p, q) on {len(tried)} pairs, {zeros} of them with zeros in p as "
                f"top-k leaves them (largest difference {worst})",
            ),
            caught(
                {"reference residual: p without all k neighbours": LanternReference, "one neighbour more": OneMore},
                apart,
                "the rule at delta = 0",
            ),
        ],
    )


# Jensen-Shannon ------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "lantern.jsd",
    "4.3.2",
    "A Jensen-Shannon bound delta sits between the TV bounds delta and 2 delta.",
    ["lantern.jsd.bits", "lantern.jsd.nats", "lantern.jsd.root"],
)


def _js_of(moved: Fraction, own: Fraction, unit: float = 1.0) -> float:
    return float(moved_js(np.array([float(moved)]), np.array([float(own)]))[0]) / unit


def _grid() -> list[tuple[Fraction, Fraction]]:
    """Masses (moved, own) of a token and what joins it."""
    return [(Fraction(m, 60), Fraction(a, 60)) for m in range(1, 61) for a in range(0, 61 - m)]


@CLAIMS.claim(
    "lantern.jsd.bits",
    "4.3.2",
    "The neighbourhood of a bound delta on the Jensen-Shannon divergence in bits holds that of TV delta and lies in "
    "that of TV 2 delta.",
    assumptions=["the divergence is in bits (logarithms to base 2), and its square root is not taken"],
)
def jsd_bits(seed: int) -> Finding:
    """Only the mass m that moves to x and a = p(x) matter (simlab/rules/lantern.py). With H the binary entropy in
    bits, the tokens that joined contribute m/2, and x contributes (2a + m)/2 times 1 - H(a/(2a + m)). The second part
    is 0 or more, and H(s) >= 2s for s <= 1/2 bounds it by (2a + m)/2 - a = m/2. It vanishes only for m = 0. So m/2 <
    JS <= m for m > 0, with equality on the right at a = 0. If m < delta then JS < delta; if JS < delta then m < 2
    delta.
    """
    bits = [(_js_of(m, a, log(2)), m) for m, a in _grid()]
    lowest, highest = min(j / float(m) for j, m in bits), max(j / float(m) for j, m in bits)
    inside = lowest > 0.5 and highest <= 1 + 1e-12
    formula = max(_formula_gap(p, lists, delta) for p, _, lists, delta in cases(seed, 40))
    require(formula < 1e-12, f"the formula for the divergence is off by {formula}")
    nested = all(_between(p, lists, delta, "jsd-bits") == (True, True) for p, _, lists, delta in cases(seed))
    nats = all(_between(p, lists, delta, "jsd") == (True, True) for p, _, lists, delta in _spread(seed))
    require(not nats, "the comparison of neighbourhoods does not see that nats differ from bits")
    return Finding(
        "holds-under-assumptions" if inside and nested else "refuted",
        [
            Evidence(
                "identity",
                f"JS/m lies between {lowest:.4f} and {highest:.4f} for {len(bits)} pairs (m, a); the formula agrees "
                f"with the divergence summed over the vocabulary (largest difference {formula:.1e})",
            ),
            Evidence(
                "enumeration", f"the neighbourhoods are nested as stated for every token of {len(cases(seed))} rows"
            ),
            Evidence("control", "the same comparison finds that in nats they are not"),
        ],
    )


def _spread(seed: int) -> list[Case]:
    """Rows where one token has nearly all mass and the others little: where nats and bits differ most."""
    found = []
    for top in (60, 70, 80):
        p = (Fraction(top, 100), *[Fraction(100 - top, 400)] * 4)
        lists = [[y for y in range(5) if y != x] for x in range(5)]
        found.append((p, p, lists, Fraction(1, 10)))
    return found


def _formula_gap(p: Any, lists: list[list[int]], delta: Fraction) -> float:
    """How far the formula in (m, a) is from the divergence between the rows themselves."""
    rule = Lantern(lists, delta)
    rows, x = each_token(rule, p)
    given = rule.conditional_rows(rows, x)
    moved = at(given, x) - at(rows, x)
    return float(max(abs(_js_of(m, a) - j) for m, a, j in zip(moved, p, js(given, rows), strict=True)))


def _between(p: Any, lists: list[list[int]], delta: Fraction, bound: str) -> tuple[bool, bool]:
    """Whether the neighbourhood of ``bound`` holds that of TV delta, and lies in that of TV 2 delta."""
    size = {}
    for name, rule in (
        ("tv", Lantern(lists, delta)),
        ("js", Lantern(lists, delta, bound)),
        ("tv2", Lantern(lists, min(2 * delta, Fraction(1)))),
    ):
        rows, x = each_token(rule, p)
        size[name] = rule.joined_rows(rows, x)[0].sum(axis=1)
    return bool((size["tv"] <= size["js"]).all()), bool((size["js"] <= size["tv2"]).all()) or 2 * delta > 1


@CLAIMS.claim(
    "lantern.jsd.nats", "4.3.2", "The same with the divergence in nats, as numerical libraries give it.", stated=False
)
def jsd_nats(seed: int) -> Finding:
    """Nats are bits times log 2, so m log(2)/2 < JS <= m log 2: a bound delta admits every m below delta/log 2 = 1.44
    delta and, where x has much mass itself, m up to nearly 2 delta/log 2 = 2.89 delta. The left part of the statement
    holds, the right does not.
    """
    m, a, delta = Fraction(1, 4), Fraction(3, 4), Fraction(1, 10)
    value = _js_of(m, a)
    outside = value < delta and m >= 2 * delta
    left = all(_between(p, lists, d, "jsd")[0] for p, _, lists, d in cases(seed))
    return Finding(
        "refuted" if outside and left else "not-refuted",
        [
            Evidence(
                "counterexample",
                "p = (3/4, 1/4), x = 0, its neighbour joins: m = 1/4 is more than 2 delta = 1/5, and the divergence "
                f"is {value:.4f} nats, below delta = 1/10",
                numbers(p=(a, m), q=(a, m), delta=delta, moved=m, divergence=value),
            ),
            Evidence("enumeration", "the left part, TV delta within JS delta, holds for every row tried"),
        ],
    )


@CLAIMS.claim(
    "lantern.jsd.root",
    "4.3.2",
    "The same with the Jensen-Shannon distance, the square root of the divergence.",
    stated=False,
)
def jsd_root(seed: int) -> Finding:
    """The root is below delta if JS < delta^2, so m may be at most about 2 delta^2 (in bits), which is less than
    delta for delta < 1/2: the bound is stricter than TV delta, not looser.
    """
    m, a, delta = Fraction(1, 10), Fraction(0), Fraction(1, 5)
    value = _js_of(m, a) ** 0.5
    return Finding(
        "refuted" if value >= delta and m < delta else "not-refuted",
        [
            Evidence(
                "counterexample",
                "p = (0, 1/10, 9/10), x = 0, its neighbour 1 would join: m = 1/10 is below delta = 1/5, and the "
                f"distance is {value:.4f}, above delta",
                numbers(p=(a, m, 1 - m), q=(Fraction(1, 3),) * 3, delta=delta, moved=m, distance=value),
            )
        ],
    )
