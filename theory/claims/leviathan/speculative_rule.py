"""Claims about the base rule (Leviathan et al., arXiv 2211.17192), as the five papers quote it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

from simlab import mutants
from simlab.decoders import Decoder, SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Addition, Amplify, Speculative
from theory.acceptance import alpha, expected_tokens, speedup, trials_per_rejection, trials_per_token
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import described, enumeration, example, holds_if, identity, rejects_mutants, require
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.distances import aligned, tv
from theory.exact import acceptance, block_law, complete, deviation, step_law, target_law
from theory.example_processes import random_process, random_row

CLAIMS = Claims("leviathan")
Row = tuple[Fraction, ...]
UNEVEN: tuple[Row, Row] = (
    (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)),
    (Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)),
)  # p and q of examples


def random_pairs(seed: int, count: int) -> list[tuple[Row, Row]]:
    """Pairs of rational pmfs over 2 to 6 tokens, a third of the entries zero."""
    random = Random(seed)
    return [(random_row(random, 2 + k % 5), random_row(random, 2 + k % 5)) for k in range(count)]


@CLAIMS.claim(
    "leviathan.acceptance",
    said(
        "GSD, Proposition 1",
        "let α_{p,q} be acceptance rate defined on Eq.1, and TV(·,·) be Total Variation distance measure, then "
        "α_{p,q} = 1 - ½ Σ_x |p(x) - q(x)| = 1 - TV(p,q).",
    ),
    r"For every $p$ and $q$, a draft from $q$ is accepted with probability "
    r"$\alpha = \sum_x \min(p(x), q(x)) = 1 - \mathrm{TV}(p, q)$.",
)
def acceptance_is_one_minus_tv(seed: int) -> Finding:
    r"""A draft $x$ has probability $q(x)$ and is accepted with probability $\min(1, p(x)/q(x))$: together
    $\min(p(x), q(x))$, also where $q(x) = 0$. Since $\min(a, b) = (a + b - |a - b|)/2$, the sum over tokens is
    $(1 + 1 - 2 \mathrm{TV}(p, q))/2 = 1 - \mathrm{TV}(p, q)$.
    """
    p, q = UNEVEN
    return holds_if(
        proven("leviathan.acceptance"),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}: accepted with probability {fmt(alpha(p, q))}",
            numbers("speculative", p=p, q=q, acceptance=acceptance(Speculative(), p, q), tv=tv(p, q)),
        ),
    )


@CLAIMS.claim(
    "leviathan.lossless",
    said(
        "GSD, 2.2",
        "Notably, this approach ensures that the base distribution p(·) is precisely recovered while sampling from the "
        "draft distribution q(·), enabling significant acceleration of AR models without compromising output quality.",
        "formalised",
        "The distribution that is recovered is read as the joint law: of a block completed by the target, and of whole "
        "sequences.",
    ),
    r"For every target $p$, draft $q$ and draft length $\gamma$, the tokens that a block of speculative decoding "
    r"emits, completed by sampling from $p$, have the joint law of the target, and so have whole sequences.",
)
def lossless(seed: int) -> Finding:
    r"""Given the tokens before it, a draft $x$ follows $q$. As an accepted draft $x$ is emitted with probability
    $\min(p(x), q(x))$. A rejection has probability $1 - \sum_y \min(p(y), q(y)) = \sum_y [p(y) - q(y)]^+$, and $x$ then
    follows $[p(x) - q(x)]^+ / \sum_y [p(y) - q(y)]^+$. Together $x$ is emitted with probability
    $\min(p(x), q(x)) + [p(x) - q(x)]^+ = p(x)$. So an emitted token, accepted or replaced, follows $p$ given the tokens
    before it; drafts after a rejection are dropped unseen; the bonus token follows $p$ by construction. By induction
    over positions the block, completed by $p$, has the target's joint law. A sequence is a chain of such blocks.
    """
    cases = [
        (*two_processes(seed + k, v, 3, 0.3), gamma) for k, (v, gamma) in enumerate(((2, 3), (3, 1), (3, 2), (3, 3)))
    ]

    def off(p: TableProcess, q: TableProcess, gamma: int) -> Fraction:
        """The larger TV from the target, of a block completed by p and of whole sequences."""
        decoder = SpeculativeDecoder(gamma)
        block = complete(block_law(decoder, p, Speculative(), q), p, p.length)
        return Fraction(max(tv(*aligned(block, target_law(p))), deviation(decoder, p, Speculative(), q)))

    worst = max(off(*case) for case in cases)
    return holds_if(
        proven("leviathan.lossless") and worst == 0,
        enumeration(
            f"beyond the proof: V = 2 with gamma = 3, V = 3 with gamma = 1, 2, 3, sequences of 3. In rationals, the "
            f"joint law of one block completed by p, and of whole sequences, is the target's on {len(cases)} pairs of "
            f"context-dependent processes (largest TV {fmt(worst)})",
        ),
    )


@CLAIMS.claim(
    "leviathan.frontier",
    derived(note="it is the best that a lossy rule can do: the most acceptance for its TV"),
    r"For every $p$ and $q$, a rule that accepts one draft from $q$ with probability $a$ and emits tokens of law $r$ "
    r"has $a \le \alpha + \mathrm{TV}(r, p)$, where $\alpha = 1 - \mathrm{TV}(p, q)$; it is an equality for the rules "
    r"that accept with $\min(1, k p/q)$, $k \ge 1$, or $\min(1, (p + \epsilon)/q)$, $\epsilon \ge 0$, and replace from "
    r"$[p - q]^+$.",
)
def acceptance_gained_is_tv_spent(seed: int) -> Finding:
    r"""Let $m(x) = q(x) a(x)$ be the mass of accepted drafts $x$, so that $a = \sum_x m(x)$. It is part of what is
    drafted and of what is emitted, $m \le q$ and $m \le r$. So $a \le \sum_x \min(q(x), r(x)) \le \sum_x \min(q(x),
    p(x)) + \sum_x [r(x) - p(x)]^+ = \alpha + \mathrm{TV}(r, p)$. Now let $a(x) \ge \min(1, p(x)/q(x))$ and let rejected
    drafts be replaced from $[p - q]^+$. Tokens with $q \le p$ are accepted whenever drafted, and since no more is
    rejected than by the lossless rule, the replacement adds at most $p - q$ to them. So $r$ exceeds $p$ only where $q >
    p$, by $m - p$, and $\mathrm{TV}(r, p) = \sum_{q > p} (m(x) - p(x)) = a - \alpha$.
    """
    tried = random_pairs(seed, 20)
    reaching = Amplify(Fraction(3, 2)), Amplify(4), Addition(Fraction(1, 10)), Addition(Fraction(1, 2))
    (p, q), half_more = UNEVEN, Amplify(Fraction(3, 2))
    on_the_line = [
        acceptance(rule, p, q) == alpha(p, q) + tv(step_law(rule, p, q), p) for p, q in tried for rule in reaching
    ]
    return holds_if(
        proven("leviathan.frontier") and all(on_the_line),
        identity(
            f"beyond the proof: amplify and addition are on the line exactly in {sum(on_the_line)} of "
            f"{len(on_the_line)} cases over 2 to 6 tokens",
        ),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}, accepted with min(1, 3/2 p/q): acceptance "
            f"{fmt(acceptance(half_more, p, q))}, TV {fmt(tv(step_law(half_more, p, q), p))}, alpha {fmt(alpha(p, q))}",
            described("amplify", {"k": Fraction(3, 2)}, p, q),
        ),
    )


@CLAIMS.claim(
    "leviathan.expected-tokens",
    said(
        "CSpD, eq. 51",
        "the expected walltime improvement is assumed to be: (1 - α^{γ+1})/((1 - α)(γc + 1)) ... where α is the "
        "acceptance rate of draft tokens, γ is the draft length, and c is the inference time ratio between the draft "
        "and target models.",
        "formalised",
        "The formula is Leviathan et al.'s for i.i.d. acceptance. Walltime is counted in calls of the target.",
    ),
    r"A block of $\gamma$ drafts, each accepted with probability $\alpha < 1$, yields "
    r"$(1 - \alpha^{\gamma+1})/(1 - \alpha)$ tokens in the mean; if a draft costs $c$ calls of the target, the speedup "
    r"is $(1 - \alpha^{\gamma+1})/((1 - \alpha)(\gamma c + 1))$.",
    assumptions=[
        "i.i.d. acceptance: every draft is accepted with the same probability, independently of the others",
        "parallel verification: verifying all drafts of a block costs one call of the target",
        "bonus token: a block that is accepted whole is followed by a token from the same call",
        "long sequence: no block is cut by the end of the sequence",
    ],
)
def expected_tokens_iid(seed: int) -> Finding:
    r"""In a long sequence a block emits its accepted drafts and one token more: the one that replaces the first
    rejected draft, or the bonus token. So it emits at least $k + 1$ tokens, $0 \le k \le \gamma$, if its first $k$
    drafts are accepted, which by i.i.d. acceptance has probability $\alpha^k$. The mean is $\sum_{k=0}^{\gamma}
    \alpha^k = (1 - \alpha^{\gamma+1})/(1 - \alpha)$. By parallel verification a block costs $\gamma c + 1$ calls of the
    target, where without drafts a call yields one token.

    Not for every target and draft, with $\alpha$ a mean rate. Where a whole block is easy or hard, the mean of $1 +
    \alpha + \dots + \alpha^{\gamma}$ over blocks exceeds its value at the mean $\alpha$, since it is convex; where the
    early drafts of a block are worse than the late ones, the formula promises too much. It also depends on what is
    averaged over: the positions of a block, or the drafts that are verified, which leaves out those behind a rejection.
    Neither rate makes the formula right in general, and the tables of a paper give one mean rate.
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
    rate, gamma, c = Fraction(9, 10), 5, Fraction(1, 20)
    best = speedup(rate, gamma, c)
    return holds_if(
        worst == 0,
        enumeration(
            f"mean tokens of a block over a context-free pair equal the formula in rationals for "
            f"{len(cases)} pairs and gamma = 1 to 4",
        ),
        example(
            f"alpha = 0.9, gamma = 5, c = 0.05: {float(expected_tokens(rate, gamma)):.3f} tokens a block, a speedup of "
            f"{float(best):.3f}",
            numbers(alpha=rate, gamma=gamma, c=c, tokens=expected_tokens(rate, gamma), speedup=best),
        ),
        dependent(),
        rejects_mutants({"bonus omitted": mutants.BonusOmitted}, deviation, "expected tokens"),
    )


