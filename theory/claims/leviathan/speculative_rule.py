"""Claims about the base rule (Leviathan et al., arXiv 2211.17192), as the five papers quote it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

import numpy as np

from simlab import mutants
from simlab.decoders import Decoder, SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Addition, Amplify, Rule, Speculative
from theory.acceptance import (
    alpha,
    expected_tokens,
    frontier,
    speedup,
    trials_per_rejection,
    trials_per_token,
)
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    counterexample,
    enumeration,
    holds_if,
    holds_under_assumptions_if,
    identity,
    not_refuted_if,
    rejects_mutants,
)
from theory.claims.format import fmt, numbers
from theory.distances import aligned, tv
from theory.exact import acceptance, block_law, complete, sequence_law, step_law, target_law
from theory.example_processes import random_process, random_row, small_rules

CLAIMS = Claims("leviathan")
Row = tuple[Fraction, ...]


def random_pairs(seed: int, count: int) -> list[tuple[Row, Row]]:
    """Pairs of rational pmfs over 2 to 6 tokens, a third of the entries zero."""
    random = Random(seed)
    return [(random_row(random, 2 + k % 5), random_row(random, 2 + k % 5)) for k in range(count)]


@CLAIMS.claim(
    "leviathan.acceptance", "GSD Prop. 1; SJD-PAC 4.2", "The acceptance rate is alpha = sum min(p, q) = 1 - TV(p, q)."
)
def acceptance_is_one_minus_tv(seed: int) -> Finding:
    """Drafting x has probability q(x), accepting it min(1, p(x)/q(x)), so q(x) min(1, p(x)/q(x)) = min(p, q)(x),
    also where q(x) = 0. Summing min(a, b) = (a + b - |a - b|)/2 over tokens gives (1 + 1 - 2 TV)/2 = 1 - TV.
    """
    tried = random_pairs(seed, 400)

    def deviation(rule: Rule) -> Fraction:
        return max(abs(acceptance(rule, p, q) - (1 - tv(p, q))) for p, q in tried)

    worst = deviation(Speculative())
    wrong = {name: rule for name, rule in mutants.RULES.items() if "ratio" in name}
    return holds_if(
        worst == 0,
        identity(
            f"equal in rationals on {len(tried)} pairs over 2 to 6 tokens with zeros (largest difference {worst})",
        ),
        rejects_mutants(wrong, deviation, "the acceptance rate"),
    )


@CLAIMS.claim(
    "leviathan.lossless",
    "Leviathan et al., Theorem 1; SJD-PAC eq. 1",
    "One block of draft, verification and residual or bonus emits tokens whose joint law, completed by "
    "the target, is the target's; and so do whole sequences.",
)
def lossless(seed: int) -> Finding:
    """Given the tokens before it, a draft x follows q. It is emitted with probability min(p, q)(x); a rejection
    has probability 1 - sum min(p, q) = sum [p - q]^+, after which x follows [p - q]^+/sum [p - q]^+. So x is
    emitted with probability min(p, q) + [p - q]^+ = p. Whether it was accepted or replaced, the token follows p given
    the tokens before it; drafts after a rejection are dropped unseen; the bonus token follows p by construction.
    By induction every token emitted follows p given its prefix, and completing the block with p gives the
    target's joint law. A sequence is a chain of such blocks.
    """
    cases = [
        (random_process(seed + k, v, 3, zeros=z), random_process(seed + k + 100, v, 3, zeros=z), gamma)
        for k in range(4)
        for v in (2, 3)
        for z in (0.0, 0.3)
        for gamma in (1, 2, 3)
    ]
    target = {id(p): target_law(p) for p, _, _ in cases}

    def block_deviation(decoder: Decoder, p: TableProcess, q: TableProcess, rule: Rule) -> Fraction:
        block = complete(block_law(decoder, p, rule, q), p, p.length)
        return tv(*aligned(block, target[id(p)]))

    def sequence_deviation(decoder: Decoder, p: TableProcess, q: TableProcess, rule: Rule) -> Fraction:
        return tv(*aligned(sequence_law(decoder, p, rule, q)[0], target[id(p)]))

    checks = block_deviation, sequence_deviation  # a wrong variant must fail both
    right = [(SpeculativeDecoder(gamma), p, q, Speculative()) for p, q, gamma in cases]
    worst = max(deviation(*case) for case in right for deviation in checks)

    some = [(random_process(seed + k, 3, 4), random_process(seed + k + 100, 3, 4)) for k in range(3)]
    target |= {id(p): target_law(p) for p, _ in some}
    wrong: dict[str, tuple[Decoder, Rule]] = {n: (SpeculativeDecoder(2), rule) for n, rule in mutants.RULES.items()}
    wrong |= {n: (decoder, Speculative()) for n, decoder in mutants.speculative_decoders(2).items()}
    return holds_if(
        worst == 0,
        enumeration(
            f"joint law of one block completed by p, and of whole sequences, equal to the "
            f"target's in rationals on {len(cases)} pairs of context-dependent processes "
            f"(V = 2, 3; length 3; gamma = 1, 2, 3; with and without zeros); largest TV {fmt(worst)}",
        ),
        rejects_mutants(
            wrong, lambda v: min(max(check(v[0], p, q, v[1]) for p, q in some) for check in checks), "losslessness"
        ),
    )


@CLAIMS.claim(
    "leviathan.frontier",
    "derived here",
    "A rule with one candidate gains at most as much acceptance over the lossless rule as its output law "
    "is away from p in TV: acceptance <= alpha + TV(law, p). Amplify with k >= 1 and addition reach the bound.",
    stated=False,
)
def acceptance_gained_is_tv_spent(seed: int) -> Finding:
    """What is accepted is part of what is emitted, q a <= law, and q a <= q. So acceptance <= sum min(q, law) <=
    sum min(q, p) + sum [law - p]^+ = alpha + TV. With a >= min(1, p/q) and residual [p - q]+, tokens with
    q <= p are all accepted and the residual adds at most p - q to them, so law exceeds p only where q > p, by
    q a - p: there the bound is an equality.
    """
    tried = random_pairs(seed, 120)
    reaching = Amplify(Fraction(3, 2)), Amplify(4), Addition(Fraction(1, 10)), Addition(Fraction(1, 2))

    def slack(slope: Fraction) -> list[Fraction]:
        """How far below the line of the given slope every rule stays on every pair."""
        found = []
        for p, q in tried:
            for rule in (*small_rules(len(p)).values(), *reaching):
                spent = tv(step_law(rule, p, q), p)
                found.append(frontier(p, q, slope * spent) - acceptance(rule, p, q))
        return found

    gaps = slack(Fraction(1))
    on_the_line = [
        acceptance(rule, p, q) == alpha(p, q) + tv(step_law(rule, p, q), p) for p, q in tried for rule in reaching
    ]
    return holds_if(
        min(gaps) >= 0 and all(on_the_line),
        identity(
            f"{len(gaps)} pairs of rows and rules: smallest slack {fmt(min(gaps))}; amplify and addition on the "
            f"line exactly in {sum(on_the_line)} of {len(on_the_line)} cases",
        ),
        rejects_mutants({"a line at 0.9 TV": Fraction(9, 10)}, lambda slope: -min(slack(slope)), "the frontier"),
    )


CLAIMS.summary(
    "leviathan.expected-tokens",
    "CSpD eq. 51",
    "With i.i.d. acceptance alpha, tokens per block are (1 - alpha^(gamma+1))/(1 - alpha) and the speedup "
    "is that over (gamma c + 1); how far off when acceptance is not i.i.d.",
    [
        "leviathan.expected-tokens.iid",
        "leviathan.expected-tokens.dependent",
        "leviathan.expected-tokens.block",
        "leviathan.expected-tokens.regions",
        "leviathan.expected-tokens.empirical",
    ],
)


@CLAIMS.claim(
    "leviathan.expected-tokens.iid",
    "CSpD eq. 51",
    "With i.i.d. acceptance alpha, tokens per block are (1 - alpha^(gamma+1))/(1 - alpha), and the "
    "speedup is that over (gamma c + 1).",
    assumptions=[
        "every draft is accepted with the same probability, independently of the others",
        "verifying gamma + 1 rows costs one call of the target, whatever gamma",
        "a bonus token follows a block that is accepted whole",
        "the end of the sequence is far",
    ],
)
def expected_tokens_iid(seed: int) -> Finding:
    """A block emits at least k + 1 tokens if its first k drafts are accepted, k = 0 to gamma: probability alpha^k. The
    mean is the sum of these. A block costs gamma draft calls of c each and one call of the target, and without
    drafting a call gives one token.
    """
    weights = [((1, 1), (1, 2)), ((3, 1, 0), (1, 1, 1)), ((1, 2, 3), (3, 2, 1)), ((1, 0), (0, 1)), ((1, 1), (1, 1))]
    cases = [
        (tuple(Fraction(w, sum(p)) for w in p), tuple(Fraction(w, sum(q)) for w in q), gamma)
        for p, q in weights
        for gamma in (1, 2, 3, 4)
    ]

    def deviation(decoder: Callable[[int], Decoder]) -> Fraction:
        """Between the mean tokens of a block over a context-free pair and the formula."""
        worst = Fraction(0)
        for p, q, gamma in cases:
            law = block_law(decoder(gamma), constant(p, gamma + 1), Speculative(), constant(q, gamma + 1))
            tokens = Fraction(sum(len(t) * w for t, w in law.items()))
            worst = max(worst, abs(tokens - Fraction(expected_tokens(alpha(p, q), gamma))))
        return worst

    worst = deviation(SpeculativeDecoder)
    best = speedup(Fraction(9, 10), 5, Fraction(1, 20))
    return holds_under_assumptions_if(
        worst == 0,
        enumeration(
            f"mean tokens of a block over a context-free pair equal the formula in rationals for "
            f"{len(cases)} pairs and gamma = 1 to 4; for example alpha = 0.9, gamma = 5, c = 0.05 gives a "
            f"speedup of {float(best):.3f}",
        ),
        rejects_mutants({"bonus omitted": mutants.BonusOmitted}, deviation, "expected tokens"),
    )


@CLAIMS.claim(
    "leviathan.expected-tokens.dependent",
    "CSpD eq. 51",
    "The formula at the mean acceptance rate gives the mean tokens of a block also when acceptance is not i.i.d.",
    stated=False,
)
def expected_tokens_dependent(seed: int) -> Finding:
    """If a whole block is easy or hard, tokens are convex in alpha and their mean is above the formula; if the drafts
    early in a block are worse than the late ones, it is below. It depends on how the rate is averaged, too: over
    the positions of a block, or over the drafts a decoder verifies, which leaves out those behind a rejection.
    Neither rate makes the formula right in general.
    """
    gamma, half = 3, Fraction(1, 2)
    # the first token decides whether the other drafts are all accepted (after 0) or not (after 1)
    fate_p = TableProcess(2, gamma + 1, lambda prefix: [half, half] if not prefix else [1, 0])
    fate_q = TableProcess(2, gamma + 1, lambda prefix: [half, half] if not prefix else [1 - prefix[0], prefix[0]])
    # the first draft is never accepted, the others would be
    late_p = TableProcess(2, gamma + 1, lambda prefix: [1, 0])
    late_q = TableProcess(2, gamma + 1, lambda prefix: [int(len(prefix) > 0), int(len(prefix) == 0)])
    by_position = {"fate": (1 + 2 * half) / gamma, "late": Fraction(gamma - 1, gamma)}
    tokens, by_look = {}, {}
    for name, p, q in (("fate", fate_p, fate_q), ("late", late_p, late_q)):
        law = block_law(SpeculativeDecoder(gamma), p, Speculative(), q)
        tokens[name] = sum(len(t) * w for t, w in law.items())
        by_look[name] = accepted_over_verified(law, gamma)
    right = {
        rate: all(tokens[name] == expected_tokens(alphas[name], gamma) for name in tokens)
        for rate, alphas in (("by position", by_position), ("by look", by_look))
    }
    text = "; ".join(
        f"{what}: {fmt(tokens[name])} tokens, formula {fmt(expected_tokens(by_position[name], gamma))} at the rate "
        f"by position ({fmt(by_position[name])}), {fmt(expected_tokens(by_look[name], gamma))} at the rate of "
        f"verified drafts ({fmt(by_look[name])})"
        for name, what in (("fate", "a block easy or hard as a whole"), ("late", "one whose first draft is hopeless"))
    )
    return not_refuted_if(
        any(right.values()),
        counterexample(
            f"gamma = {gamma}. {text}",
            numbers(
                gamma=gamma,
                p={"": [half, half], "0": [1, 0], "1": [1, 0]},
                q={"": [half, half], "0": [1, 0], "1": [0, 1]},
                tokens=tokens["fate"],
                alpha=by_position["fate"],
                formula=expected_tokens(by_position["fate"], gamma),
                alpha_looked_at=by_look["fate"],
                formula_looked_at=expected_tokens(by_look["fate"], gamma),
            ),
        ),
    )


def accepted_over_verified(law: dict, gamma: int) -> Fraction:
    """Accepted drafts over verified drafts in one block of ``law``."""
    accepted = verified = Fraction(0)
    for tokens, weight in law.items():
        accepted += weight * (len(tokens) - 1)
        verified += weight * min(len(tokens), gamma)
    return accepted / verified


@CLAIMS.claim(
    "leviathan.residual-cost",
    "CSpD A.3",
    "Accept-reject sampling of the residual with proposal p needs 1/TV trials per rejection; and, per "
    "verified token, one trial whenever p differs from q.",
)
def residual_cost(seed: int) -> Finding:
    """A trial draws y from p and accepts it with [p(y) - q(y)]^+/p(y). Its success probability is
    sum [p - q]^+ = TV, whatever was rejected, so trials are geometric with mean 1/TV and variance
    (1 - TV)/TV^2. A token is rejected with probability TV, so a verified token costs TV * 1/TV = 1 trial on
    average, and none if p = q. The mean per token does not depend on how close p and q are; its spread does.
    """
    tried = [(p, q) for p, q in random_pairs(seed, 400) if p != q]

    def deviation(proposal: int) -> Fraction:
        """Against the success probability of a trial with proposal p (0) or q (1), summed token by token."""
        worst = Fraction(0)
        for pair in tried:
            p, q = pair
            success = sum(pair[proposal][y] * max(p[y] - q[y], Fraction(0)) / p[y] for y in range(len(p)) if p[y])
            if not success:
                return Fraction(1)  # it never ends
            per_rejection = 1 / success
            rejected = 1 - acceptance(Speculative(), p, q)
            worst = max(
                worst,
                abs(per_rejection - trials_per_rejection(p, q)),
                abs(rejected * per_rejection - trials_per_token(p, q)),
            )
        return worst

    worst = deviation(0)
    close = (Fraction(1, 2), Fraction(1, 2)), (Fraction(51, 100), Fraction(49, 100))
    return holds_if(
        worst == 0,
        identity(
            f"equal in rationals on {len(tried)} pairs; at TV = {fmt(tv(*close))} a rejection costs "
            f"{fmt(trials_per_rejection(*close))} trials and a token {fmt(trials_per_token(*close))}, with a "
            f"standard deviation of {np.sqrt(float((2 - tv(*close)) / tv(*close) - 1)):.1f} trials a token",
        ),
        rejects_mutants({"proposal q": 1}, deviation, "the cost of the residual"),
    )


def constant(row: Row, length: int) -> TableProcess:
    """A process whose tokens are i.i.d. with pmf ``row``."""
    return TableProcess(len(row), length, lambda prefix: row)
