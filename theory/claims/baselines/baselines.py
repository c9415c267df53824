"""What bounds every method, and what every real sampler does: claims that are no single paper's."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from simlab import mutants
from simlab.decoders import Block, SpeculativeDecoder
from simlab.mutants.samplers import Sampler, harmless, processed, samplers
from simlab.optimum import optimal_plan
from simlab.processes import TableProcess
from simlab.rules import OptimalLossy, Rule, Speculative
from theory.acceptance import alpha
from theory.candidates import candidate_sets, candidates_frontier, candidates_law, optimal_acceptance
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    counterexample,
    described,
    enumeration,
    example,
    first,
    holds_if,
    identity,
    refuted_if,
    rejects_mutants,
    require,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.hierarchical.hierarchical import THIRDS, accepted, same_rows
from theory.claims.leviathan.speculative_rule import UNEVEN
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import derived, said
from theory.distances import aligned, tv
from theory.exact import acceptance, deviation, sequence_law, target_law
from theory.example_processes import random_process, random_row

CLAIMS = Claims("baselines")

# Block verification --------------------------------------------------------------------------------------------


def process_pairs(seed: int) -> list[tuple[TableProcess, TableProcess]]:
    """Targets and drafts over two and three tokens, with zeros."""
    return [
        (random_process(seed + k, v, n, zeros=0.35), random_process(seed + k + 50, v, n, zeros=0.35))
        for k, (v, n) in enumerate(((2, 4), (3, 3), (3, 4)))
    ]


BLOCK = "arXiv 2403.10444, abstract"


@CLAIMS.claim(
    "baselines.block-verification",
    said(
        BLOCK,
        "specifically is never worse than the standard token-level verification. ... block verification does not "
        "increase code complexity, maintains the strong lossless guarantee of the standard speculative decoding "
        "verification algorithm",
        "formalised",
        "Tokens produced by an iteration are the drafts accepted and one more. The proof here is ours.",
    ),
    r"For every target, draft and draft length, sequences decoded with block verification have the joint law of the "
    r"target, and a block accepts at least as many drafts in the mean as verification token by token.",
)
def block_lossless(seed: int) -> Finding:
    r"""Let $x_1 \dots x_\gamma$ be the drafts and $p_i$, $q_i$ the rows after $x_1 \dots x_i$. Block verification sets
    $w_0 = 1$, $w_i = \min(1, w_{i-1} p_{i-1}(x_i)/q_{i-1}(x_i))$ and $s_i = \sum_y [w_i p_i(y) - q_i(y)]^+$. It tosses
    a coin of probability $h_i = s_i/(s_i + 1 - w_i)$ for each $0 < i < \gamma$ and one of $w_\gamma$ for $i = \gamma$,
    accepts the first $\tau$ drafts for the largest $i = \tau$ that comes up, and draws the next token from $[w_\tau
    p_\tau - q_\tau]^+$, or from $p_\gamma$ if $\tau = \gamma$.

    First, $P(\tau \ge i) = w_i$ given $x_1 \dots x_i$. It holds for $i = \gamma$. If it holds for $i + 1$, the mean
    over $x_{i+1}$ from $q_i$ is $P(\tau \ge i + 1) = \sum_y \min(q_i(y), w_i p_i(y)) = w_i - s_i$, so $P(\tau \ge i) =
    w_i - s_i + (1 - w_i + s_i) h_i = w_i$. Hence $P(\tau = i) = s_i$ given $x_1 \dots x_i$.

    Now let the output, completed by $p$, have the target's law up to $x_1 \dots x_i$, and write $q(x_1 \dots x_i)$ for
    the probability of these drafts. The output goes on with $y$ by accepting it as a draft, of mass $q(x_1 \dots x_i)
    \min(q_i(y), w_i p_i(y))$; by $\tau = i$, of mass $q(x_1 \dots x_i) [w_i p_i(y) - q_i(y)]^+$; both together are
    $q(x_1 \dots x_i) w_i p_i(y)$; and, where $\tau < i$, with $p_i(y)$ by construction. So $y$ follows $p_i$ in every
    case, and by induction the output has the target's law.

    Token by token the first $i$ drafts are accepted with probability $\prod_{j \le i} \min(1, r_j)$, where $r_j$ is the
    ratio of target and draft at draft $j$; as a block with probability $w_i = \min(1, w_{i-1} r_i)$ given these drafts.
    By induction $w_i$ is at least the product, since $\min(1, w r) \ge w \min(1, r)$ for $w \le 1$; and the mean number
    of accepted drafts is the sum over $i$.
    """
    p, q = THIRDS
    token, block = (accepted(decoder, same_rows(p, q, 2)) for decoder in (SpeculativeDecoder(2), Block(2)))
    tried = [(target, draft, gamma) for target, draft in process_pairs(seed) for gamma in (1, 2, 3)]
    worst = max(deviation(Block(gamma), target, Speculative(), draft) for target, draft, gamma in tried)
    return holds_if(
        proven("baselines.block-verification") and worst == 0,
        enumeration(
            f"beyond the proof: V = 2 with length 4, V = 3 with length 3, 4, gamma = 1, 2, 3. Sequence law of the "
            f"target in rationals for {len(tried)} cases (largest TV {worst})"
        ),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)} at each position, two drafts: {fmt(token)} accepted by token, "
            f"{fmt(block)} by block",
            numbers(p=p, q=q, gamma=2, by_token=token, by_block=block),
        ),
    )


@CLAIMS.claim(
    "block.optimal",
    said(
        BLOCK,
        "We prove that the proposed mechanism is optimal in the expected number of tokens produced each iteration and "
        "specifically is never worse than the standard token-level verification.",
        "formalised",
        "Tokens produced by an iteration are the drafts accepted and one more; optimal is read among lossless rules "
        "that emit a prefix of the drafts and one token. Its second half is baselines.block-verification. The proof "
        "here is ours.",
    ),
    r"For every target, draft and draft length, block verification accepts the most drafts in the mean of all rules "
    r"whose outcome is a prefix of the drafts and one token more, and which are lossless once the target goes on.",
)
def block_optimal(seed: int) -> Finding:
    r"""Let a rule accept the first $\tau$ drafts, emit one token more, and be lossless: its output, completed by $p$,
    has the joint law of $p$. Write $x^i$ for $x_1 \dots x_i$, and $m(x^i)$ for the probability that the drafts begin
    with $x^i$ and $\tau \ge i$; clearly $m(x^i) \le q(x^i)$. The output begins with $x^i$ with probability $p(x^i)$:
    with $m(x^j)$ through accepted drafts $x^j$, $j < i$, and otherwise with $\tau < j$, where the tokens after position
    $j$ are drawn from $p$ anew. The latter go on with $x_{j+1} \dots x_i$ with probability $p(x_{j+1} \dots x_i |
    x^j)$, and so does the whole, so the former do as well: of $m(x^j)$ no more than $m(x^j) p(x_{j+1} \dots x_i | x^j)$
    go on to accept $x^i$. Hence $m(x^i) \le q(x^j) p(x_{j+1} \dots x_i | x^j)$ for every $j \le i$. The least of these
    bounds is $q(x^i) w_i$, since $q(x^i) w_i = \min(q(x^i), q(x^{i-1}) w_{i-1} p(x_i | x^{i-1}))$, and block
    verification reaches it (baselines.block-verification). The mean of $\tau$ is the sum of $m(x^i)$ over $i
    \ge 1$ and $x^i$.
    """
    p, q = THIRDS  # the example of Sun et al.
    most = accepted(Block(2), same_rows(p, q, 2))
    return holds_if(
        proven("block.optimal"),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)} at each position, two drafts: at most {fmt(most)} accepted",
            numbers(p=p, q=q, gamma=2, most=most),
        ),
    )


# Several candidates --------------------------------------------------------------------------------------------


APART = (
    (Fraction(7, 10), Fraction(1, 5), Fraction(1, 10)),
    (Fraction(1, 10), Fraction(3, 10), Fraction(3, 5)),
)  # p and q of examples: even the best method rejects some candidates


def candidate_cases(seed: int) -> list[tuple[Any, Any, int]]:
    """Pairs of rows over 2 to 5 tokens with 1 to 3 candidates."""
    random = Random(seed)
    return [(random_row(random, 2 + k % 4), random_row(random, 2 + k % 4), 1 + k % 3) for k in range(36)]


@CLAIMS.claim(
    "baselines.optimal-candidates",
    derived(
        "after SpecTr, arXiv 2310.15141, and arXiv 2502.18779",
        "Sun et al. state it as optimal transport, Hu et al. its dual: the minimum here, its cut.",
    ),
    r"For every $p$ and every law of candidate sets $S$, the most that a lossless method accepts of its candidates is "
    r"the minimum over sets of tokens $T$ of $p(T)$ plus the probability that $S$ is not within $T$.",
)
def optimal_candidates(seed: int) -> Finding:
    r"""A method that sees $S$ and accepts $y \in S$ with mass $f(S, y)$ has $\sum_y f(S, y) \le P(S)$, and $\sum_S f(S,
    y) \le p(y)$, since what it accepts is emitted. Any such $f$ can be completed to a lossless method by drawing the
    rest from what $p$ lacks. So the most is a maximal flow from sets to the tokens in them, and by the max-flow min-cut
    theorem the least capacity of a cut. A cut that is finite has all tokens of the sets on its near side with these
    sets: with $T$ the tokens on the near side it costs at least $p(T)$ for them and $P(S)$ for each set that is not
    within $T$. Verification in turn with recursive residuals is one such method, and accepts at most that.
    """
    tried = candidate_cases(seed)
    flows = all(optimal_acceptance(p, candidate_sets(q, k)) == _planned(p, q, k) for p, q, k in tried)
    single = all(optimal_acceptance(p, candidate_sets(q, 1)) == alpha(p, q) for p, q, _ in tried)

    beyond = max(
        Fraction(candidates_law(Speculative(), p, q, k)[1] - optimal_acceptance(p, candidate_sets(q, k)))
        for p, q, k in tried
    )
    p, q = APART
    best = optimal_acceptance(p, candidate_sets(q, 2))
    return holds_if(
        proven("baselines.optimal-candidates") and beyond <= 0 and single and flows,
        identity(
            f"beyond the proof: {len(tried)} cases, V = 2 to 5, K = 1 to 3: equal to the mass of a largest flow and, "
            "for K = 1, to 1 - TV; verification in turn accepts at most that",
        ),
        example(
            f"p = {fmt_row(p)}, two candidates from q = {fmt_row(q)}, without replacement: at most {fmt(best)} "
            f"accepted",
            numbers(p=p, q=q, candidates=2, most=best),
        ),
    )


def _planned(p: Any, q: Any, candidates: int) -> Any:
    """How often a largest flow keeps one of the candidates."""
    return sum(map(sum, optimal_plan(np.array(p), candidate_sets(q, candidates)).values()))


def shortfall(p: Any, q: Any) -> Fraction:
    """How much less of two candidates verification in turn accepts than a lossless method can."""
    in_turn = candidates_law(Speculative(), p, q, 2)[1]
    return Fraction(optimal_acceptance(p, candidate_sets(q, 2)) - in_turn)


@CLAIMS.claim(
    "baselines.frontier-candidates",
    derived("after leviathan.frontier and SpecTr, arXiv 2310.15141"),
    r"For every $p$ and every law of candidate sets, a method that accepts one of its candidates with probability $a$ "
    r"and emits tokens of law $r$ has $a \le \alpha^* + \mathrm{TV}(r, p)$, with $\alpha^*$ the most that a lossless "
    r"method accepts; for every $s \le 1 - \alpha^*$ there is one with $\mathrm{TV}(r, p) = s$ and equality.",
)
def frontier_candidates(seed: int) -> Finding:
    r"""A method that emits $r$ is lossless for the target $r$, so $a$ is at most the optimum for $r$, the minimum over
    $T$ of $r(T)$ plus the probability that $S$ is not within $T$ (baselines.optimal-candidates). Since $r(T) \le p(T) +
    \mathrm{TV}(r, p)$ for every $T$, this is at most $\alpha^* + \mathrm{TV}(r, p)$. It is reached: at an optimal flow
    for $p$ a mass of $1 - \alpha^*$ is left over both of $p$ and of the sets. Take $s$ of the former away and put it on
    tokens of the latter: the new law is $s$ from $p$, and its flow larger by $s$.
    """
    tried = candidate_cases(seed)[:18]

    def beyond(rule: Rule) -> Fraction:
        """The most that acceptance is above the optimum plus the TV spent."""
        worst = Fraction(-1)
        for p, q, k in tried:
            law, accepted = candidates_law(rule, p, q, k)
            limit = candidates_frontier(p, candidate_sets(q, k), Fraction(tv(tuple(law), p)))
            worst = max(worst, Fraction(accepted - limit))
        return worst

    p, q = APART
    most = candidates_frontier(p, candidate_sets(q, 2), Fraction(1, 10))
    rules = [OptimalLossy(Fraction(1, 5)), *mutants.RULES.values()]
    worst = max(map(beyond, rules))
    reached = all(_reached(p, q, k, Fraction(1, 10)) for p, q, k in tried)
    return holds_if(
        proven("baselines.frontier-candidates") and worst <= 0 and reached,
        identity(
            f"beyond the proof: {len(rules)} rules, right and wrong, in turn on {len(tried)} cases, stay within "
            "the bound; a law moved by 1/10 as in the proof has an optimum larger by 1/10",
        ),
        example(
            f"p = {fmt_row(p)}, two candidates from q = {fmt_row(q)}, without replacement: at most {fmt(most)} "
            f"accepted at TV 1/10",
            numbers(p=p, q=q, candidates=2, tv=Fraction(1, 10), most=most),
        ),
    )


def _reached(p: Any, q: Any, candidates: int, spent: Fraction) -> bool:
    """Whether the optimum for a law moved by ``spent`` is at the frontier."""
    sets, law = candidate_sets(q, candidates), np.array(p)
    plan = optimal_plan(law, sets)
    left = law - sum(plan.values())
    stuck = Fraction(left.sum())
    share = min(spent / stuck, Fraction(1)) if stuck else Fraction(0)
    law = law - share * left
    for members, mass in sets.items():
        law[min(members)] += share * (mass - sum(plan[members]))
    return bool(optimal_acceptance(law, sets) == candidates_frontier(p, sets, spent))


@CLAIMS.claim(
    "baselines.frontier-naive",
    derived("after leviathan.frontier"),
    r"For every $p$ and $q$, a method that accepts one of $K$ candidates, drawn without replacement from $q$, with "
    r"probability $a$ and emits tokens of law $r$ has $a \le a_0 + \mathrm{TV}(r, p)$, with $a_0$ the acceptance of "
    r"lossless verification in turn.",
)
def frontier_naive(seed: int) -> Finding:
    r"""Verification in turn is not the best lossless method (pac.optimal). One that is, optimal transport, accepts more
    at $\mathrm{TV}(r, p) = 0$.
    """
    p, q = (Fraction(2, 3), Fraction(1, 3), Fraction(0)), (Fraction(1, 3),) * 3
    in_turn = candidates_law(Speculative(), p, q, 2)[1]
    return refuted_if(
        shortfall(p, q) > 0,
        counterexample(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}, K = 2 without replacement: in turn {fmt(in_turn)} are accepted, by "
            f"optimal transport {fmt(in_turn + shortfall(p, q))}, both at TV 0",
            numbers("speculative", {"candidates": 2}, p=p, q=q, in_turn=in_turn, most=in_turn + shortfall(p, q), tv=0),
        ),
    )


@CLAIMS.claim(
    "baselines.optimal-lossy",
    derived("after Tran-Thien, 2023"),
    r"For every $p \ne q$ and $s \ge 0$, speculative sampling with target $p + t (q - p)$, "
    r"$t = \min(1, s/\mathrm{TV}(p, q))$, emits a law of TV $\min(s, \mathrm{TV}(p, q))$ from $p$ and accepts the most "
    r"that a rule with one draft from $q$ can at that TV.",
)
def optimal_lossy(seed: int) -> Finding:
    r"""Let $p_t = p + t (q - p)$, a mixture of $p$ and $q$. The rule emits $p_t$, which is $t \mathrm{TV}(p, q)$ from
    $p$, and accepts $1 - \mathrm{TV}(p_t, q) = 1 - (1 - t) \mathrm{TV}(p, q) = \alpha + t \mathrm{TV}(p, q)$, the bound
    of leviathan.frontier.
    """
    (p, q), lossy = UNEVEN, OptimalLossy(Fraction(1, 10))
    return holds_if(
        proven("baselines.optimal-lossy"),
        over_more_tokens("baselines.optimal-lossy", seed),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}, s = 1/10: acceptance {fmt(acceptance(lossy, p, q))} against "
            f"{fmt(alpha(p, q))} of the lossless rule",
            described("optimal-lossy", {"tv": Fraction(1, 10)}, p, q),
        ),
    )


# Samplers ------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "samplers.processors",
    derived("after the published code of SJD, GSD and LANTERN"),
    r"For every target and draft behind guidance, temperature, top-k and top-p, speculative decoding is lossless to "
    r"the target behind them.",
    assumptions=[
        "draft scored as drawn: the q of a draft is the pmf that it was drawn from",
        "processed target: every row of the target that is used has passed through all its processors once",
    ],
)
def processors(seed: int) -> Finding:
    r"""A processor maps a row to a row that depends on nothing else, so a process behind processors is a process. With
    the draft scored as drawn and the processed target, leviathan.lossless applies to these two as they stand. The draft
    may have other processors than the target, or none. A residual that passes through processors again is in general no
    longer in proportion to $[p - q]^+$; top-k without ties leaves it as it is.
    """
    found = [
        (_rows(seed + 9 * k), _rows(seed + 9 * k + 1), _rows(seed + 9 * k + 2)) for k in range(12)
    ]  # target, draft, unconditional
    right = max(
        _misses(Sampler(make(2), processed(a, u), processed(b, u)), a, u)
        for a, b, u in found[:4]
        for make in (SpeculativeDecoder, Block)
    )
    names = samplers(*found[0], 2).keys()
    wrong = {name: (lambda a, b, u, name=name: samplers(a, b, u, 2)[name]) for name in names}
    traps = max(_misses(trap, a, u) for a, b, u in found[:4] for trap in harmless(a, b, u, 2).values())
    require(traps == 0, "a sampler that is right is said to be wrong")
    return holds_if(
        right == 0,
        enumeration(
            "sequence law of the processed target in rationals (guidance 2, temperature 1/2, top-3, top-p 4/5; "
            f"largest TV {fmt(right)}), also for drafts that are greedy and say so, drafts with other "
            "processors, and top-k on the residual",
        ),
        rejects_mutants(
            wrong, lambda make: first(_misses(make(a, b, u), a, u) for a, b, u in found), "the sequence law"
        ),
    )


def _rows(seed: int) -> TableProcess:
    return random_process(seed, 4, 3, zeros=0)


def _misses(sampler: Sampler, target: TableProcess, unconditional: TableProcess) -> Fraction:
    law = sequence_law(sampler.decoder, sampler.process, sampler.rule, draft=sampler.draft)[0]
    return Fraction(tv(*aligned(law, target_law(processed(target, unconditional)))))