def dependent() -> Evidence:
    """Blocks whose mean rate does not make the formula right; raises ``CheckFailed`` if one does."""
    gamma, half = 3, Fraction(1, 2)
    # the first token decides whether the other drafts are all accepted (after 0) or not (after 1)
    fate_p = TableProcess(2, gamma + 1, lambda prefix: [half, half] if not prefix else [1, 0])
    fate_q = TableProcess(2, gamma + 1, lambda prefix: [half, half] if not prefix else [1 - prefix[0], prefix[0]])
    # the first draft is never accepted, the others would be
    late_p = TableProcess(2, gamma + 1, lambda prefix: [1, 0])
    late_q = TableProcess(2, gamma + 1, lambda prefix: [int(len(prefix) > 0), int(len(prefix) == 0)])
    by_position = {"fate": (1 + 2 * half) / gamma, "late": Fraction(gamma - 1, gamma)}
    tokens, verified = {}, {}
    for name, p, q in (("fate", fate_p, fate_q), ("late", late_p, late_q)):
        law = block_law(SpeculativeDecoder(gamma), p, Speculative(), q)
        tokens[name] = sum(len(t) * w for t, w in law.items())
        verified[name] = accepted_over_verified(law, gamma)
    for rates in (by_position, verified):
        require(any(tokens[name] != expected_tokens(rates[name], gamma) for name in tokens), "a mean rate will do")
    text = "; ".join(
        f"{what}: {fmt(tokens[name])} tokens, formula {fmt(expected_tokens(by_position[name], gamma))} at the rate "
        f"by position ({fmt(by_position[name])}), {fmt(expected_tokens(verified[name], gamma))} at the rate of "
        f"verified drafts ({fmt(verified[name])})"
        for name, what in (("fate", "a block easy or hard as a whole"), ("late", "one whose first draft is hopeless"))
    )
    return example(
        f"not for every target and draft: gamma = {gamma}. {text}",
        numbers(
            gamma=gamma,
            p={"": [half, half], "0": [1, 0], "1": [1, 0]},
            q={"": [half, half], "0": [1, 0], "1": [0, 1]},
            tokens=tokens["fate"],
            alpha=by_position["fate"],
            formula=expected_tokens(by_position["fate"], gamma),
            alpha_verified=verified["fate"],
            formula_verified=expected_tokens(verified["fate"], gamma),
        ),
    )


