"""Claims of LANTERN about its rule: what it accepts, and the bounds that a neighbourhood respects.

The paper writes q for the target and p for the draft; here p is the target. $A(x)$ is the neighbourhood that is built
around a drafted token, $P(A)$ its mass, and $p_A$ the conditional target: p with the mass of A moved to x.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from simlab.rules import Amplify, Lantern, Rule, Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import described, example, holds_if, identity, rejects_mutants, require
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import derived, said
from theory.distances import tv
from theory.exact import acceptance
from theory.example_processes import point_mass, random_row
from theory.proofs.lantern import each_token

CLAIMS = Claims("lantern")
Case = tuple[tuple[Fraction, ...], tuple[Fraction, ...], Any, Fraction]


def cases(seed: int, count: int = 60) -> list[Case]:
    """Pairs of rows over 3 to 6 tokens, with lists of neighbours in random order and a delta."""
    random = Random(seed)
    found = []
    for k in range(count):
        size = 3 + k % 4
        lists = [random.sample([y for y in range(size) if y != x], random.randrange(size)) for x in range(size)]
        delta = Fraction(random.randint(1, 10), 10)
        found.append((random_row(random, size), random_row(random, size), lists, delta))
    return found


def parameters(lists: Any, delta: Any) -> dict[str, Any]:
    """What examples say of LANTERN's rule."""
    return {"neighbours": lists, "delta": delta, "bound": "tv"}


# Acceptance ----------------------------------------------------------------------------------------------------


# The pair of rows that the examples of this module are about: tokens 0 and 1 are neighbours of each other.
P = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
Q = (Fraction(1, 2), Fraction(1, 2), Fraction(0))
PAIRED, DELTA = [[1], [0], []], Fraction(3, 10)


@CLAIMS.claim(
    "lantern.concentrated",
    said(
        "2.2",
        "speculative decoding relies on concentrated next-token distributions which enables a simpler drafter to "
        "predict and align with the target model. Therefore, the dispersed token distributions in visual AR models "
        "make it difficult for the drafter to accurately approximate the target model's token probabilities.",
        "weaker",
        "That speculative decoding relies on it is false to the letter: a flat row drafted as itself is always "
        "accepted. Concentrated is read as the largest probability of the target's row, a simpler drafter as one that "
        "knows of the row that token alone, or names it. That rows of image models are dispersed is a matter of "
        "measurement.",
    ),
    r"For every $p$ with the largest probability $c$, every draft row that gives the likeliest token at least $c$ is "
    r"accepted with at least $c$, whatever else it has; a draft that names one token is accepted with at most $c$, and "
    "with $c$ if it names the likeliest.",
)
def concentrated(seed: int) -> Finding:
    r"""Acceptance is $\sum_x \min(p(x), q(x))$, of which the likeliest token alone gives $c$; where $q$ is a point mass
    it is $p(x)$.

    Concentration helps a simple drafter, and is not needed: acceptance is $1 - \mathrm{TV}(p, q)$, which is 1 for $q =
    p$ however flat $p$ is.
    """
    random = Random(seed)
    rows = [random_row(random, 3 + k % 4) for k in range(24)]
    named = [(p, p.index(max(p)), [point_mass(x, len(p)) for x in range(len(p))]) for p in rows]
    vague = []  # all that is not c is moved to one other token
    for p, top, _ in named:
        other = (top + 1) % len(p)
        vague.append(tuple(p[top] if x == top else 1 - p[top] if x == other else Fraction(0) for x in range(len(p))))

    def off(rule: Rule) -> Fraction:
        """The most by which one of the three is false."""
        worst = Fraction(0)
        for (p, top, points), loose in zip(named, vague, strict=True):
            c, each = p[top], [acceptance(rule, p, q) for q in points]
            worst = max(worst, c - acceptance(rule, p, loose), max(each) - c, abs(each[top] - c))
        return worst

    p, q = (Fraction(8, 10), Fraction(1, 10), Fraction(1, 10)), (Fraction(8, 10), Fraction(2, 10), Fraction(0))
    flat = (Fraction(1, 100),) * 100
    require(acceptance(Speculative(), flat, flat) == 1, "a flat row that is drafted as it is is rejected")
    return holds_if(
        off(Speculative()) == 0,
        identity(f"{len(rows)} random rows over 3 to 6 tokens, with every point mass and a row that shares c alone"),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}: {fmt(acceptance(Speculative(), p, q))} are accepted; 100 tokens of "
            "1/100 each: a draft that names one is accepted with 1/100, one of that same row always",
            described("speculative", {}, p, q),
        ),
        rejects_mutants({"amplify with k = 1/2": Amplify(Fraction(1, 2)), "amplify with k = 2": Amplify(2)}, off, "c"),
    )


