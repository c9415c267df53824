"""Claims about sequences of CSpD: what its published code does to a block, against Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import asin, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy

from simlab.continuous.compiled import simulate
from simlab.continuous.decoders import InPlace, Truncating
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain, tempered
from simlab.continuous.models.sequences import Tokens
from simlab.continuous.rules import LastStep, Marginal, Rule, VarianceProduct
from simlab.randomness import Tape
from simlab.statistics import ProportionTest
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.cspd.assumed import CODE
from theory.claims.evidence import (
    counterexample,
    example,
    holds_if,
    identity,
    powers_below,
    refuted_if,
    rejects_mutants,
    require,
    simulation,
    small_scale,
)
from theory.claims.format import fmt, numbers
from theory.continuous.cell_tests import even, sequence_p, token_p
from theory.continuous.sequences import (
    Link,
    SequenceLaw,
    autoregressive,
    hellinger,
    in_place,
    kl,
    sequence_law,
    tv_bounds,
)

CLAIMS = Claims("cspd")
FALSE_ALARMS, SEQUENCES = 1e-6, 10_000
ABAR = np.array([0.6, 0.1])  # two denoising steps
LOSSLESS: tuple[Rule, ...] = (LastStep(), LastStep(aligned=False), Marginal())

BLOCK = CODE.function(
    "spec_decode/spec_decode_runner.py",
    "SpecDecodeRunner.run",
    "Every num_draft steps the target predicts all tokens of the block at once, from the tokens before the block: "
    "those of the block are masked, so that it does not see their drafts. Each rejected token is replaced where it "
    "stands, and the next block begins after the last token of this one. Algorithm 1 in the paper differs: there M_p "
    "is given the drafts, and the block ends at its first rejection. The repository calls itself an "
    "implementation of the paper, in its first version, and makes no statement on the law; its rule is "
    "cspd.output-law.reference.",
    "ours",
)
LOSSLESS_RULE = "lossless rule: a verified token has the law that the target predicts for it"


def exact(covariance: np.ndarray) -> Chain:
    """A chain that ends in N(c, ``covariance``) exactly."""
    return ddpm_chain(covariance, ABAR, exact_start=True)


def model(variances: list, length: int, ar_coefficient: Any, level: float = 0.0, first: float = 0.0) -> Tokens:
    """Tokens made by exact chains, of these variances or this covariance."""
    return Tokens(exact, np.array(variances), length, ar_coefficient, level, first)


class Case(NamedTuple):
    """A target, a draft that misses its level and its first token, and gamma."""

    target: Tokens
    draft: Tokens
    gamma: int


def cases() -> list[Case]:
    """One and two dimensions, diagonal and dense, whole blocks and a rest."""
    full, wider = [[1.0, 0.5], [0.5, 0.8]], [[1.2, 0.6], [0.6, 1.0]]
    turned = [[0.5, 0.3], [-0.2, 0.6]]
    return [
        Case(model([1.0], 2, 0.5, 0.2, 0.5), model([1.2], 2, 0.5), 2),
        Case(model([1.0], 4, -0.9, 0.2, 0.5), model([1.2], 4, -0.8), 2),
        Case(model([0.3], 4, 0.8, 0.2, 0.5), model([0.4], 4, 0.8), 3),
        Case(model([1.0, 0.4], 2, 0.7, 0.2, 0.5), model([1.2, 0.5], 2, 0.7), 2),
        Case(model(full, 2, turned, 0.2, 0.5), model(wider, 2, turned), 2),
    ]


def smallest() -> Case:
    """Two tokens, one number each: x_0 = e_0, x_1 = x_0 / 2 + e_1, and a draft whose first token is 1/2 off."""
    return Case(model([1.0], 2, 0.5), model([1.0], 2, 0.5, first=1.0), 2)


# Seen in runs ------------------------------------------------------------------------------------------------------


def beyond(p_value: float, tests: int) -> float:
    """By how many powers of ten a p-value is below the level, all ``tests`` of them counted; 0 where it is not."""
    return powers_below(p_value, FALSE_ALARMS / tests)


def finished(tokens: np.ndarray) -> np.ndarray:
    """Sequences ``[B, N, d]``, all of which must be finished."""
    require(not np.isnan(tokens).any(), "a sequence was not finished: proposals ran out")
    return tokens


def decoded(decoder: InPlace | Truncating, case: Case, rule: Rule, seed: int) -> np.ndarray:
    """Sequences that a decoder makes, all of them finished."""
    return finished(simulate(decoder, case.target, case.draft, rule, Tape(seed, SEQUENCES)).tokens)


Judge = Callable[[SequenceLaw, np.ndarray], float]


def alarms(judge: Judge, law: Callable[[Case], SequenceLaw], seed: int, rules: tuple[Rule, ...] = LOSSLESS) -> float:
    """The most any run of ``InPlace`` is beyond the level."""
    runs = [(case, rule) for case in cases() for rule in rules]
    found = (judge(law(case), decoded(InPlace(case.gamma), case, rule, seed)) for case, rule in runs)
    return max(beyond(p, len(cases()) * len(LOSSLESS)) for p in found)


def target_law(case: Case) -> SequenceLaw:
    return autoregressive(case.target)


def block_law(case: Case) -> SequenceLaw:
    return in_place(case.target, case.gamma)


# The claims --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.in-place",
    BLOCK,
    "With a rule that is lossless for each token, verifying all drafts of a block given the tokens before the block "
    "alone, and replacing rejected ones in place, gives sequences the target's law.",
    simulates="continuous tokens",
)
def sequence(seed: int) -> Finding:
    r"""Let $x$ be the last token before a block. Given $x$, the target's trajectory at place $j$ of the block is drawn
    on noise of that place alone, and the emitted token follows $p(x_0 | x_1^p)$ whatever the draft was (last-step rule;
    for the marginal rule, the law of a token $j$ places on). So given $x$ the tokens of a block are independent of each
    other, where the target's own tokens carry on from one to the next.

    Smallest case: $x_0 = e_0$, $x_1 = x_0 / 2 + e_1$ with standard normals, in one block of two. The target has
    variance $5/4$ of $x_1$ and covariance $1/2$, so a correlation of $1 / \sqrt{5}$; in place the variances are the
    same and the covariance is 0. So $KL(target || in place) = -\log(1 - 1/5) / 2$, and $x_0 x_1 > 0$ has probability
    $1/2 + \arcsin(1 / \sqrt{5}) / \pi$ against $1/2$: total variation is at least $\arcsin(1 / \sqrt{5}) / \pi$. With
    $\gamma = 1$ a block sees the token before it, and nothing is lost.

    Every block moves on by $\gamma$ tokens whatever is accepted of it, so that $N$ tokens take $\lceil N / \gamma
    \rceil$ calls, for a draft that is never accepted too: what is saved is not saved by the draft, but by tokens of one
    block that do not wait for each other, which is what the law of sequences pays for.
    """
    case = smallest()
    law, right = block_law(case), target_law(case)
    least, most = tv_bounds(law, right)
    off = asin(1 / sqrt(5)) / pi
    require(abs(kl(right, law) - log(5 / 4) / 2) < 1e-12, "the divergence is not what it is by hand")
    require(least <= most and off <= most, "the bounds of total variation contradict each other")

    long = Case(model([0.19], 16, 0.9), model([0.19], 16, 0.9), 4)
    lags = {
        lag: [float(found(long).autocorrelation(lag).mean()) for found in (target_law, block_law)] for lag in (1, 4)
    }
    away = {gamma: kl(autoregressive(long.target), in_place(long.target, gamma)) for gamma in (1, 2, 4, 8, 16)}
    require(away[1] < 1e-9 < away[2] < away[16], "blocks of one lose nothing, and longer ones more")

    tokens = decoded(InPlace(2), case, LastStep(), seed)
    together = int((tokens[:, 0, 0] * tokens[:, 1, 0] > 0).sum())
    same, other = ProportionTest(0.5), ProportionTest(0.5 + off)
    fits = alarms(sequence_p, block_law, seed)
    require(same.p_value(together, SEQUENCES) > FALSE_ALARMS and not fits, "runs do not follow the law of the proof")
    refuting = float(other.p_value(together, SEQUENCES))
    tests = len(cases()) * len(LOSSLESS)
    return refuted_if(
        off > 0 and refuting < FALSE_ALARMS,
        counterexample(
            "x_0 = e_0, x_1 = x_0/2 + e_1, one block of gamma = 2: correlation 1/sqrt(5) = "
            f"{fmt(1 / sqrt(5))} in the target, {fmt(law.autocorrelation(1)[0, 0])} in place; KL(target || in "
            f"place) = log(5/4)/2 = {fmt(kl(right, law))}; both signs agree with "
            f"probability {fmt(0.5 + off)} and 1/2, so that TV >= {fmt(off)}, and TV <= {fmt(most)}",
            numbers(
                gamma=2,
                carry=0.5,
                covariance_target=right.covariance,
                covariance_in_place=law.covariance,
                kl_target_in_place=kl(right, law),
                kl_in_place_target=kl(law, right),
                hellinger=hellinger(law, right),
                tv_at_least=max(off, least),
                tv_at_most=most,
            ),
        ),
        small_scale(
            f"16 tokens of AR coefficient 0.9, gamma = 4: mean correlation at lag 1 {fmt(lags[1][0])} in the "
            f"target and {fmt(lags[1][1])} in place, at lag 4 {fmt(lags[4][0])} and {fmt(lags[4][1])}; "
            "KL(target || in place) "
            + ", ".join(f"{fmt(abs(value) if g > 1 else 0)} at gamma = {g}" for g, value in away.items()),
        ),
        simulation(
            f"the decoder itself, last-step rule: signs agree in {together:,} of {SEQUENCES:,} sequences, p = "
            f"{refuting:.2g} for the target's rate ({other.stated(SEQUENCES, FALSE_ALARMS)}). Whole sequences, of "
            f"one and two dimensions, follow the law of the proof in {tests} runs "
            f"({even(4).stated(SEQUENCES, FALSE_ALARMS / tests)}, of cells)",
        ),
        rejects_mutants(
            {"the target's own law": target_law, "blocks of gamma + 1": lambda w: in_place(w.target, w.gamma + 1)},
            lambda law: alarms(sequence_p, law, seed, (LastStep(),)),
            "sequences decoded in place",
        ),
        *calls(seed),
    )


def calls(seed: int) -> list[Evidence]:
    """Calls of runs; raises ``CheckFailed`` if they depend on what is accepted, or do not where blocks are cut."""
    target = model([1.0], 10, 0.5)
    drafts = {shift: model([1.0], 10, 0.5, first=2 * shift, level=shift) for shift in (0.0, 0.5, 1.5, 4.0)}
    gammas, count = (1, 2, 3, 4, 16), 100

    def run(decoder: InPlace | Truncating, draft: Tokens) -> tuple[np.ndarray, float]:
        made = simulate(decoder, target, draft, Marginal(), Tape(seed, count))
        return made.calls, made.acceptance

    def spread(kind: type[InPlace] | type[Truncating]) -> int:
        """By how much calls differ from ceil(N / gamma), over all drafts."""
        return max(
            int(np.abs(run(kind(gamma), draft)[0] + target.length // -gamma).max())
            for gamma in gammas
            for draft in drafts.values()
        )

    rates = {shift: run(InPlace(4), draft)[1] for shift, draft in drafts.items()}
    require(rates[0.0] > 0.75 and rates[4.0] < 0.05, "the drafts are not accepted as differently as they should be")
    require(spread(InPlace) == 0, "calls depend on what is accepted")
    return [
        simulation(
            f"{target.length} tokens, gamma = {', '.join(map(str, gammas))}, {count} sequences for each of "
            f"{len(drafts)} drafts, which are accepted at rates of "
            f"{', '.join(f'{rate:.2f}' for rate in rates.values())}: every run takes ceil(N / gamma) calls",
        ),
        rejects_mutants({"ended at the first rejection": Truncating}, spread, "calls"),
    ]


@CLAIMS.claim(
    "cspd.in-place.token",
    BLOCK,
    "Where all drafts of a block are verified given the tokens before the block alone and rejected ones are replaced "
    "in place, each token by itself has the marginal law that it has in a sequence of the target.",
    assumptions=[
        LOSSLESS_RULE,
        "exact prediction: what the target predicts for a token from the tokens before the block is its law with the "
        "tokens in between integrated out",
    ],
    simulates="continuous tokens",
)
def token(seed: int) -> Finding:
    r"""The token before a block has its marginal law, by induction. Given it, by "lossless rule" token $j$ of the block
    has the law that the target predicts $j$ places on, and by "exact prediction" that is the integral over the tokens
    in between. Averaged over the token before the block, it is the marginal law of its own place.
    """
    tried = [(case, gamma) for case in cases() for gamma in (1, 2, 3, 5)]

    def deviation(made: Callable[[Tokens, int], SequenceLaw]) -> float:
        """The largest difference between a mean or a covariance of a token and the target's."""
        laws = [(autoregressive(case.target), made(case.target, gamma)) for case, gamma in tried]
        gaps = (
            ours - right
            for target, law in laws
            for n in range(len(target.mean))
            for ours, right in zip(law.token(n), target.token(n), strict=True)
        )
        return float(np.max([np.abs(gap).max() for gap in gaps]))

    def forgetful(target: Tokens, gamma: int) -> SequenceLaw:
        """Means are carried on within a block, but noise is that of one token."""
        one, dense = autoregressive(target).token(0)[1], target.chain.layout.dense
        ahead = [(dense(ar_coefficient), level) for ar_coefficient, level, _ in target.ahead(gamma)]
        links = [Link(n - n % gamma - 1, *ahead[n % gamma], one) for n in range(target.length)]
        return sequence_law(links, target.first)

    worst, seen = deviation(in_place), alarms(token_p, target_law, seed)
    tests = len(cases()) * len(LOSSLESS) * 4

    def colder(rule: Rule) -> float:
        """A draft of a lower temperature, so that the product of variances is not 1."""
        base = smallest()
        case = Case(base.target, replace(base.draft, build=lambda c: tempered(exact(c), 0.8)), 2)
        law = target_law(base)
        return beyond(token_p(law, decoded(InPlace(2), case, rule, seed)), 1)

    require(colder(LastStep()) == 0, "the last-step rule does not preserve the law of a token")
    last = autoregressive(tried[0][0].target).token(1), in_place(tried[0][0].target, 2).token(1)
    return holds_if(
        worst < 1e-12 and not seen,
        identity(
            f"marginals of the law in place equal the target's in {len(tried)} cases of one and two dimensions, "
            f"gamma = 1 to 5; largest difference {worst:.1g}",
        ),
        example(
            "x_0 = 0.45 + e_0, x_1 = x_0/2 + 0.2 + e_1, one block of gamma = 2: mean and variance of "
            "x_1, in the target's sequences and in place",
            numbers(
                carry=0.5,
                level=0.2,
                mean_first=0.45,
                mean=[float(each[0].ravel()[0]) for each in last],
                variance=[float(each[1].ravel()[0]) for each in last],
            ),
        ),
        simulation(
            f"each token of {len(cases()) * len(LOSSLESS)} runs, last-step rule aligned or not and marginal rule "
            f"({even(2).stated(SEQUENCES, FALSE_ALARMS / tests)}, of cells)",
        ),
        rejects_mutants({"variance of one token": forgetful}, deviation, "marginals in closed form"),
        rejects_mutants({"variance-product": VarianceProduct()}, colder, "tokens of runs"),
    )