def accepted_over_verified(law: dict, gamma: int) -> Fraction:
    """Accepted drafts over verified drafts in one block of ``law``."""
    accepted = sum(weight * (len(tokens) - 1) for tokens, weight in law.items())
    return Fraction(accepted, sum(weight * min(len(tokens), gamma) for tokens, weight in law.items()))


@CLAIMS.claim(
    "leviathan.residual-cost",
    derived(
        "after CSpD, G.2",
        'CSpD says of continuous tokens: "Empirically, acceptance-rejection sampling often requires only a few '
        'sampling steps." This is the exact number for any p and q, by their distance.',
    ),
    r"For every $p \ne q$, accept-reject sampling of the residual in proportion to $[p - q]^+$ with proposals from $p$ "
    r"takes $1/\mathrm{TV}(p, q)$ trials in the mean after a rejection, and so one trial in the mean for each verified "
    r"draft.",
)
def residual_cost(seed: int) -> Finding:
    r"""A trial draws $y$ from $p$ and accepts it with $[p(y) - q(y)]^+/p(y)$. It succeeds with probability $\sum_y
    [p(y) - q(y)]^+ = \mathrm{TV}(p, q)$, so trials are geometric, of mean $1/\mathrm{TV}$. A draft is rejected with
    probability $\mathrm{TV}$, so a verified draft costs $\mathrm{TV} \cdot 1/\mathrm{TV} = 1$ trial in the mean,
    however close $p$ and $q$ are. The second moment of its trials is $\mathrm{TV} (2 - \mathrm{TV})/\mathrm{TV}^2$, so
    their variance is $(2 - \mathrm{TV})/\mathrm{TV} - 1$: the closer $p$ and $q$, the rarer and longer the runs of
    trials.
    """
    p, q = (Fraction(1, 2), Fraction(1, 2)), (Fraction(51, 100), Fraction(49, 100))
    spread = float((2 - tv(p, q)) / tv(p, q) - 1) ** 0.5
    return holds_if(
        proven("leviathan.residual-cost"),
        example(
            f"at TV = {fmt(tv(p, q))} a rejection costs {fmt(trials_per_rejection(p, q))} trials and a verified draft "
            f"{fmt(trials_per_token(p, q))}, with a standard deviation of {spread:.1f}",
            numbers(
                p=p,
                q=q,
                trials_per_rejection=trials_per_rejection(p, q),
                trials_per_draft=trials_per_token(p, q),
                standard_deviation=spread,
            ),
        ),
    )


def two_processes(seed: int, vocabulary: int, length: int, zeros: float = 0.25) -> tuple[TableProcess, TableProcess]:
    """A target and a draft whose rows depend on the whole prefix, independent of each other."""
    target, draft = (random_process(seed + other, vocabulary, length, zeros=zeros) for other in (0, 500))
    return target, draft


def constant(row: Row, length: int) -> TableProcess:
    """A process whose tokens are i.i.d. with pmf ``row``."""
    return TableProcess(len(row), length, lambda prefix: row)