@CLAIMS.claim(
    "lantern.relaxation",
    said(
        "3.2, eq. 2",
        "Because $\\tilde{x}$ is always included in $B_k(\\tilde{x})$, this new accept probability is guaranteed to be "
        "equal to or higher than the original acceptance condition (1).",
    ),
    r"For every $p$, $q$, token $x$ and neighbourhood $A$ that contains $x$: "
    r"$\min(1, \sum_{y \in A} p(y) / q(x)) \ge \min(1, p(x) / q(x))$.",
)
def relaxation(seed: int) -> Finding:
    r"""The neighbourhood holds $x$ itself, so $P(A) \ge p(x)$, and $\min(1, m / q(x))$ does not fall as $m$ grows."""
    each, lossless = ([r.accept(P, Q, x)[()] for x in (0, 1)] for r in (Lantern(PAIRED, DELTA), Speculative()))
    return holds_if(
        proven("lantern.relaxation"),
        over_more_tokens("lantern.relaxation", seed),
        example(
            f"p = {fmt_row(P)}, q = {fmt_row(Q)}, tokens 0 and 1 neighbours of each other, delta = {fmt(DELTA)}: both "
            f"are accepted with probability {fmt(each[0])}, by the lossless rule with {fmt(lossless[0])}",
            numbers("lantern", parameters(PAIRED, DELTA), p=P, q=Q, accepts=each, accepts_lossless=lossless),
        ),
    )


@CLAIMS.claim(
    "lantern.monotone",
    said(
        "4.2.3, Fig. 5; Table 2",
        "The trade-off curves highlight that increasing $\\delta$ and k generally improves speedup",
        "formalised",
        "The curves are those of Fig. 5, where speedup is the mean accepted length. Read is what it is made of, the "
        "mean accept probability; that of the first draft token Table 2 prints, and it is at least as high wherever "
        "$k$ or $\\delta$ is larger. Of a chain of drafts the accepted length does not fall either, as the argument "
        "says; of trees, with which the paper measures, nothing is said.",
    ),
    r"For every set of contexts, the mean of $\min(1, P(A_{k,\delta}(x)) / q(x))$ over contexts and drafted tokens "
    r"does not fall as $k$ or $\delta$ grows.",
    assumptions=["fixed contexts: the mean is over the same contexts for every $k$ and $\\delta$"],
)
def monotone(seed: int) -> Finding:
    r"""With a longer list, or a larger $\delta$, the tokens that joined still join, and others may follow: $A$ grows,
    and $P(A)$ with it, for every $x$. So the accept probability of each token grows or stays, and with it its mean over
    fixed contexts. It stays where nothing more can join. Without fixed contexts a larger $\delta$ emits other tokens
    and visits other contexts, of which this says nothing.

    Within one block of a chain contexts are fixed: each draft is verified behind the drafts before it, which are drawn
    without $k$ and $\delta$. With the same drafts and coins all that is accepted still is, so that from one prefix the
    mean accepted length does not fall.
    """
    p = tuple(Fraction(k, 16) for k in (1, 2, 3, 4, 6))
    q, lists = point_mass(0, 5), [[1, 2, 3, 4], [], [], [], []]
    by_k = [acceptance(Lantern([row[:k] for row in lists], Fraction(2, 5)), p, q) for k in range(5)]
    deltas = [Fraction(k, 5) for k in range(6)]
    by_delta = [acceptance(Lantern(lists, delta), p, q) for delta in deltas]
    return holds_if(
        proven("lantern.monotone") and all(a <= b for row in (by_k, by_delta) for a, b in pairwise(row)),
        example(
            f"p = {fmt_row(p)}, token 0 drafted, its neighbours 1, 2, 3, 4: acceptance {fmt_row(by_k)} for k = 0 to 4 "
            f"at delta = 2/5, {fmt_row(by_delta)} for delta = 0 to 1 in fifths at k = 4",
            numbers("lantern", {"neighbours": lists}, p=p, q=q, deltas=deltas, by_k=by_k, by_delta=by_delta),
        ),
    )


# Bounds --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern.conditional-bound",
    said(
        "3.3",
        "This procedure allows us to relax the acceptance condition by incorporating probabilities of similar tokens "
        "while keeping the divergence within a predefined boundary.",
        "formalised",
        "The divergence is the one the section defines, of the target that one drafted token is compared with.",
    ),
    r"For every $p$, $\delta > 0$ and drafted token $x$ the conditional target $p_A(\cdot \mid x)$, which is $p$ with "
    r"the mass of $A_{k,\delta}(x)$ moved to $x$, is within the bound: $\mathrm{TV}(p_A(\cdot \mid x), p) < \delta$.",
)
def conditional_bound(seed: int) -> Finding:
    r"""$p_A(\cdot \mid x)$ differs from $p$ on $A$ only: $x$ gains what the others lose, so the TV is the mass $m$ that
    moves. With $x$ alone $m = 0 < \delta$; a neighbour joins only while $m$ stays below $\delta$. The bound is about
    the target that one drafted token is compared with; what comes out is lantern.output-bound.
    """
    rows, x = each_token(P)
    apart = tv(Lantern(PAIRED, DELTA).conditional_rows(rows, x), rows).tolist()
    return holds_if(
        proven("lantern.conditional-bound"),
        over_more_tokens("lantern.conditional-bound", seed),
        example(
            f"p = {fmt_row(P)}, tokens 0 and 1 neighbours of each other, delta = {fmt(DELTA)}: the conditional targets "
            f"of tokens 0, 1, 2 are TV {fmt_row(apart)} from p",
            numbers("lantern", parameters(PAIRED, DELTA), p=P, tv=apart),
        ),
    )


