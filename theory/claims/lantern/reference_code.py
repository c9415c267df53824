"""Claims about LANTERN as its published code runs it, and about the bound of LANTERN++."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.rules import Lantern, LanternMultiplicative, LanternReference, Rule, codebook_neighbours
from theory.acceptance import alpha
from theory.candidates import candidates_law
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import control, counterexample, described, example, holds_if, identity, refuted_if, require
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import Repository, derived
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.example_processes import point_mass

CLAIMS = Claims("lantern")

CODE = Repository("jadohu/LANTERN", "3a56e451dd5ebfa1903d044f754c68c420de27a9")
LLAMAGEN = "models/ea_model_llamagen.py"
DYNAMIC = CODE.function(
    LLAMAGEN,
    "evaluate_posterior",
    "Verifies the candidates of a level in turn, each scored with q = 1. Of the k nearest tokens those join, in order, "
    "whose mass together is at most delta. After a rejection p is set to zero on the candidate and, if any has joined, "
    "on the k + 1 nearest; p is scaled up, or uniform where nothing is left.",
)
STATIC = CODE.function(
    LLAMAGEN,
    "evaluate_posterior_v1",
    "Verifies siblings drawn without replacement (cnets_llamagen.py, sample), each scored with q(x) / (1 - sum of the "
    "earlier). After a rejection a copy of q without the earlier siblings, scaled up, is set to zero on the k + 1 "
    "nearest tokens if any has joined, and p becomes [p - q]+, or uniform where that is empty.",
)


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
    DYNAMIC,
    "The dynamic tree of LANTERN's published code verifies deterministic candidates by LANTERN's rule.",
    ["lantern-reference.dynamic.lossless", "lantern-reference.dynamic.residual"],
)


@CLAIMS.claim(
    "lantern-reference.dynamic.lossless",
    DYNAMIC,
    r"With $k = 0$ the dynamic tree emits $p$, whatever distinct candidates it verifies in turn with $q(x) = 1$.",
)
def dynamic_lossless(seed: int) -> Finding:
    r"""A deterministic candidate $x$ is a draft from the point mass on $x$, for which $\min(1, p(x)/q(x)) = p(x)$ and
    the residual $\max(0, p - q)$ is $p$ without $x$, scaled up. So the token emitted after one candidate follows $p$
    if what is drawn after a rejection follows that residual; by induction so it is with distinct candidates in turn.
    """
    p, order = (Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)), [1, 0]
    law = deterministic_law(LanternReference([[]] * 3, Fraction(1, 2)), p, order)
    return holds_if(
        proven("lantern-reference.dynamic.lossless") and tv(law, p) == 0,
        example(
            f"p = {fmt_row(p)}, candidates 1 and then 0: law {fmt_row(law)}",
            numbers("lantern-reference", {"k": 0}, p=p, candidates=order, law=law),
        ),
    )


@CLAIMS.claim(
    "lantern-reference.dynamic.residual",
    DYNAMIC,
    r"For every $p$, list of neighbours, $k$ and $\delta$, after a rejected candidate $x$ the dynamic tree draws from "
    r"LANTERN's residual $[p_A(\cdot \mid x) - q]_+$ with $q$ the point mass on $x$: from $p$ outside $A(x)$.",
)
def dynamic_residual(seed: int) -> Finding:
    r"""For a point mass on $x$, $[p_A - q]_+$ is $p$ outside $A$, the neighbours that the bound lets join. The code
    sets $p$ to zero on $k + 1$ tokens as soon as one has joined: those that did not join have not been paid for in the
    accept probability, and are lost. The last of them, the $(k + 1)$-th, never joins, not even where all $k$ do. Where
    they have all that is left, it draws from all tokens alike, those of target probability 0 included. The two agree
    where none joins, or where all that has not joined of what is set to zero has no mass.
    """
    half, third, none = Fraction(1, 2), Fraction(1, 3), Fraction(0)
    lost, nothing = (none, none, half, half), (none, none, Fraction(1))
    require(apart((none, half, half), third) == 0, "the residuals differ where no neighbour joins")
    require(apart((none, half / 2, none, 3 * half / 2), third) == 0, "they differ where what is lost has no mass")
    return refuted_if(
        apart(lost, third) > 0 and apart(nothing, half) > 0,
        _shown(lost, third, "token 2 is lost although it cannot join"),
        _shown(nothing, half, "nothing is left, and all tokens are drawn alike, those of probability 0 included"),
        control(
            f"the same comparison at delta = {fmt(third)} finds no difference at p = (0, 1/2, 1/2), where no neighbour "
            "joins, nor at (0, 1/4, 0, 3/4), where the second has no mass"
        ),
    )


def apart(p: Any, delta: Fraction) -> Fraction:
    """TV between what paper and code draw from after candidate 0 is rejected."""
    return tv(*_residuals(p, delta))


def _shown(p: Any, delta: Fraction, why: str) -> Evidence:
    """A row where paper and code draw from different residuals after candidate 0."""
    (paper, code), lists = _residuals(p, delta), _lists(p)
    q, rule = point_mass(0, len(p)), LanternReference(lists, delta, 1)
    spent, gained = tv(step_law(rule, p, q), p), acceptance(rule, p, q) - alpha(p, q)
    return counterexample(
        f"p = {fmt_row(p)}, delta = {fmt(delta)}, k = 1, candidate 0 rejected, its nearest tokens "
        f"{list(lists[0])}: the paper draws from {fmt_row(paper)}, the code from {fmt_row(code)}: {why}; TV spent "
        f"{fmt(spent)} for {fmt(gained)} of acceptance gained",
        described("lantern-reference", {"neighbours": lists, "delta": delta, "k": 1}, p, q, paper=paper, code=code),
    )


def _lists(p: Any) -> tuple[tuple[int, ...], ...]:
    """The table of the code, which has all other tokens, for candidate 0: nearest first."""
    return (tuple(range(1, len(p))), *((),) * (len(p) - 1))


def _residuals(p: Any, delta: Fraction, tree: str = "dynamic") -> tuple[tuple, tuple]:
    """What either draws from with k = 1."""
    q, lists = point_mass(0, len(p)), _lists(p)
    rules = Lantern([row[:1] for row in lists], delta), LanternReference(lists, delta, 1, tree)
    paper, code = (tuple(rule.residual(p, q, 0)) for rule in rules)
    return paper, code


# The static tree -----------------------------------------------------------------------------------------------

CLAIMS.summary(
    "lantern-reference.static",
    STATIC,
    "The static tree of LANTERN's published code verifies siblings drawn without replacement by LANTERN's rule.",
    ["lantern-reference.static.lossless", "lantern-reference.static.residual", "lantern-reference.static.zero-delta"],
)


@CLAIMS.claim(
    "lantern-reference.static.lossless",
    STATIC,
    r"With $k = 0$ the static tree emits $p$, for every $p$, $q$ and number of siblings.",
)
def static_lossless(seed: int) -> Finding:
    r"""The first sibling follows $q$; given the earlier ones were rejected the next follows $q$ without them, which is
    the row it is scored with. So each is verified against the row it follows, and the token emitted follows the row it
    is compared with: $p$ for the first, the residual of the one before for every other. By induction it follows $p$.
    """
    p = (Fraction(1, 8), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2))
    q = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))
    law = candidates_law(LanternReference([[]] * 4, 0, tree="static"), p, q, 2)[0]
    return holds_if(
        proven("lantern-reference.static.lossless"),
        over_more_tokens("lantern-reference.static.lossless", seed),
        example(
            f"two siblings, p = {fmt_row(p)}, q = {fmt_row(q)}: law {fmt_row(law)}",
            numbers("lantern-reference", {"tree": "static", "siblings": 2}, p=p, q=q, law=law),
        ),
    )


@CLAIMS.claim(
    "lantern-reference.static.residual",
    STATIC,
    r"For every $p$, $q$, list of neighbours, $k$ and $\delta$, after a rejected sibling $x$ the static tree draws "
    r"from LANTERN's residual $[p_A(\cdot \mid x) - q]_+$, $p_A$ being $p$ with the mass of $A(x)$ moved to $x$.",
)
def static_residual(seed: int) -> Finding:
    r"""The paper takes the mass of the neighbours that joined out of $p$, for it was counted for $x$. The code takes
    it out of $q$: $[p - q]_+$ then has all of $p$ on these tokens, which are emitted more often, not less. In the
    example the paper never draws the neighbour, and the code draws it with probability $1/2$.
    """
    p, q = (Fraction(0), Fraction(1, 2), Fraction(1, 2)), point_mass(0, 3)
    lists, joins, stays_out = _lists(p), Fraction(1), Fraction(1, 3)
    require(tv(*_residuals(p, stays_out, "static")) == 0, "the residuals differ where no neighbour joins")
    paper, code = _residuals(p, joins, "static")
    rule = LanternReference(lists, joins, 1, "static")
    spent, gained = tv(step_law(rule, p, q), p), acceptance(rule, p, q) - alpha(p, q)
    return refuted_if(
        tv(paper, code) > 0,
        counterexample(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}, k = 1, token 1 the nearest of 0, delta = {fmt(joins)}: after 0 is "
            f"rejected the paper draws from {fmt_row(paper)}, the code from {fmt_row(code)}; TV spent {fmt(spent)} for "
            f"{fmt(gained)} of acceptance gained",
            described(
                "lantern-reference",
                {"neighbours": lists, "delta": joins, "k": 1, "tree": "static"},
                p,
                q,
                paper=paper,
                code=code,
            ),
        ),
        control(f"the same comparison at delta = {fmt(stays_out)}, where no neighbour joins, finds no difference"),
    )


@CLAIMS.claim(
    "lantern-reference.static.zero-delta",
    replace(STATIC, relation="ours"),
    r"With $\delta = 0$ the static tree emits $p$, for every $p$, $q$, list of neighbours and $k$.",
)
def static_zero_delta(seed: int) -> Finding:
    r"""The rule of the paper does (lantern.zero-delta). But the code lets a neighbour join while the mass moved is *at
    most* $\delta$, so neighbours of mass 0, of which a top-k filter leaves many, join at $\delta = 0$; and then the
    $k + 1$ nearest tokens, some of which have mass, are set to zero in $q$. They keep all of $p$ in the residual.
    """
    p = (Fraction(1, 2), Fraction(1, 2), Fraction(0), Fraction(0))
    q = (Fraction(0), Fraction(1, 2), Fraction(0), Fraction(1, 2))
    lists = ((1, 2), (0, 2), (1, 3), (2, 1))

    def off(rule: Rule) -> Fraction:
        return tv(step_law(rule, p, q), p)

    code = LanternReference(lists, 0, 1, "static")
    require(off(Lantern(lists, 0)) == 0, "the paper's rule is not lossless at delta = 0")
    return refuted_if(
        off(code) > 0,
        counterexample(
            f"one sibling, k = 1, p = {fmt_row(p)}, q = {fmt_row(q)}: token 2, the nearest of 3, joins with mass 0, "
            f"and 2 and 1 are set to zero in q; law {fmt_row(step_law(code, p, q))}, TV {fmt(off(code))}",
            described("lantern-reference", {"neighbours": lists, "delta": 0, "k": 1, "tree": "static"}, p, q),
        ),
        control("the paper's rule at delta = 0 is at TV 0 there"),
    )


# The multiplicative bound --------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern-reference.multiplicative",
    derived(
        f"{LLAMAGEN}, evaluate_posterior",
        "The code reads a bound above 1 as a factor; the residual here is that of the paper, which the code's is not.",
    ),
    r"If neighbours may add at most $(\lambda - 1) p(x)$ to $p(x)$, then for every $p$, $q$ and list of neighbours the "
    r"law $\ell$ of one emitted token satisfies $\ell(x) \le \lambda p(x)$ for all $x$, and "
    r"$\mathrm{TV}(\ell, p) \le 1 - 1/\lambda$.",
)
def multiplicative(seed: int) -> Finding:
    r"""$P(A) \le \lambda p(x)$ by construction, so a draft is accepted with mass $\min(q(x), P(A)) \le \lambda p(x)$.
    Tokens with $q > p$ are emitted only by being accepted, and others never more often than $p$ (the proof of
    lantern.frontier): $\ell \le \lambda p$ token by token. So for any set of tokens
    $\ell(S) - p(S) \le (1 - 1/\lambda) \ell(S)$, and the TV is at most $1 - 1/\lambda$. An additive bound $\delta$ has
    no such limit (lantern.output-bound.step). And a token of target probability 0 is never emitted.
    """
    p, q, lists = (
        (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
        (Fraction(3, 4), Fraction(1, 4), Fraction(0)),
        [[1], [0], []],
    )
    return holds_if(
        proven("lantern-reference.multiplicative"),
        over_more_tokens("lantern-reference.multiplicative", seed),
        example(
            f"lambda = 2, p = {fmt_row(p)}, q = {fmt_row(q)}: law "
            f"{fmt_row(step_law(LanternMultiplicative(lists, 2), p, q))}",
            described("lantern-multiplicative", {"neighbours": lists, "factor": 2}, p, q),
        ),
    )


@CLAIMS.claim(
    "lantern-reference.codebook",
    CODE.function(
        "entrypoints/generate_codebook.py",
        "run_generate_codebook",
        "Sorts the other tokens by the L2 distance of the raw vectors, quantize.embedding.weight. LlamaGen looks its "
        "vectors up scaled to unit length (models/base_models/llamagen/vq_model.py, l2_norm).",
        "ours",
    ),
    r"For every codebook, the nearest tokens by the $\ell_2$ distance of the raw vectors are those by the $\ell_2$ "
    r"distance of the vectors scaled to unit length.",
)
def codebook(seed: int) -> Finding:
    r"""Distances between raw vectors mix direction and length; after scaling to unit length only the direction is
    left. A short vector is near other short ones in the raw codebook, whatever they point at.
    """
    vectors = [[1, 0], [0, 1], [4, 0]]

    def shared(table: Any, count: int) -> float:
        """The mean share of nearest tokens that both distances find."""
        raw, unit = (codebook_neighbours(table, count, normalised=n) for n in (False, True))
        return float(np.mean([len(set(a) & set(b)) / count for a, b in zip(raw, unit, strict=True)]))

    raw, unit = (codebook_neighbours(vectors, 1, normalised=n) for n in (False, True))
    random = np.random.default_rng(seed).normal(size=(64, 8))
    lengths = random / np.linalg.norm(random, axis=1, keepdims=True)
    require(shared(lengths, 10) == 1, "the two disagree on vectors of unit length")
    return refuted_if(
        shared(vectors, 1) < 1,
        counterexample(
            f"vectors (1, 0), (0, 1), (4, 0): the nearest token of 0 is {int(raw[0, 0])} raw and "
            f"{int(unit[0, 0])} normalised",
            numbers(codebook=vectors, raw=raw[:, 0], normalised=unit[:, 0]),
        ),
        identity(f"64 Gaussian vectors in 8 dimensions share {shared(random, 10):.0%} of their ten nearest tokens"),
        control("the same comparison finds no difference once the vectors have unit length"),
    )