@CLAIMS.claim(
    "cspd.in-place.mend",
    BLOCK,
    "With a rule that is lossless for each token and leaves accepted drafts as they are, two changes to how the "
    "published code decodes a block give sequences the target's law: the target sees the drafts of the block, and the "
    "block ends at its first rejection. Neither change does so alone.",
    assumptions=[LOSSLESS_RULE, "kept drafts: a token that is accepted is the draft that the target saw"],
    simulates="continuous tokens",
)
def mend(seed: int) -> Finding:
    r"""Both: for "kept drafts" and as the block ends at a rejection, every token is verified given the tokens that stay
    before it. By "lossless rule" it follows the target's conditional law, so that sequences have the target's law by
    induction. A rule that changes what it accepts, as `target-end` does, has to end the block at the first token that
    is not the draft, accepted or not (`cspd.noiseless.cut`).

    Seen, but the block goes on: token 1 follows $N(x/2, 1)$ for the draft $x \sim N(m, 1)$ of token 0, accepted or not.
    So its mean is $m/2$ and not 0: even its marginal is off.

    The block ends, but drafts are not seen: where token 0 is accepted, token 1 follows $N(0, 5/4)$ and does not depend
    on it; where it is replaced, token 1 starts the next block and follows $N(x_0/2, 1)$. So $E x_0 x_1 = \frac{1}{2}
    \int y^2 [p(y) - q(y)]_+ dy$, less than the target's $\frac{1}{2} \int y^2 p(y) dy = 1/2$.
    """
    case, shift = smallest(), 0.5  # m: the draft's first token is carried on by one half
    after = abs(
        scipy.stats.norm.cdf(0, 0, 1) - scipy.stats.norm.cdf(0, shift / 2, sqrt(5) / 2)
    )  # P(x_1 < 0), target and seen but not cut
    below = scipy.integrate.quad(
        lambda y: y * y * max(0.0, scipy.stats.norm.pdf(y) - scipy.stats.norm.pdf(y, shift)),
        -12,
        12,
        points=[shift / 2],
    )[0]
    covariance = below / 2
    tests = len(cases()) * len(LOSSLESS)
    runs = [
        beyond(sequence_p(target_law(w), decoded(Truncating(w.gamma), w, rule, seed)), tests)
        for w in cases()
        for rule in LOSSLESS
    ]
    return holds_if(
        not any(runs) and after > 0 and covariance < 0.5,
        simulation(
            f"both changes: whole sequences of the decoder that ends blocks follow the target's law in {tests} runs "
            f"({even(4).stated(SEQUENCES, FALSE_ALARMS / tests)}, of cells)",
        ),
        example(
            "x_0 = e_0, x_1 = x_0/2 + e_1, and a draft of mean 1/2 for x_0: seen but not ended, x_1 "
            f"has mean {fmt(shift / 2)} for 0, so that TV >= {fmt(after)}; ended but not seen, the covariance is "
            f"{fmt(covariance)} for 1/2",
            numbers(
                carry=0.5,
                draft_mean=shift,
                mean_not_cut=shift / 2,
                tv_not_cut_at_least=after,
                covariance_not_seen=covariance,
            ),
        ),
        rejects_mutants(
            {"in place": InPlace(2)},
            lambda decoder: beyond(sequence_p(target_law(case), decoded(decoder, case, LastStep(), seed)), 1),
            "sequences whose blocks end at a rejection",
        ),
    )