@CLAIMS.claim(
    "lantern.largest.nearest",
    said(
        "3.3",
        "is the largest subset of $B_k(\\tilde{x})$ such that for the total variation distance",
        "weaker",
        "Of the sets of nearest tokens: the next paragraph builds the set nearest first and stops at the bound. The "
        "sentence to the letter, of all subsets, is false of the set that is built (second example).",
    ),
    r"For every $p$, $x$ and $\delta > 0$, of the sets $\{x, y_1, \ldots, y_j\}$ of the $j$ nearest tokens the one "
    r"that is built is the largest whose conditional target is at a TV from $p$ below $\delta$.",
)
def largest_nearest(seed: int) -> Finding:
    r"""The mass that moves, $p(y_1) + \ldots + p(y_j)$, does not fall with $j$. So the $j$ for which it is below
    $\delta$ are $0$ to some last one, and stopping at the first that reaches $\delta$ stops there.

    Of all subsets of the $k$ nearest, over which the words alone range, it is not for every $p$ the one with the most
    mass: a near token with much mass stops the construction, where farther ones with little would still fit.
    """
    p, near = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 10), Fraction(1, 10)), [1, 2, 3]  # the first is heavy
    rule = Lantern([near, [], [], []], Fraction(2, 5))
    joined = int(rule.joined_rows(*each_token(p))[0][0].sum())
    heavy, q, delta = (Fraction(0), Fraction(2, 3), Fraction(1, 3)), point_mass(0, 3), Fraction(1, 2)
    lists = [[y for y in range(3) if y != x] for x in range(3)]
    built, fits = Lantern(lists, delta).accept(heavy, q, 0)[()], heavy[0] + heavy[2]
    require(built < fits and heavy[2] < delta, "no subset has more mass than what is built")
    return holds_if(
        proven("lantern.largest.nearest"),
        over_more_tokens("lantern.largest.nearest", seed),
        example(
            f"p = {fmt_row(p)}, x = 0, neighbours 1, 2, 3 in this order: at delta = 2/5 {joined} join",
            numbers("lantern", parameters([near, [], [], []], Fraction(2, 5)), p=p, joined=joined),
        ),
        example(
            f"not for every p of all subsets: p = {fmt_row(heavy)}, x = 0, neighbours {lists[0]} in this order, delta "
            f"= 1/2: token 1 would move 2/3 and stops the building, P(A) = {built}; token 2 moves 1/3, P = {fits}",
            described("lantern", parameters(lists, delta), heavy, q, x=0, built=built, largest=fits),
        ),
    )


@CLAIMS.claim(
    "lantern.zero-delta",
    derived("3.3", "The paper does not say what its rule is at $\\delta = 0$; its code is lantern-reference.static."),
    r"For every $p$, $q$ and list of neighbours: with $\delta = 0$, and with $\delta \le \min\{p(x) : p(x) > 0\}$, "
    r"LANTERN's rule accepts $1 - \mathrm{TV}(p, q)$ of all drafts and emits $p$.",
)
def zero_delta(seed: int) -> Finding:
    r"""A neighbour joins while the mass $m$ moved is below $\delta$. With $\delta = 0$ none does; with $\delta$ at most
    the smallest mass of $p$ only neighbours of mass 0 do. Either way $P(A) = p(x)$, and $p_A = p$: zeros replaced by
    zeros, which a top-k filter leaves many of. So the accept probability and the residual are those of the lossless
    rule. The same goes for a factor $\lambda = 1$ in place of $\delta$.
    """
    p, q = (Fraction(1, 4), Fraction(0), Fraction(1, 2), Fraction(1, 4)), (Fraction(1, 2), Fraction(0)) * 2
    lists, least = [[1, 2], [0, 2], [1, 3], [2, 1]], Fraction(1, 4)
    return holds_if(
        proven("lantern.zero-delta"),
        over_more_tokens("lantern.zero-delta", seed),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}, delta = 1/4: neighbours of mass 0 join, and the law is p",
            described("lantern", parameters(lists, least), p, q),
        ),
    )
