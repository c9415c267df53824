"""What bounds every method, and what every real sampler does: claims that are no single paper's."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from simlab import mutants
from simlab.decoders import Block, Decoder, SpeculativeDecoder
from simlab.mutants.samplers import Sampler, harmless, processed, samplers
from simlab.processes import TableProcess
from simlab.rules import Amplify, OptimalLossy, Rule, Speculative
from theory.acceptance import alpha, frontier
from theory.candidates import (
    candidate_sets,
    candidates_frontier,
    candidates_law,
    optimal_acceptance,
    optimal_transport,
)
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    counterexample,
    enumeration,
    first,
    holds_if,
    holds_under_assumptions_if,
    identity,
    rejects_mutants,
    require,
    require_found,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.leviathan.speculative_rule import random_pairs
from theory.distances import aligned, tv
from theory.exact import acceptance, block_law, deviation, mean, sequence_law, step_law, target_law
from theory.example_processes import random_process, random_row
from theory.search import pairs, smallest_violation

CLAIMS = Claims("baselines")

# Block verification --------------------------------------------------------------------------------------------


def process_pairs(seed: int) -> list[tuple[TableProcess, TableProcess]]:
    """Targets and drafts over three tokens, with and without zeros."""
    return [
        (random_process(seed + k, v, n, zeros=z), random_process(seed + k + 50, v, n, zeros=z))
        for k, (v, n) in enumerate(((2, 4), (3, 3), (3, 4)))
        for z in (0.0, 0.35)
    ]


CLAIMS.summary(
    "baselines.block-verification",
    "arXiv 2403.10444",
    "Verifying a block as a whole is lossless and never accepts fewer tokens in the mean than verifying token by "
    "token.",
    ["baselines.block-verification.lossless", "baselines.block-verification.tokens"],
)


@CLAIMS.claim(
    "baselines.block-verification.lossless",
    "arXiv 2403.10444, Theorem 1",
    "Block verification leaves the target's law, of a block completed by the target and of whole sequences.",
)
def block_lossless(seed: int) -> Finding:
    """Write w_i and s_i as in simlab/decoders/block.py, and tau for how many drafts are accepted. First, P(tau >= i
    given the drafts x_1..x_i) = w_i: it holds for i = gamma, and if it holds for i + 1 then, averaging over x_{i+1}
    from q, P(tau >= i + 1 given x_1..x_i) = sum_y min(q, w_i p)(y) = w_i - s_i, so P(tau >= i) = h_i + (1 - h_i)(w_i -
    s_i) = w_i for h_i = s_i/(s_i + 1 - w_i). So tau = i exactly has probability w_i - (w_i - s_i) = s_i. Now let the
    output, drawn out by p, begin with x_1..x_i with probability p(x_1..x_i). It goes on with y by accepting y as a
    draft, q(x_1..x_i) min(q, w_i p)(y); by tau = i and the residual, q(x_1..x_i) [w_i p - q]^+(y); together q(x_1..x_i)
    w_i p(y); and from shorter tau by p(y). So y follows p(y) given x_1..x_i.
    """
    tried = [(target, draft, gamma) for target, draft in process_pairs(seed) for gamma in (1, 2, 3)]

    def gap(make: Callable[[int], Decoder]) -> Fraction:
        return max(_off(make(gamma), target, draft) for target, draft, gamma in tried)

    worst = gap(Block)
    return holds_if(
        worst == 0,
        enumeration(f"sequence law of the target in rationals for {len(tried)} cases (largest TV {worst})"),
        rejects_mutants(
            {"count off by one": lambda g: mutants.WithRandomness(Block(g), _OneMore)}, gap, "the law of blocks"
        ),
    )


class _OneMore(mutants.ChangedRandomness):
    """Reports the coin of a prefix for the next longer one."""

    def accept(self, probability: Any, position: Any, lane: int = 0) -> Any:
        heads = self.randomness.accept(probability, position, lane)
        moved = heads.copy()
        moved[:, 1:] = heads[:, :-1] | heads[:, 1:]
        return moved


def _off(decoder: Decoder, target: TableProcess, draft: TableProcess, rule: Rule | None = None) -> Fraction:
    return Fraction(deviation(decoder, target, rule or Speculative(), draft))


@CLAIMS.claim(
    "baselines.block-verification.tokens",
    "arXiv 2403.10444, Theorem 2",
    "For every target and draft the expected number of accepted drafts is at least that of verification token by "
    "token.",
)
def block_tokens(seed: int) -> Finding:
    """Token by token i drafts are accepted with probability prod min(1, p/q) over the first i; as a block with w_i
    given these, averaged over what is drafted after them, where w_i = min(1, w_{i-1} p/q). By induction w_i is at least
    the product, and the expectation is the sum over i. The two are equal where no ratio above 1 comes after one below.
    """
    tried = [(target, draft, gamma) for target, draft in process_pairs(seed) for gamma in (2, 3)]

    def lead(make: Callable[[int], Decoder]) -> list[Fraction]:
        """Mean tokens of a block, over those of verification token by token."""
        return [
            Fraction(_tokens(make(g), target, draft) - _tokens(SpeculativeDecoder(g), target, draft))
            for target, draft, g in tried
        ]

    ahead = lead(Block)
    example = _iid((Fraction(1, 3), Fraction(2, 3))), _iid((Fraction(2, 3), Fraction(1, 3)))
    accepted = {name: _tokens(d, *example) - 1 for name, d in (("token", SpeculativeDecoder(2)), ("block", Block(2)))}
    require(
        accepted == {"token": Fraction(10, 9), "block": Fraction(11, 9)}, f"the paper's example comes out as {accepted}"
    )
    return holds_if(
        min(ahead) >= 0,
        enumeration(
            f"mean tokens of the first block in {len(tried)} cases: ahead by {float(min(ahead)):.4f} to "
            f"{float(max(ahead)):.4f}; p = (1/3, 2/3), q = (2/3, 1/3), two drafts: 10/9 accepted by token, 11/9 by "
            "block",
        ),
        rejects_mutants(
            {"drafts after a coin that fails are dropped": _Shortest},
            lambda m: -min(lead(m)),
            "the number of tokens",
        ),
    )


class _Shortest(Block):
    """Accepts drafts only up to the first prefix whose coin fails."""

    def verify(self, rule: Any, p: Any, q: Any, x: Any, randomness: Any, position: Any, among: Any = None) -> Any:
        return super().verify(rule, p, q, x, _UpToFirst(randomness), position, among)


class _UpToFirst(mutants.ChangedRandomness):
    def accept(self, probability: Any, position: Any, lane: int = 0) -> Any:
        return np.logical_and.accumulate(self.randomness.accept(probability, position, lane), axis=1)


def _iid(row: tuple[Fraction, ...]) -> TableProcess:
    return TableProcess(len(row), 3, lambda prefix: row)


def _tokens(decoder: Decoder, target: TableProcess, draft: TableProcess) -> Fraction:
    lengths: dict[int, Any] = {}
    for tokens, weight in block_law(decoder, target, Speculative(), draft=draft).items():
        lengths[len(tokens)] = lengths.get(len(tokens), Fraction(0)) + weight
    return Fraction(mean(lengths))


# Several candidates --------------------------------------------------------------------------------------------


def candidate_cases(seed: int) -> list[tuple[Any, Any, int]]:
    """Pairs of rows over 2 to 5 tokens with 1 to 3 candidates."""
    random = Random(seed)
    return [(random_row(random, 2 + k % 4), random_row(random, 2 + k % 4), 1 + k % 3) for k in range(36)]


@CLAIMS.claim(
    "baselines.optimal-candidates",
    "SpecTr, arXiv 2310.15141",
    "The most a lossless method can accept of K candidates is min over T of p(T) + P(the set is not within T); no "
    "lossless rule verified in turn accepts more.",
)
def optimal_candidates(seed: int) -> Finding:
    """A method that sees the set S and accepts y in S with mass f(S, y) has sum_y f(S, y) <= P(S), and sum_S f(S, y) <=
    p(y) since what it accepts is emitted. Any such f can be completed to a lossless method by drawing the rest from
    what p lacks. So the most is a maximal flow, and by max-flow min-cut the minimum stated (theory/candidates.py). A
    rule verified in turn that is lossless is one such method.
    """
    tried = candidate_cases(seed)
    linear = max(
        abs(float(optimal_acceptance(p, candidate_sets(q, k))) - optimal_transport(p, candidate_sets(q, k))[0])
        for p, q, k in tried
    )
    single = all(optimal_acceptance(p, candidate_sets(q, 1)) == alpha(p, q) for p, q, _ in tried)

    def beyond(rule: Rule) -> Fraction:
        return max(
            Fraction(candidates_law(rule, p, q, k)[1] - optimal_acceptance(p, candidate_sets(q, k)))
            for p, q, k in tried
        )

    worst = beyond(Speculative())
    return holds_if(
        worst <= 0 and single and linear < 1e-9,
        identity(
            f"{len(tried)} cases, V = 2 to 5, K = 1 to 3: equal to the linear program (largest difference "
            f"{linear:.1e}) and, for K = 1, to 1 - TV; verification in turn accepts at most that",
        ),
        rejects_mutants({"ratio times 1.01": mutants.inflated_ratio()}, beyond, "the optimum"),
    )


def shortfall(p: Any, q: Any) -> Fraction:
    """How much less of two candidates verification in turn accepts than a lossless method can."""
    in_turn = candidates_law(Speculative(), p, q, 2)[1]
    return Fraction(optimal_acceptance(p, candidate_sets(q, 2)) - in_turn)


@CLAIMS.claim(
    "baselines.frontier-candidates",
    "after leviathan.frontier",
    "With K candidates, acceptance is at most the lossless optimum plus the TV spent, and this is reached.",
)
def frontier_candidates(seed: int) -> Finding:
    """What a method emits has some law within TV s of p, and it accepts at most the optimum for that law. In the
    minimum of baselines.optimal-candidates p(T) changes by at most s, so the optimum does. It is reached: at an
    optimal flow mass 1 - optimum is left over both of p and of the sets; put s of the former on tokens of the latter.
    The new law is within s, and its flow larger by s.
    """
    tried = candidate_cases(seed)

    def beyond(rule: Rule, share: Fraction = Fraction(1)) -> Fraction:
        """The most that acceptance is above the optimum plus that share of the TV spent."""
        worst = Fraction(-1)
        for p, q, k in tried:
            law, accepted = candidates_law(rule, p, q, k)
            limit = candidates_frontier(p, candidate_sets(q, k), share * Fraction(tv(tuple(law), p)))
            worst = max(worst, Fraction(accepted - limit))
        return worst

    rules = [OptimalLossy(Fraction(1, 5)), *mutants.RULES.values()]
    worst = max(map(beyond, rules))
    reached = max(_reached(p, q, k, Fraction(1, 10)) for p, q, k in tried)
    return holds_if(
        worst <= 0 and reached < 1e-9,
        identity(
            f"{len(rules)} rules, right and wrong, verified in turn on {len(tried)} cases stay within the bound; "
            "a law moved by 1/10 as in the proof has an optimum larger by 1/10 (largest difference "
            f"{reached:.1e})",
        ),
        rejects_mutants(
            {"optimum + TV/2": Fraction(1, 2)},
            lambda share: max(beyond(rule, share) for rule in rules),
            "the frontier",
        ),
    )


def _reached(p: Any, q: Any, candidates: int, spent: Fraction) -> float:
    """How far the optimum for a law moved by ``spent`` is from the frontier."""
    sets = candidate_sets(q, candidates)
    best, plan = optimal_transport(p, sets)
    share = min(float(spent), 1 - best)
    law = [float(x) for x in p]
    lack = [x - sum(row[y] for row in plan.values()) for y, x in enumerate(law)]
    left = {s: float(mass) - float(plan[s].sum()) for s, mass in sets.items()}
    if 1 - best < 1e-12:
        return abs(best - float(candidates_frontier(p, sets, spent)))
    for y, x in enumerate(lack):
        law[y] -= share * max(x, 0.0) / (1 - best)
    for s, mass in left.items():
        law[min(s)] += share * max(mass, 0.0) / (1 - best)
    total = sum(law)
    moved = optimal_transport([x / total for x in law], sets)[0]
    return abs(moved - float(candidates_frontier(p, sets, spent)))


@CLAIMS.claim(
    "baselines.frontier-naive",
    "after leviathan.frontier",
    "The bound for one candidate carries over: with K candidates acceptance gained over verification in turn is at "
    "most the TV spent.",
    stated=False,
)
def frontier_naive(seed: int) -> Finding:
    """Verification in turn is not the best lossless method (pac.optimal). A method that is gains acceptance over it and
    spends nothing.
    """
    found = require_found(
        smallest_violation(pairs, lambda e: shortfall(*e) > 0, seed, ((3, 1), (3, 2), (3, 4))),
        "verification in turn is optimal on every pair tried",
    )
    p, q = found
    return Finding(
        "refuted",
        [
            counterexample(
                f"p = {fmt_row(p)}, q = {fmt_row(q)}, K = 2: optimal transport gains {fmt(shortfall(p, q))} at TV 0",
                numbers("speculative", {"candidates": 2}, p=p, q=q, gained=shortfall(p, q), tv=Fraction(0)),
            )
        ],
    )


@CLAIMS.claim(
    "baselines.optimal-lossy",
    "after Tran-Thien, 2023",
    "The rule for p + t (q - p) with t = min(1, s/TV(p, q)) emits a law TV min(s, TV(p, q)) from p and accepts the "
    "most a rule with one candidate can at that TV.",
)
def optimal_lossy(seed: int) -> Finding:
    """It is speculative sampling with target p_t = p + t (q - p), a mixture of p and q. So it emits p_t, which is t
    TV(p, q) from p, and accepts 1 - TV(p_t, q) = 1 - (1 - t) TV(p, q) = alpha + t TV(p, q), the bound of
    leviathan.frontier.
    """
    tried = random_pairs(seed, 120)

    def gap(make: Callable[[Fraction], Rule]) -> Fraction:
        worst = Fraction(0)
        for p, q in tried:
            for s in (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)):
                law, spent = step_law(make(s), p, q), min(s, tv(p, q))
                worst = max(worst, abs(tv(law, p) - spent), abs(acceptance(make(s), p, q) - frontier(p, q, spent)))
        return worst

    worst = gap(OptimalLossy)
    return holds_if(
        worst == 0,
        identity(f"TV and acceptance as stated, in rationals, on {len(tried)} pairs and four budgets"),
        rejects_mutants({"amplify by 1 + s": lambda s: Amplify(1 + s)}, gap, "TV and acceptance"),
    )


# Samplers ------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "samplers.processors",
    "SJD and GSD reference code; LANTERN App. C",
    "With guidance, temperature, top-k and top-p part of both processes, speculative decoding is lossless to the "
    "target that is sampled from.",
    assumptions=[
        "the draft is scored with the row it was drawn from, and the target's rows have passed through everything"
    ],
)
def processors(seed: int) -> Finding:
    """A processor maps a row to a row that depends on nothing else, so a process behind processors is a process, and
    leviathan.lossless applies to it. Nothing else may pass through them: a residual that does is no longer what is
    missing, unless the processor leaves it as it is, as top-k without ties does. The draft may have other processors
    than the target, or none.
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
    return holds_under_assumptions_if(
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
