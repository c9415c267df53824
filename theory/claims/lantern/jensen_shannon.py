"""Claims of LANTERN about its other bound, the Jensen-Shannon divergence: in bits, in nats, and its root."""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import scipy

from simlab.arrays import at
from simlab.rules import Lantern
from simlab.rules.lantern import moved_js
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    control,
    counterexample,
    enumeration,
    example,
    holds_under_assumptions_if,
    identity,
    refuted_if,
    require,
)
from theory.claims.format import numbers
from theory.claims.lantern.relaxation import Case, cases, each_token
from theory.distances import js

CLAIMS = Claims("lantern")

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
    return holds_under_assumptions_if(
        inside and nested,
        identity(
            f"JS/m lies between {lowest:.4f} and {highest:.4f} for {len(bits)} pairs (m, a); the formula agrees "
            f"with the divergence summed over the vocabulary (largest difference {formula:.1e})",
        ),
        enumeration(f"the neighbourhoods are nested as stated for every token of {len(cases(seed))} rows"),
        control("the same comparison finds that in nats they are not"),
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


@CLAIMS.claim("lantern.jsd.nats", "4.3.2", "The same with the divergence in nats, as numerical libraries give it.")
def jsd_nats(seed: int) -> Finding:
    """Nats are bits times log 2, so m log(2)/2 < JS <= m log 2: a bound delta admits every m below delta/log 2 = 1.44
    delta and, where x has much mass itself, m up to nearly 2 delta/log 2 = 2.89 delta. The left part of the statement
    holds, the right does not. For flat rows, where p(x) is small beside what moves, the bound is that of TV 1.44
    delta, between the two: for these the statement is true, and Table 4's accepted lengths (2.09, 2.29, 2.40 at delta
    = 0.2) fit it. In bits it would be that of TV delta there, and the lengths equal.
    """
    m, a, delta = Fraction(1, 4), Fraction(3, 4), Fraction(1, 10)
    value = _js_of(m, a)
    outside = value < delta and m >= 2 * delta
    left = all(_between(p, lists, d, "jsd")[0] for p, _, lists, d in cases(seed))
    return refuted_if(
        outside and left,
        counterexample(
            "p = (3/4, 1/4), x = 0, its neighbour joins: m = 1/4 is more than 2 delta = 1/5, and the divergence "
            f"is {value:.4f} nats, below delta = 1/10",
            numbers(p=(a, m), q=(a, m), delta=delta, moved=m, divergence=value),
        ),
        enumeration("the left part, TV delta within JS delta, holds for every row tried"),
        example(
            f"for p(x) = 0 a bound of 1/5 in nats admits masses below {1 / (5 * log(2)):.4f}, in bits below 0.2; "
            f"nats sit between TV delta and 2 delta while p(x) is at most {_threshold():.2f} times what moves",
        ),
    )


def _threshold() -> float:
    """The largest a/m for which JS in nats is at least m/2: what a bound delta admits is then below 2 delta."""
    return float(
        scipy.optimize.brentq(lambda ratio: _js_of(Fraction(1, 1000), Fraction(ratio / 1000)) - 1 / 2000, 1e-6, 10)
    )


@CLAIMS.claim(
    "lantern.jsd.root",
    "4.3.2",
    "The same with the Jensen-Shannon distance, the square root of the divergence.",
    stated=False,
)
def jsd_root(seed: int) -> Finding:
    """The root is below delta if JS < delta^2, and JS > m log(2)/2 in nats, so m < 2.89 delta^2. That is less than
    delta for delta < 0.34, all values the paper uses but one: there the bound is stricter than TV delta, not looser.
    """
    m, a, delta = Fraction(1, 10), Fraction(0), Fraction(1, 5)
    value = _js_of(m, a) ** 0.5
    return refuted_if(
        value >= delta and m < delta,
        counterexample(
            "p = (0, 1/10, 9/10), x = 0, its neighbour 1 would join: m = 1/10 is below delta = 1/5, and the "
            f"distance is {value:.4f}, above delta",
            numbers(p=(a, m, 1 - m), q=(Fraction(1, 3),) * 3, delta=delta, moved=m, distance=value),
        ),
    )
