"""Claims about LANTERN as its published reference code runs it, and about the bound of LANTERN++."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from simlab.arrays import Array, normalised, without
from simlab.rules import Lantern, LanternMultiplicative, LanternReference, Rule, Speculative, codebook_neighbours
from theory.acceptance import alpha
from theory.candidates import candidates_law
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    counterexample,
    described,
    enumeration,
    example,
    holds_if,
    identity,
    refuted_if,
    rejects_mutants,
    require,
    require_found,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.lantern.relaxation import cases
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.example_processes import point_mass, random_row
from theory.search import relaxed_pairs, smallest_violation

CLAIMS = Claims("lantern")


# The dynamic tree ----------------------------------------------------------------------------------------------


def deterministic_law(rule: Rule, p: Any, tokens: list[int]) -> Array:
    """The law of the token emitted when ``tokens`` are verified in turn as what they are: point masses."""
    if not tokens:
        return np.array(p, dtype=object)
    x, *others = tokens
    q = point_mass(x, len(p))
    accept = rule.accept(p, q, x)[()]
    law = (1 - accept) * deterministic_law(rule, rule.residual(p, q, x), others)
    law[x] += accept
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
    tried = [random_row(random, 2 + k % 4) for k in range(60)]

    def gap(k: int) -> Fraction:
        worst = Fraction(0)
        for p in tried:
            size = len(p)
            lists = [[(x + j) % size for j in range(1, min(k, size - 1) + 1)] for x in range(size)]
            rule = LanternReference(lists, Fraction(1, 2))
            worst = max(worst, *(tv(deterministic_law(rule, p, list(range(n))), p) for n in range(1, size)))
        return worst

    return holds_if(
        gap(0) == 0,
        enumeration(f"law p in rationals for {len(tried)} rows and 1 to V - 1 candidates"),
        rejects_mutants({"one neighbour": 1}, gap, "the law of deterministic candidates"),
    )


@CLAIMS.claim(
    "lantern-reference.dynamic.residual",
    "reference code",
    "Zeroing the k + 1 tokens around a rejected candidate draws from the residual the paper states, [p_A - q]+.",
)
def dynamic_residual(seed: int) -> Finding:
    """For a point mass q on x, [p_A - q]+ is p outside A, A being the neighbours that the bound lets join. The code
    zeroes all k as soon as one has joined: neighbours that did not join have not been paid for in the accept
    probability, and are lost.
    """
    found = require_found(
        smallest_violation(relaxed_pairs, _differs, seed), "the search finds no residual that differs"
    )
    p, _, lists, delta = found
    x = next(x for x in range(len(p)) if _distinguished(found, x))
    paper, code = _residuals(found, x)
    q = point_mass(x, len(p))
    rule = LanternReference(lists, delta)
    spent = tv(step_law(rule, p, q), p)
    gained = acceptance(rule, p, q) - alpha(p, q)
    return Finding(
        "refuted",
        [
            counterexample(
                f"{len(p)} tokens, delta = {fmt(delta)}, candidate {x} rejected: the paper draws from "
                f"{fmt_row(paper)}, the code from {fmt_row(code)}; TV spent {fmt(spent)} for {fmt(gained)} of "
                "acceptance gained",
                described("lantern-reference", {"neighbours": lists, "delta": delta, "bound": "tv"}, p, q, x=x),
            )
        ],
    )


def _residuals(e: Any, x: int) -> tuple[tuple, tuple]:
    p, _, lists, delta = e
    q = point_mass(x, len(p))
    return tuple(Lantern(lists, delta).residual(p, q, x)), tuple(LanternReference(lists, delta).residual(p, q, x))


def _differs(e: Any) -> bool:
    return any(_distinguished(e, x) for x in range(len(e[0])))


def _distinguished(e: Any, x: int) -> bool:
    """Whether paper and code draw from different rows, and something is left outside the zeroed tokens."""
    paper, code = _residuals(e, x)
    return paper != code and code != e[0]


# The static tree -----------------------------------------------------------------------------------------------

CLAIMS.summary(
    "lantern-reference.static",
    "reference code",
    "The static tree samples siblings without replacement and, on rejection, zeroes the candidate's neighbours in "
    "the draft row as well: with a bound that lets no neighbour join, the law is p.",
    ["lantern-reference.static.skipped", "lantern-reference.static.scored"],
)
NEXT = "each token has the next as its neighbour, two siblings, nothing joins"


def zeroed(q: Array, x: int) -> Array:
    """The draft row without x and the next token, scaled up."""
    rest = without(q, x)
    rest[(x + 1) % len(rest)] *= 0
    return normalised(rest, rest * 0)


def skipping_law(p: Array, q: Array) -> Array:
    """The law of two siblings where the second is not verified if the zeroed row excludes it."""
    rule, law = Speculative(), p * 0
    for x, drawn in enumerate(q):
        if not drawn > 0:
            continue
        accept = rule.accept(p, q, x)[()]
        law[x] += drawn * accept
        rest, scored = rule.residual(p, q, x), zeroed(q, x)
        for y, second in enumerate(without(q, x)):
            weight = drawn * (1 - accept) * second
            if weight > 0 and not scored[y] > 0:
                law = law + weight * rest
            elif weight > 0:
                again = rule.accept(rest, scored, y)[()]
                law[y] += weight * again
                law = law + weight * (1 - again) * rule.residual(rest, scored, y)
        unused = 1 - sum(without(q, x))
        law = law + drawn * (1 - accept) * unused * rest
    return law


@CLAIMS.claim(
    "lantern-reference.static.skipped",
    "reference code",
    "A sibling whose score is zero is skipped: then the law is p.",
)
def static_skipped(seed: int) -> Finding:
    """Whether the second sibling is one of the zeroed tokens depends on the first alone, and on its own draw, not on
    p. If it is, the token is drawn from the residual, which is right for one candidate. If not, it follows the zeroed
    row, scaled up, and is verified with that row. In both cases what is emitted follows p.
    """
    random = Random(seed)
    tried = [(random_row(random, 3 + k % 3), random_row(random, 3 + k % 3)) for k in range(40)]

    def gap(law: Callable[[Array, Array], Array]) -> Fraction:
        return max(Fraction(tv(tuple(law(np.array(p, dtype=object), np.array(q, dtype=object))), p)) for p, q in tried)

    worst = gap(skipping_law)
    return holds_if(
        worst == 0,
        enumeration(f"{NEXT}: law p in rationals for {len(tried)} pairs (largest TV {fmt(worst)})"),
        rejects_mutants({"scored, not skipped": _scored_law}, gap, "the law of siblings"),
    )


def _scored_law(p: Array, q: Array) -> Array:
    return candidates_law(Speculative(), p, q, 2, zeroed)[0]


@CLAIMS.claim(
    "lantern-reference.static.scored",
    "reference code",
    "Every second sibling is verified against the zeroed row: then the law is p.",
    stated=False,
)
def static_scored(seed: int) -> Finding:
    """The second sibling was drawn from q without the first token, not without its neighbours. Verifying it with a
    row that lacks them is verifying it with a q it does not follow. (A token the row excludes is accepted, as where
    q(x)
    = 0.)
    """
    p = (Fraction(1, 8), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2))
    q = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))
    law = candidates_law(Speculative(), p, q, 2, zeroed)[0]
    require(tuple(candidates_law(Speculative(), p, q, 2)[0]) == p, "siblings without replacement are not exact there")
    return refuted_if(
        tuple(law) != p,
        counterexample(
            f"{NEXT}, q = {fmt_row(q)}: law {fmt_row(law)} where p = {fmt_row(p)}; with only the sibling "
            "itself taken out the law is p",
            numbers("speculative", {"candidates": 2}, p=p, q=q, law=law, tv=tv(tuple(law), p)),
        ),
    )


# The multiplicative bound --------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern-reference.multiplicative",
    "LANTERN++; reference code",
    "With a factor lambda the conditional target gives x at most lambda p(x), and no token is accepted with more mass "
    "than lambda p(x): TV of the output is at most 1 - 1/lambda.",
    stated=False,
)
def multiplicative(seed: int) -> Finding:
    """P(A) <= lambda p(x) by construction, so a draft is accepted with mass min(q, P(A)) <= lambda p(x). Tokens with q
    > p are emitted only by being accepted, and others never more than p (the proof of lantern.frontier): law <= lambda
    p token by token. So for any set of tokens law - p <= (1 - 1/lambda) law, and TV <= 1 - 1/lambda. An additive bound
    delta has no such limit (lantern.output-bound.step). And a token of target probability 0 is never emitted.
    """
    tried = cases(seed)

    def excess(make: Callable[[Any], Rule]) -> Fraction:
        worst = Fraction(0)
        for p, q, lists, _ in tried:
            law = step_law(make(lists), p, q)
            worst = max(worst, tv(law, p) - Fraction(1, 2), *(m - 2 * x for m, x in zip(law, p, strict=True)))
        return worst

    worst = excess(lambda lists: LanternMultiplicative(lists, 2))
    return holds_if(
        worst <= 0,
        identity(f"lambda = 2 on {len(tried)} pairs: law <= 2 p token by token, TV <= 1/2"),
        rejects_mutants({"additive bound, delta = 1": lambda lists: Lantern(lists, 1)}, excess, "the factor"),
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
    return refuted_if(
        raw[0] != unit[0],
        counterexample(
            f"vectors (1, 0), (0, 1), (4, 0): the nearest token of 0 is {int(raw[0, 0])} raw and "
            f"{int(unit[0, 0])} normalised",
            described(
                "lantern",
                {"neighbours": raw, "delta": Fraction(2, 5), "bound": "tv"},
                (Fraction(1, 2), Fraction(1, 5), Fraction(3, 10)),
                (Fraction(1), Fraction(0), Fraction(0)),
                codebook=vectors,
                normalised=unit,
            ),
        ),
        example(f"64 Gaussian vectors in 8 dimensions share {share:.0%} of their ten nearest tokens"),
    )
