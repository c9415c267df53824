"""Claims about LANTERN as its published reference code runs it, and about the bound of LANTERN++."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from simlab.arrays import Array, normalised
from simlab.rules import Lantern, LanternMultiplicative, LanternReference, Rule, Speculative, codebook_neighbours
from theory.acceptance import alpha
from theory.candidates import candidates_law, without
from theory.claims.base import Claims, Evidence, Finding, caught, described, needed, numbers, require, shown, shown_row
from theory.claims.lantern import cases
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.search import Pmf, pairs, relaxed_pairs, smallest_violation
from theory.worlds import random_row

CLAIMS = Claims("lantern")


# The dynamic tree ----------------------------------------------------------------------------------------------


def deterministic_law(rule: Rule, p: Any, tokens: list[int]) -> Array:
    """The law of the token emitted when ``tokens`` are verified in turn as what they are: point masses."""
    if not tokens:
        return np.array(p, dtype=object)
    x, *others = tokens
    q = tuple(Fraction(int(y == x)) for y in range(len(p)))
    keep = rule.accept(p, q, x)[()]
    law = (1 - keep) * deterministic_law(rule, rule.residual(p, q, x), others)
    law[x] += keep
    return law


CLAIMS.summary(
    "lantern-reference.dynamic",
    "reference code",
    "The dynamic tree verifies deterministic top-k candidates with q = 1 and, on rejection, zeroes the first k + 1 "
    "neighbours of the candidate in p: the rule of the paper for such candidates.",
    ["lantern-reference.dynamic.lossless", "lantern-reference.dynamic.residual"],
)


@CLAIMS.claim(
    "lantern-reference.dynamic.lossless",
    "reference code",
    "Without neighbours (k = 0) deterministic candidates scored with q = 1 leave the law p.",
)
def dynamic_lossless(seed: int) -> Finding:
    """A deterministic candidate x is a draft from the point mass on x, for which min(1, p/q) = p(x) and [p - q]+ is p
    without x, scaled up. So each candidate is verified exactly, and by induction so are distinct candidates in turn.
    """
    random = Random(seed)
    tried = [(random_row(random, 2 + k % 4), random) for k in range(60)]

    def gap(k: int) -> Fraction:
        worst = Fraction(0)
        for p, _ in tried:
            size = len(p)
            lists = [[(x + j) % size for j in range(1, min(k, size - 1) + 1)] for x in range(size)]
            rule = LanternReference(lists, Fraction(1, 10))
            worst = max(worst, *(tv(deterministic_law(rule, p, list(range(n))), p) for n in range(1, size)))
        return worst

    return Finding(
        "holds" if gap(0) == 0 else "refuted",
        [
            Evidence("enumeration", f"law p in rationals for {len(tried)} rows and 1 to V - 1 candidates"),
            caught({"one neighbour": 1}, gap, "the law of deterministic candidates"),
        ],
    )


@CLAIMS.claim(
    "lantern-reference.dynamic.residual",
    "reference code",
    "Zeroing the k + 1 tokens around a rejected candidate draws from the residual the paper states, [p_A - q]+.",
)
def dynamic_residual(seed: int) -> Finding:
    """For a point mass q on x, [p_A - q]+ is p outside A, A being the neighbours that the bound lets join. The code
    zeroes all k: neighbours that did not join have not been paid for in the accept probability, and are
    lost. With a bound that lets none join it accepts like the lossless rule and still leaves them out.
    """
    found = needed(smallest_violation(relaxed_pairs, _differs, seed), "the search finds no residual that differs")
    p, _, lists, delta = found
    x = next(x for x in range(len(p)) if _told_apart(found, x))
    paper, code = _residuals(found, x)
    q = tuple(Fraction(int(y == x)) for y in range(len(p)))
    rule = LanternReference(lists, delta)
    spent = tv(step_law(rule, p, q), p)
    gained = acceptance(rule, p, q) - alpha(p, q)
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                f"{len(p)} tokens, delta = {shown(delta)}, candidate {x} rejected: the paper draws from "
                f"{shown_row(paper)}, the code from {shown_row(code)}; TV spent {shown(spent)} for {shown(gained)} of "
                "acceptance gained",
                described("lantern-reference", {"neighbours": lists, "delta": delta, "bound": "tv"}, p, q, x=x),
            )
        ],
    )


def _residuals(e: Any, x: int) -> tuple[tuple, tuple]:
    p, _, lists, delta = e
    q = tuple(Fraction(int(y == x)) for y in range(len(p)))
    return tuple(Lantern(lists, delta).residual(p, q, x)), tuple(LanternReference(lists, delta).residual(p, q, x))


def _differs(e: Any) -> bool:
    return any(_told_apart(e, x) for x in range(len(e[0])))


def _told_apart(e: Any, x: int) -> bool:
    """Whether paper and code draw from different rows, and something is left outside the zeroed tokens."""
    paper, code = _residuals(e, x)
    return paper != code and code != e[0]


# The static tree -----------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern-reference.static",
    "reference code",
    "The static tree samples siblings without replacement and, on rejection, zeroes the candidate's neighbours in "
    "the draft row as well: with a bound that lets no neighbour join, the law is p.",
)
def static_tree(seed: int) -> Finding:
    """The second sibling was drawn from q without the first token, not without its neighbours. Scoring it with a row
    that lacks them is scoring it with a q it does not follow, and the law is off even where the accept
    probability of the first is the lossless one.
    """

    def zeroing(lists: Any) -> Callable[[Array, int], Array]:
        def after(q: Array, x: int) -> Array:
            rest = without(q, x)
            for y in lists[x]:
                rest[y] = rest[y] * 0
            return normalised(rest, rest)

        return after

    def gap(e: tuple[Pmf, Pmf]) -> Fraction:
        p, q = e
        lists = [[(x + 1) % len(p)] for x in range(len(p))]
        law, _ = candidates_law(Speculative(), p, q, 2, zeroing(lists))
        return Fraction(tv(tuple(law), p))

    found = needed(smallest_violation(pairs, lambda e: gap(e) > 0, seed), "the search finds no law that is off")
    p, q = found
    right = candidates_law(Speculative(), p, q, 2)[0]
    require(tuple(right) == p, "siblings without replacement are not exact on the counterexample")
    law, _ = candidates_law(Speculative(), p, q, 2, zeroing([[(x + 1) % len(p)] for x in range(len(p))]))
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                f"{len(p)} tokens, each with the next as neighbour, two siblings, nothing joins: law {shown_row(law)} "
                f"where p = {shown_row(p)}; with only the sibling itself taken out the law is p",
                numbers("speculative", {"candidates": 2}, p=p, q=q, law=law, tv=gap(found)),
            )
        ],
    )


# The multiplicative bound --------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern-reference.multiplicative",
    "LANTERN++; reference code",
    "With a factor lambda the conditional target gives x at most lambda p(x), and no token is kept with more mass "
    "than lambda p(x): TV of the output is at most 1 - 1/lambda.",
    stated=False,
)
def multiplicative(seed: int) -> Finding:
    """P(A) <= lambda p(x) by construction, so a draft is kept with mass min(q, P(A)) <= lambda p(x). Tokens with q >
    p are emitted only by being kept, and others never more than p (the proof of lantern.frontier): law <= lambda p
    token by token. So for any set of tokens law - p <= (1 - 1/lambda) law, and TV <= 1 - 1/lambda. An additive bound
    delta has no such limit (lantern.output-bound.step): the factor is what a relaxation that never makes a token much
    likelier than the target does needs, and it never emits a token of target probability 0.
    """
    tried = cases(seed)

    def excess(make: Callable[[Any], Rule]) -> Fraction:
        worst = Fraction(0)
        for p, q, lists, _ in tried:
            law = step_law(make(lists), p, q)
            worst = max(worst, tv(law, p) - Fraction(1, 2), *(m - 2 * x for m, x in zip(law, p, strict=True)))
        return worst

    worst = excess(lambda lists: LanternMultiplicative(lists, 2))
    return Finding(
        "holds" if worst <= 0 else "refuted",
        [
            Evidence("identity", f"lambda = 2 on {len(tried)} pairs: law <= 2 p token by token, TV <= 1/2"),
            caught({"additive bound, delta = 1": lambda lists: Lantern(lists, 1)}, excess, "the factor"),
        ],
    )


@CLAIMS.claim(
    "lantern-reference.codebook",
    "reference code",
    "Neighbours by L2 on the raw codebook are those of the normalised codebook that decoding uses.",
)
def codebook(seed: int) -> Finding:
    """Distances between raw vectors mix direction and length; after scaling to unit length only the direction is
    left. A short vector is near other short ones in the raw codebook, whatever they point at.
    """
    vectors = [[1, 0], [0, 1], [4, 0]]
    raw, unit = (codebook_neighbours(vectors, 1, normalised=n) for n in (False, True))
    random = np.random.default_rng(seed).normal(size=(64, 8))
    share = float(
        np.mean(
            [
                len(set(a) & set(b)) / 10
                for a, b in zip(*(codebook_neighbours(random, 10, normalised=n) for n in (False, True)), strict=True)
            ]
        )
    )
    lengths = random / np.linalg.norm(random, axis=1, keepdims=True)
    unit_raw, unit_scaled = (codebook_neighbours(lengths, 10, normalised=n) for n in (False, True))
    require(np.array_equal(unit_raw, unit_scaled), "the two disagree on vectors of unit length")
    return Finding(
        "refuted" if raw[0] != unit[0] else "not-refuted",
        [
            Evidence(
                "counterexample",
                f"vectors (1, 0), (0, 1), (4, 0): the nearest token of 0 is {int(raw[0, 0])} raw and "
                f"{int(unit[0, 0])} normalised",
                numbers(p=[1, 0, 0], q=[1, 0, 0], codebook=vectors, raw=raw, normalised=unit),
            ),
            Evidence("example", f"64 Gaussian vectors in 8 dimensions share {share:.0%} of their ten nearest tokens"),
        ],
    )
