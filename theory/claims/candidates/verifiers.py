"""Claims about the verifiers of several candidates for one position: what they emit, and how often they accept."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.candidates import (
    Candidates,
    Deterministic,
    Greedy,
    GreedyVerifier,
    Independent,
    KSeq,
    ListSampling,
    Optimal,
    Recursive,
    SampleAndMatch,
    Verified,
    Verifier,
    WithoutReplacement,
    verified_law,
)
from simlab.mutants.trees import FromTarget
from simlab.optimum import candidate_sets, optimal_acceptance
from theory.claims.base import Claims, Finding
from theory.claims.evidence import enumeration, example, holds_if, identity, rejects_mutants
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.leviathan.speculative_rule import random_pairs
from theory.claims.lossy.truncation import PAIR
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import derived, said
from theory.distances import tv

CLAIMS = Claims("candidates")
Row = tuple[Fraction, ...]

P, Q = PAIR
WAYS: list[tuple[Verifier, Candidates]] = [
    (Recursive(), Independent()),
    (Recursive(), WithoutReplacement()),
    (GreedyVerifier(), Greedy()),
    (Optimal(), Independent()),
    (ListSampling(), Independent()),
    (SampleAndMatch(), Independent()),
    (SampleAndMatch(), Deterministic()),
]


def small_pairs(seed: int, count: int) -> list[tuple[Row, Row]]:
    """Rational pairs over at most three tokens, with zeros in some, and one that is worked out by hand."""
    found = [(p, q) for p, q in random_pairs(seed, 6 * count) if len(p) <= 3][:count]
    return [(P, Q), *found]


def of(verifier: Verifier, candidates: Candidates, p: Any, q: Any, count: int) -> tuple[Array, Any]:
    """The law emitted, and how often a candidate is accepted."""
    p, q = (np.array(row, dtype=object) for row in (p, q))
    found = verified_law(verifier, candidates, p, q, count)
    return found.accepted + found.drawn, found.accepted.sum()


class AlwaysAccepts(Optimal):
    """Accepts one of the candidates in any case, in proportion to the flow or else the first."""

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        found = super().verify(p, q, x, candidates)
        first = x[..., :1] == np.arange(p.shape[-1])
        rest = found.drawn.sum(axis=-1)[..., None]
        return Verified(found.accepted + np.where(first, rest, rest * 0), found.drawn * 0)


@CLAIMS.claim(
    "candidates.lossless",
    derived(
        "after SpecInfer, SpecTr and arXiv 2502.18779",
        "That a method is lossless is the claim of its own paper; here one argument for each.",
    ),
    r"For every $p$, $q$ and $K$, recursive rejection (with and without replacement), the verifier of greedy "
    r"candidates, optimal transport, list sampling by shared exponentials, and sample and match emit the law $p$.",
)
def lossless(seed: int) -> Finding:
    r"""Recursive rejection: a step of speculative sampling from $q_j$ has law $p_j$ if a rejected candidate is followed
    by a token of law $[p_j - q_j]^+$, which by induction from the last candidate is what the others emit; $q_j$ is what
    the $j$-th is drawn from, given those before it. Greedy: given the fixed tokens the last candidate follows $q'$, and
    the rule is speculative sampling with $q'$. Optimal transport: the masses sent to a token are at most $p$, and what
    is missing is drawn in proportion to it. List sampling: $\min_k E_{k,v}$ is exponential of rate $K$, so the winner
    of the race $\min_k E_{k,v}/p(v)$ follows $p$, whatever won the others. Sample and match: the token is from $p$.
    """
    tried = small_pairs(seed, 8)

    def deviation(verifier: Verifier, candidates: Candidates) -> Fraction:
        """The largest TV between what is emitted and p."""
        counts = (1, 2) if isinstance(verifier, ListSampling) else (1, 2, 3)
        return max(Fraction(tv(tuple(of(verifier, candidates, p, q, k)[0]), p)) for (p, q), k in product(tried, counts))

    worst = max(deviation(*way) for way in WAYS)
    wrong = {
        "a draw from p after the last rejection": (FromTarget(), Independent()),
        "always a candidate": (AlwaysAccepts(), Independent()),
        "K-SEQ with rho = 1": (KSeq(rho=1), Independent()),
    }
    return holds_if(
        worst == 0,
        enumeration(
            f"{len(WAYS)} pairs of verifier and candidates on {len(tried)} pairs of rows (V = 2, 3, with and without "
            f"zeros, K up to 3) in rationals; largest TV {fmt(worst)}"
        ),
        rejects_mutants(wrong, lambda way: deviation(*way), "the law emitted"),
    )


def share(make: Callable[[int], KSeq], p: Row, q: Row, count: int) -> float:
    """What it accepts of what could be; nan where its law is not p."""
    emitted, accepted = of(make(count), Independent(), p, q, count)
    if max(abs(float(a) - float(b)) for a, b in zip(emitted, p, strict=True)) > 1e-12:
        return float("nan")
    most = float(optimal_acceptance(p, candidate_sets(q, count, replacement=True)))
    return float(accepted) / most if most > 0 else 1.0


@CLAIMS.claim(
    "candidates.k-seq",
    said(
        "arXiv 2310.15141, abstract",
        "We then propose a valid draft selection algorithm whose acceptance probability is (1-1/e)-optimal "
        "multiplicatively.",
        "formalised",
        "The algorithm is K-SEQ at the smallest valid rho, for independent candidates; optimal is what any lossless "
        "method can accept of them.",
    ),
    r"For every $p$, $q$ and $K$, K-SEQ at the smallest valid $\rho$ emits the law $p$, and accepts one of $K$ "
    r"independent candidates with at least $1 - 1/e$ times the largest probability of any lossless method.",
)
def k_seq(seed: int) -> Finding:
    r"""Each candidate is accepted with $\beta = \sum \min(q, p/\rho)$, one of $K$ with $A = 1 - (1 - \beta)^K$, as a
    token of law $\min(q, p/\rho)/\beta$. What is drawn else makes up $p$ if $A \min(q, p/\rho)/\beta \le p$, for which
    $A \le \rho \beta$ suffices; $\rho = K$ always does, as $A \le K \beta$. Let $\beta_K$ be $\beta$ there. A lossless
    method accepts a token $x$ with at most $\min(p(x), K q(x))$, the second being no less than the probability that
    $x$ is a candidate, so it accepts with at most $\min(1, K \beta_K)$. Now $1 - (1 - \beta)^K$ is concave in $\beta$,
    rises from 0, and is $1 - (1 - 1/K)^K \ge 1 - 1/e$ at $1/K$, so it is at least $(1 - 1/e) \min(1, K \beta)$. A
    smaller valid $\rho$ has a larger $\beta$, and accepts no less.
    """
    tried = [(p, q, k) for (p, q), k in product(small_pairs(seed, 30), (1, 2, 3))]
    least = 1 - float(np.exp(-1))

    def shortfall(make: Callable[[int], KSeq]) -> float:
        """How far it is below the constant of the statement; 1 where it is not lossless."""
        shares = [share(make, *case) for case in tried]
        return 1.0 if any(s != s for s in shares) else least - min(shares)

    worst = shortfall(lambda count: KSeq())
    return holds_if(
        worst <= 0,
        identity(
            f"{len(tried)} cases (V = 2, 3, K up to 3), in floating point: the law emitted is p to 1e-12, the smallest "
            f"share of the optimum {least - worst:.4f}, above 1 - 1/e = {least:.4f}"
        ),
        example(
            f"p = {fmt_row(P)}, q = {fmt_row(Q)}: accepted {of(KSeq(), Independent(), P, Q, 2)[1]:.6f} of two",
            numbers(p=P, q=Q, candidates=2, accepted=float(of(KSeq(), Independent(), P, Q, 2)[1])),
        ),
        rejects_mutants(
            {"rho = 1": lambda count: KSeq(rho=1), "rho = 4 K": lambda count: KSeq(rho=4 * count)},
            lambda make: max(shortfall(make), 0),
            "the share of the optimum",
        ),
    )


@CLAIMS.claim(
    "candidates.greedy",
    derived("after arXiv 2502.18779"),
    r"For every $p$, $q$ and $K$, with the $K - 1$ likeliest tokens $T$ of those that $q$ can draw, or all of them if "
    r"there are fewer, and one candidate drawn from $q'$, what is left of $q$ off $T$, or none if nothing is, the "
    r"verifier of greedy candidates accepts with $p(T) + \sum_{x \notin T} \min(p(x), q'(x))$, as often as any "
    r"lossless method can.",
)
def greedy(seed: int) -> Finding:
    r"""The drawn candidate is accepted with $\sum \min(p, q')$; the residual $[p - q']^+$ has all of $p(T)$, since $q'$
    is 0 there, so a token of $T$ comes out with $p(T)$. No method accepts more: it accepts in $T$ at most $p(T)$ and
    at each $x$ off $T$ at most $\min(p(x), q'(x))$, for only the drawn candidate can be $x$.
    """
    accepted = of(GreedyVerifier(), Greedy(), P, Q, 2)[1]
    return holds_if(
        proven("candidates.greedy") and accepted == of(Optimal(), Greedy(), P, Q, 2)[1],
        over_more_tokens("candidates.greedy", seed),
        example(
            f"p = {fmt_row(P)}, q = {fmt_row(Q)}, K = 2: {fmt(accepted)}",
            numbers(p=P, q=Q, candidates=2, accepted=accepted),
        ),
    )


HU = "arXiv 2502.18779, abstract"


@CLAIMS.claim(
    "candidates.replacement",
    said(
        HU,
        "Our results show that the draft sampling method strongly influences the optimal acceptance rate, with "
        "sampling without replacement outperforming sampling with replacement.",
        "stronger",
        "For the optimal acceptance of one position, and every p and q instead of those that were measured.",
    ),
    r"For every $p$, $q$ and $K$, the most that a lossless method can accept of $K$ candidates drawn without "
    r"replacement is at least what it can accept of $K$ candidates drawn with replacement.",
)
def replacement(seed: int) -> Finding:
    r"""Draw with replacement, and go on until $K$ different tokens have come up, or all that $q$ has: these are drawn
    without replacement, and hold the set of the first $K$ draws. So both can be drawn together with one set within the
    other, and for every $H$ the probability that all candidates are in $H$ is smaller without replacement. The optimum
    is the minimum over $H$ of $p(H) + 1 - \Pr(\text{all in } H)$, each term of which is larger.
    """
    without, replaced = (optimal_acceptance(P, candidate_sets(Q, 2, replacement=again)) for again in (False, True))
    return holds_if(
        proven("candidates.replacement"),
        example(
            f"p = {fmt_row(P)}, q = {fmt_row(Q)}, K = 2: {fmt(without)} without, {fmt(replaced)} with replacement",
            numbers(p=P, q=Q, candidates=2, without=without, replaced=replaced),
        ),
    )


@CLAIMS.claim(
    "candidates.replacement.recursive",
    derived("after arXiv 2502.18779"),
    r"For every $p$, $q$ and $K$, recursive rejection accepts of $K$ candidates drawn without replacement at least as "
    r"often as of $K$ candidates drawn with replacement.",
)
def replacement_recursive(seed: int) -> Finding:
    r"""Let $f(a) = \sum_y [p(y) - a q(y)]^+$, which falls by at most $b - a$ from $a$ to $b$, so that $a + f(a)$ does
    not fall. With replacement $[p - a_k q]^+$ is left of $p$ after $k$ rejections, unscaled, with $a_0 = 0$ and
    $a_{k+1} = a_k + f(a_k)$; all are rejected with probability $f(a_K)$. Without, $[p - b_k q]^+$ is left, with
    $b_{k+1} = b_k + f(b_k) / (1 - q(S))$ for the tokens $S$ rejected so far: of those nothing is left, as a token is
    rejected only where it is drawn more often than is left of it, so that their not being drawn again changes nothing.
    All are rejected with the mean of $f(b_K)$ over tokens that are rejected in turn. So $b_k \ge a_k$ stays, since
    $b_k + f(b_k) / (1 - q(S)) \ge b_k + f(b_k) \ge a_k + f(a_k)$, and $f(b_K) \le f(a_K)$. Where $q$ has no other
    tokens than $S$, what is left is what $f$ never falls below.
    """
    tried = [(p, q, k) for (p, q), k in product(small_pairs(seed, 40), (2, 3))]

    def behind(candidates: Candidates) -> Fraction:
        return max(
            Fraction(of(Recursive(), Independent(), p, q, k)[1] - of(Recursive(), candidates, p, q, k)[1])
            for p, q, k in tried
        )

    without, replaced = (of(Recursive(), each, P, Q, 2)[1] for each in (WithoutReplacement(), Independent()))
    return holds_if(
        proven("candidates.replacement.recursive") and behind(WithoutReplacement()) <= 0,
        enumeration(f"beside the proof: {len(tried)} cases (V = 2, 3, K = 2, 3) in rationals: never behind"),
        example(
            f"p = {fmt_row(P)}, q = {fmt_row(Q)}, K = 2: {fmt(without)} without, {fmt(replaced)} with replacement",
            numbers(p=P, q=Q, candidates=2, without=without, replaced=replaced),
        ),
        rejects_mutants(
            {"deterministic candidates": Deterministic()}, lambda way: max(behind(way), Fraction(0)), "acceptance"
        ),
    )


@CLAIMS.claim(
    "candidates.optimum-unreached",
    said(
        HU,
        "Additionally, existing verification algorithms do not reach the theoretical upper bound for both without "
        "replacement and with replacement sampling.",
        "formalised",
        "The algorithms are recursive rejection, for both, and K-SEQ, with replacement; not to reach is for some p "
        "and q.",
    ),
    r"There are $p$, $q$ and $K$ for which recursive rejection, with and without replacement, and K-SEQ at the "
    r"smallest valid $\rho$ accept less often than a lossless method can.",
)
def optimum_unreached(seed: int) -> Finding:
    r"""At $p = (1/2, 3/10, 1/5)$, $q = (1/5, 3/10, 1/2)$ and $K = 2$ recursive rejection accepts 19/25 with and 41/50
    without replacement and K-SEQ 0.791, where 43/50 and 69/70 are possible.
    """

    def short(verifier: Verifier, candidates: Candidates) -> float:
        """How much less it accepts than it could."""
        return float(of(Optimal(), candidates, P, Q, 2)[1]) - float(of(verifier, candidates, P, Q, 2)[1])

    ways = [(Recursive(), Independent()), (Recursive(), WithoutReplacement()), (KSeq(), Independent())]
    return holds_if(
        min(short(*way) for way in ways) > 0 and short(GreedyVerifier(), Greedy()) == 0,
        example(
            f"p = {fmt_row(P)}, q = {fmt_row(Q)}, K = 2: short of the optimum by {fmt_row(short(*w) for w in ways)}",
            numbers(p=P, q=Q, candidates=2, short=[short(*way) for way in ways]),
        ),
        rejects_mutants({"the optimum": Optimal()}, lambda v: short(v, Independent()) <= 0, "what is out of reach"),
    )


@CLAIMS.claim(
    "candidates.sample-and-match",
    derived("after the published code of llama.cpp and mlx-lm"),
    r"For every $p$, $q$ and $K$, sample and match accepts one of $K$ independent candidates with "
    r"$\sum_x p(x) (1 - (1 - q(x))^K)$, and never more often than recursive rejection does.",
)
def sample_and_match(seed: int) -> Finding:
    r"""The token is drawn from $p$ by itself, and is among $K$ independent draws from $q$ unless all of them miss it:
    $m_K(p) = \sum p (1 - (1 - q)^K)$. Recursive rejection accepts $a_K(p) = S + (1 - S) a_{K-1}(r)$ with
    $S = \sum \min(p, q)$ and the residual $r$, $(1 - S) r = [p - q]^+$. By induction $a_{K-1}(r) \ge m_{K-1}(r)$, so
    $a_K - m_K \ge \sum \min(p, q) (1 - q)^K - \sum [p - q]^+ q (1 - q)^{K-1}$. Where $p > q$ the first term is
    $q (1 - q) (1 - q)^{K-1}$, no less than the second, for $p \le 1$; elsewhere the second is 0.
    """
    one, two = (of(SampleAndMatch(), Independent(), P, Q, count)[1] for count in (1, 2))
    return holds_if(
        proven("candidates.sample-and-match"),
        example(
            f"p = {fmt_row(P)}, q = {fmt_row(Q)}: {fmt(one)} of one candidate, {fmt(two)} of two",
            numbers(p=P, q=Q, one=one, two=two),
        ),
    )
