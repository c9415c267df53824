"""Claims of GSD about what it is compared with: the naive lossy rules, and how differences add up to TV."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

from simlab import mutants
from simlab.rules import Addition, Amplify, Grouped, Rule
from theory.acceptance import alpha
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    control,
    counterexample,
    described,
    example,
    holds_if,
    holds_under_assumptions_if,
    identity,
    refuted_if,
    rejects_mutants,
    require,
    search,
)
from theory.claims.format import fmt, numbers
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.example_processes import random_row
from theory.search import Pmf, grouped_pairs, searched, smallest_violation

CLAIMS = Claims("gsd")

# Against the naive lossy rules ---------------------------------------------------------------------------------

CLAIMS.summary(
    "gsd.naive-lossy",
    "5.1, Fig. 10",
    "Amplify (k p/q) and addition ((p + epsilon)/q) distort more than GSD at equal acceptance, and "
    '"explode when q becomes small".',
    ["gsd.naive-lossy.tv", "gsd.naive-lossy.explode", "gsd.naive-lossy.empirical"],
)


def amplify_for(p: Pmf, q: Pmf, wanted: Fraction) -> Fraction:
    """The k at which amplify accepts ``wanted``: sum min(q, k p) is piecewise linear in k."""
    corners = sorted({y / x for x, y in zip(p, q, strict=True) if x > 0} | {Fraction(0)})
    for low, high in zip(corners, [*corners[1:], None], strict=True):
        at_low = sum((min(y, low * x) for x, y in zip(p, q, strict=True)), Fraction(0))
        slope = sum((x for x, y in zip(p, q, strict=True) if x > 0 and y / x > low), Fraction(0))
        if slope and (high is None or wanted <= at_low + slope * (high - low)):
            return low + (wanted - at_low) / slope
    return corners[-1]


@CLAIMS.claim(
    "gsd.naive-lossy.tv",
    "5.1",
    "At equal acceptance amplify and addition distort the one-step law more than GSD, measured in TV.",
)
def naive_lossy_tv(seed: int) -> Finding:
    """The reverse is true for every pair and partition at which amplify can accept as much. Amplify with k >= 1 and
    addition accept with a >= min(1, p/q), so they spend exactly the TV they gain in acceptance, the least any rule with
    one candidate can (leviathan.frontier). GSD accepts some tokens less often than min(1, p/q) and others more often,
    and spends at least as much. What this does not decide is whether images suffer more: TV does not know which
    tokens look alike.
    """

    def compared(e: tuple[Pmf, Pmf, tuple[int, ...]]) -> tuple[Fraction, Fraction, Fraction] | None:
        """k of equal acceptance, TV of amplify and of GSD; None where GSD gains nothing or amplify cannot follow."""
        p, q, labels = e
        wanted = acceptance(Grouped(labels), p, q)
        reachable = sum(y for x, y in zip(p, q, strict=True) if x > 0)  # amplify never accepts what p excludes
        if not alpha(p, q) < wanted <= reachable:
            return None
        k = amplify_for(p, q, wanted)
        require(acceptance(Amplify(k), p, q) == wanted, f"amplify at k = {k} does not accept {wanted}")
        return k, tv(step_law(Amplify(k), p, q), p), tv(step_law(Grouped(labels), p, q), p)

    def violates(sign: int) -> Callable[[Any], bool]:
        def test(e: Any) -> bool:
            found = compared(e)
            return found is not None and sign * (found[1] - found[2]) > 0

        return test

    better = smallest_violation(grouped_pairs, violates(-1), seed)
    worse = smallest_violation(grouped_pairs, violates(1), seed)
    require(worse is None, f"the argument is contradicted: amplify distorts more on {worse}")
    if better is None:
        return Finding("not-refuted", [search(searched())])
    p, q, labels = better
    k, spent, grouped = compared(better) or (Fraction(0),) * 3
    return Finding(
        "refuted",
        [
            counterexample(
                f"amplify with k = {fmt(k)} accepts as much as groups {labels} "
                f"({fmt(acceptance(Amplify(k), p, q))}; lossless {fmt(alpha(p, q))}) at TV {fmt(spent)} against "
                f"{fmt(grouped)}",
                described("grouped", {"labels": labels}, p, q, k=k, tv_amplify=spent),
            ),
            search(
                "the other way round, amplify distorting more than GSD at equal acceptance: " + searched(),
            ),
        ],
    )


CLAIMS.summary(
    "gsd.naive-lossy.explode",
    "5.1",
    "Amplify and addition distort badly where q(x) becomes small, because their ratio explodes.",
    [
        "gsd.naive-lossy.explode.amplify",
        "gsd.naive-lossy.explode.addition",
        "gsd.naive-lossy.explode.token",
        "gsd.naive-lossy.explode.scale",
    ],
)


@CLAIMS.claim(
    "gsd.naive-lossy.explode.amplify",
    "5.1",
    "At fixed k, amplify's TV to p approaches 1 as q becomes small everywhere.",
)
def explode_amplify(seed: int) -> Finding:
    """With k >= 1 amplify emits no token more than k times as often as p does: a token with q > p is accepted with mass
    min(q, k p) and gets nothing from the residual, one with q <= p ends at p or below. So law(A) - p(A) <=
    min(1, k p(A)) - p(A) <= 1 - 1/k for every set of tokens A, however small q is.
    """
    random, k = Random(seed), Fraction(2)
    rows = [*((random_row(random, 5), random_row(random, 5)) for _ in range(200)), *map(_flat, (10, 100))]

    def excess(rule: Rule) -> Fraction:
        """Most that any token is emitted beyond k p."""
        return max(m - k * x for p, q in rows for m, x in zip(step_law(rule, p, q), p, strict=True))

    bounded = excess(Amplify(k)) <= 0 and all(tv(step_law(Amplify(k), *row), row[0]) <= 1 - 1 / k for row in rows)
    seen = {v: tv(step_law(Amplify(k), *_flat(v)), _flat(v)[0]) for v in (10, 100)}
    return refuted_if(
        bounded,
        counterexample(
            "q = 1/V for every token and p certain: amplify with k = 2 is off by TV "
            + ", ".join(f"{fmt(value)} at V = {v}" for v, value in seen.items()),
            described("amplify", {"k": 2}, *_flat(10)),
        ),
        identity(f"law <= 2 p token by token, and so TV <= 1/2, on {len(rows)} pairs"),
        rejects_mutants({"addition": Addition(Fraction(1, 10))}, excess, "the bound k p"),
    )


@CLAIMS.claim(
    "gsd.naive-lossy.explode.addition",
    "5.1",
    "Where q is at most epsilon for every token, as in a uniform draft over a large vocabulary, addition accepts every "
    "draft: what comes out is q.",
)
def explode_addition(seed: int) -> Finding:
    """(p + epsilon)/q >= 1 for every token, so nothing is rejected and law = q: TV(law, p) = TV(p, q), the most there
    is to lose. SJD starts new drafts uniform, so with V >= 1/epsilon it accepts them all, and what it emits is noise.
    """
    p, q = _flat(10)
    rule = Addition(Fraction(1, 10))
    law = step_law(rule, p, q)
    slightly = step_law(Addition(Fraction(9, 100)), p, q)
    require(list(slightly) != list(q), "epsilon below q accepts every draft as well: the check cannot fail")
    return holds_if(
        list(law) == list(q),
        example(
            f"ten tokens, q = 1/10 for each, p certain, epsilon = 0.1: acceptance {fmt(acceptance(rule, p, q))}, "
            f"TV {fmt(tv(law, p))}; amplify is exact on the same rows",
            described("addition", {"epsilon": 0.1}, p, q),
        ),
        control("with epsilon = 0.09, below q, the law is no longer q"),
    )


@CLAIMS.claim(
    "gsd.naive-lossy.explode.token",
    "5.1",
    "A single token is emitted too often by more, the smaller its own q(x).",
    stated=False,
)
def explode_token(seed: int) -> Finding:
    """Acceptance is capped at 1 and a token is drafted with probability q(x), so accepting more of it adds at most q(x)
    to its law, whatever the ratio. (A token can lack more than that: its share of the residual shrinks when other
    tokens are accepted too often. That is large where p is much larger than q, and has nothing to do with the ratio.)
    """
    random = Random(seed)
    rows = [(random_row(random, 4), random_row(random, 4)) for _ in range(200)]

    def excess(rule: Rule) -> Fraction:
        """Most that any token gains beyond its draft probability."""
        return max(m - x - y for p, q in rows for m, x, y in zip(step_law(rule, p, q), p, q, strict=True))

    worst = max(excess(Amplify(5)), excess(Addition(Fraction(3, 10))))
    rule = Addition(Fraction(1, 10))
    pairs_of = {n: ((Fraction(0), Fraction(1)), (Fraction(1, n), 1 - Fraction(1, n))) for n in (10, 100, 1000)}
    gained = {n: step_law(rule, *pair)[0] for n, pair in pairs_of.items()}
    shrinks = gained[10] > gained[100] > gained[1000]
    return refuted_if(
        worst <= 0 and shrinks,
        counterexample(
            "p(x) = 0, addition with epsilon = 0.1: x is emitted with probability "
            + ", ".join(f"{fmt(value)} at q(x) = 1/{n}" for n, value in gained.items()),
            described("addition", {"epsilon": 0.1}, *pairs_of[1000]),
        ),
        identity(
            f"law(x) - p(x) <= q(x) for every token of {len(rows)} pairs, both rules (most excess: {fmt(worst)})",
        ),
        rejects_mutants({"residual not renormalised": mutants.ResidualNotNormalised()}, excess, "the bound q(x)"),
    )


def _flat(size: int) -> tuple[Pmf, Pmf]:
    """A certain target and a uniform draft."""
    return (Fraction(1), *[Fraction(0)] * (size - 1)), (Fraction(1, size),) * size


# Accumulation --------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "gsd.accumulation",
    "3.2, Fig. 6",
    "Near-uniform pairs over a large support have larger TV than concentrated pairs, per-token differences "
    "being small.",
    ["gsd.accumulation.bounded", "gsd.accumulation.always"],
)


@CLAIMS.claim(
    "gsd.accumulation.bounded",
    "3.2, Fig. 6",
    "At a given largest per-token difference e, TV can reach e floor(V/2) for e <= 2/V: it grows with the support.",
    assumptions=["the largest per-token difference is what is held fixed"],
)
def accumulation(seed: int) -> Finding:
    """TV is the sum of the positive differences and also of the negative ones. One of the two kinds has at most
    floor(V/2) tokens, so TV <= e floor(V/2). A near-uniform pair reaches it: add e/2 to half of the tokens and take
    it from the other half, which leaves pmfs while e <= 2/V. A pair that differs on m tokens only is limited to
    e floor(m/2).
    """
    random, e = Random(seed), Fraction(1, 100)
    reached = {v: tv(*_alternating(v, e)) for v in (2, 3, 10, 11, 50, 99, 100)}
    rows = [(random_row(random, size), random_row(random, size)) for size in (3, 4, 5, 6, 7) for _ in range(80)]
    rows += [_alternating(v, e) for v in reached]

    def excess(halves: Callable[[int], int]) -> Fraction:
        """Most that TV is above the largest difference times ``halves(V)``."""
        largest = [max(abs(x - y) for x, y in zip(p, q, strict=True)) for p, q in rows]
        return max(tv(p, q) - top * halves(len(p)) for (p, q), top in zip(rows, largest, strict=True))

    right = excess(lambda v: v // 2) <= 0 and all(value == e * (v // 2) for v, value in reached.items())
    return holds_under_assumptions_if(
        right,
        identity(
            "at e = 0.01, near-uniform pairs over V tokens: "
            + ", ".join(f"V = {v}: TV = {fmt(value)}" for v, value in reached.items()),
        ),
        rejects_mutants({"floor(V/2) - 1 for floor(V/2)": lambda v: v // 2 - 1}, excess, "the bound on TV"),
    )


def _alternating(size: int, e: Fraction) -> tuple[Pmf, Pmf]:
    """A near-uniform pair that differs by e on an even number of tokens, up and down in turn."""
    signs = [(-1) ** x if x < size - size % 2 else 0 for x in range(size)]
    p, q = (tuple(Fraction(1, size) + side * sign * e / 2 for sign in signs) for side in (1, -1))
    return p, q


@CLAIMS.claim(
    "gsd.accumulation.always",
    "3.2, Fig. 6",
    "A near-uniform pair always has larger TV than a concentrated one.",
    stated=False,
)
def accumulation_always(seed: int) -> Finding:
    """Nothing about being near uniform makes p and q differ."""
    flat, sharp = (Fraction(1, 4),) * 4, (Fraction(1), *[Fraction(0)] * 3)
    other = (Fraction(0), Fraction(1), Fraction(0), Fraction(0))
    less = tv(flat, flat) < tv(sharp, other)
    return refuted_if(
        less,
        counterexample(
            f"two equal uniform rows have TV {tv(flat, flat)}, two different point masses {tv(sharp, other)}",
            numbers(
                p=flat,
                q=flat,
                tv=tv(flat, flat),
                p_concentrated=sharp,
                q_concentrated=other,
                tv_concentrated=tv(sharp, other),
            ),
        ),
    )
