"""Claims of SJD about its window: how wide it is (Fig. 8), and what it costs not to refine its drafts (appendix F)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from simlab.decoders import Decoder, Sjd, SjdUnrefined
from simlab.decoders.sjd_reference import PointMassSjd, UnrefinedPointMassSjd
from simlab.processes import TableProcess
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    counterexample,
    enumeration,
    example,
    holds_if,
    judged,
    refuted_if,
    rejects_mutants,
    side,
    simulation,
)
from theory.claims.format import fmt, numbers
from theory.claims.sjd.losslessness import deviation, mean_steps
from theory.claims.sjd.speeds import (
    PROCESS,
    SIMULATES,
    SLOW,
    STATED,
    TENTH,
    autoregression,
    below,
    beyond,
    drafts,
    excess,
    speeds_of,
    summary,
)
from theory.claims.sources import derived, said
from theory.example_processes import random_process, sticky_process
from theory.image_process import FALSE_ALARMS, FEW, Speed, compare

CLAIMS = Claims("sjd")


@CLAIMS.claim(
    "sjd.window",
    said(
        "5.4, Fig. 8",
        "The results show that our acceleration ratio reaches almost the maximum when the number of input tokens is "
        "greater than or equal to 16 tokens.",
        "formalised",
        "Almost the maximum is read as 90 % of what 32 inputs give, the largest window of Table 9; its windows are 1, "
        "4, 16 and 32. The process was fitted to the step compression 2.31 with 32 drafts, not to how it depends on "
        f"them. {PROCESS}",
    ),
    "On the simulated image-like process, SJD with 16 inputs a call commits at least 90 % of the tokens a call that it "
    "commits with 32.",
    simulates=SIMULATES,
)
def window(seed: int) -> Finding:
    """With one input a call SJD is autoregression: one token a call. The others are simulated on the same images. How
    far 16 inputs are from 90 % of what 32 commit is judged by Student's interval of the paired differences.
    """
    found = speeds_of({f"W = {w}": Sjd(drafts(w)) for w in (4, 16, 32)}, seed)
    widest = found["W = 32"]
    found = {"W = 1": autoregression(widest.tokens)} | found

    def saturated(name: str) -> int:
        """1 or -1 where it surely commits at least 90 % of what 32 inputs do, or surely less."""
        return beyond(found[name], widest, 1 - TENTH)

    return judged(
        saturated("W = 16"),
        simulation(
            f"tokens a call: {summary(found)}; W = 16 against 32: {compare(found['W = 16'], widest)}, less 90 % of W = "
            f"32: {excess(found['W = 16'], widest, 1 - TENTH)}; {STATED}"
        ),
        rejects_mutants({name: name for name in ("W = 1", "W = 4")}, lambda w: saturated(w) != 1, "saturation"),
    )


# Refinement ----------------------------------------------------------------------------------------------------

APPENDIX_F = (
    "when we deactivate the refinement (i.e., using the newly initialized tokens to replace the unaccepted tokens as "
    "the draft tokens in the next iterations), we observe that the model requires over two thousand forward passes to "
    "generate images rather than one thousand forward passes."
)

CLAIMS.summary(
    "sjd.refinement",
    said(
        "F",
        APPENDIX_F,
        "formalised",
        "Observed on Lumina-mGPT, whose images have 8,192 kinds of token, with random initialisation and with "
        f"horizontal repeat; new drafts are scored as the published code does. {PROCESS}",
    ),
    "Without refinement, with new drafts scored as point masses, SJD commits fewer than 1.0002 tokens a call with "
    "random initialisation, for every target over 8,192 tokens, and fewer than 1.1 with horizontal repeat on the "
    "simulated image-like process.",
    [
        "sjd.refinement.certain",
        "sjd.refinement.repeat",
        "sjd.refinement.uniform",
        "sjd.refinement.sticky",
    ],
)


@CLAIMS.claim(
    "sjd.refinement.certain",
    said(
        "F",
        APPENDIX_F,
        "formalised",
        "With random initialisation, whose drafts the published code scores as point masses "
        "(get_multi_token_for_preparation).",
    ),
    r"For every target over $V$ tokens, SJD without refinement, whose new drafts are uniform and scored as point "
    r"masses, commits fewer than $V/(V - 1)$ tokens a call in the mean.",
)
def refinement_certain(seed: int) -> Finding:
    r"""Without refinement every draft of every call is new. A uniform draft $x$ that is scored as a point mass is
    accepted with probability $p(x)$, so with $\sum_x p(x)/V = 1/V$, whatever $p$ and whatever was accepted before. So a
    call with $W$ drafts, far from the end of the sequence, commits $1 + 1/V + \dots + 1/V^W < V/(V - 1)$ tokens in the
    mean, and fewer at the end. For $V = 8192$ this is 1.0001.
    """
    cases = [
        (random_process(seed + k, V, 3, zeros=zeros), 2) for k, (V, zeros) in enumerate([(2, 0), (3, 0), (4, 0.3)])
    ]

    def off(make: Callable[[int], Decoder]) -> Fraction:
        """How far mean calls are from those of coins of probability 1/V, or the law from the target's."""
        worst = Fraction(0)
        for process, width in cases:
            coins = _calls_of_coins(Fraction(1, process.vocabulary), width, process.length)
            worst = max(worst, abs(mean_steps(make(width), process) - coins), deviation(make(width), process))
        return worst

    calls = [mean_steps(UnrefinedPointMassSjd(width), process) for process, width in cases]
    return holds_if(
        off(UnrefinedPointMassSjd) == 0,
        enumeration(
            "lossless, and mean calls exactly those of coins of probability 1/V, for rows with and without zeros",
        ),
        *(
            example(
                f"V = {process.vocabulary}, {process.length} tokens, {width} drafts: {fmt(found)} calls in the mean",
                numbers(vocabulary=process.vocabulary, tokens=process.length, drafts=width, calls=found),
            )
            for (process, width), found in zip(cases, calls, strict=True)
        ),
        rejects_mutants({"uniform q": SjdUnrefined, "refined": PointMassSjd}, off, "mean calls"),
    )


def _calls_of_coins(share: Fraction, width: int, length: int) -> Fraction:
    """Mean calls for ``length`` tokens where each of ``width`` drafts is accepted with probability ``share``."""
    if length <= 0:
        return Fraction(0)
    mean = Fraction(1)
    for accepted in range(width + 1):
        chance = share**accepted * (1 - share if accepted < width else 1)
        mean += chance * _calls_of_coins(share, width, length - accepted - 1)
    return mean


@CLAIMS.claim(
    "sjd.refinement.repeat",
    said(
        "F",
        "Although our token initializations with spatial prior (e.g., horizontal repeat) are slightly better than the "
        "random token initialization in replacing the unaccepted tokens, its performance is still much worse than "
        "directly refining the unaccepted tokens.",
        "formalised",
        "Almost no acceleration is read as fewer than 1.1 tokens a call: over two thousand calls for the 2,357 tokens "
        "of an image are fewer than 1.18. Much worse is read as less than two thirds of those with refinement, where "
        "two thousand calls rather than one thousand are a half. That it is slightly better than random initialisation "
        f"is not judged. {PROCESS}",
    ),
    "On the simulated image-like process with 16 inputs, SJD without refinement and with horizontal repeat commits "
    "fewer than 1.1 tokens a call, and less than two thirds of what it commits with refinement.",
    simulates=SIMULATES,
)
def refinement_repeat(seed: int) -> Finding:
    """New drafts are scored as point masses, as in the published code. A repeated token is accepted with the
    probability that the target gives it, which is small where rows are flat; a token that was drawn again from a row of
    the target with probability 1 - TV of two rows.
    """
    found = speeds_of({"refined": PointMassSjd(drafts(16), "repeat-left")}, seed)
    found |= speeds_of({"not refined": UnrefinedPointMassSjd(drafts(16), "repeat-left")}, seed, FEW // 2)
    refined, unrefined = found.values()

    def slow(found: Speed) -> int:
        """1 or -1 where it surely commits fewer than 1.1 tokens a call and two thirds of SJD's, or surely not."""
        (low, high), (fewest, most) = (each.mean.interval(1 - FALSE_ALARMS) for each in (refined, found))
        return min(below(found, SLOW), side((low * 2 / 3 - most, high * 2 / 3 - fewest)))

    return judged(
        slow(unrefined),
        simulation(
            f"tokens a call with horizontal repeat: {summary(found)}; {STATED}, half as many without refinement"
        ),
        rejects_mutants({"refined": refined}, lambda found: slow(found) != 1, "no acceleration"),
    )


@CLAIMS.claim(
    "sjd.refinement.uniform",
    derived("after F and 4.2", "The paper does not say what is scored; the published code scores a point mass."),
    r"For every target, SJD without refinement, whose new drafts are uniform and scored with the uniform row, commits "
    r"at most 1.1 tokens a call in the mean.",
)
def refinement_uniform(seed: int) -> Finding:
    r"""A uniform draft that is scored with the uniform row is accepted with probability $\sum_x \min(p(x), 1/V)$: by
    how much $p$ overlaps with the uniform row. Where $p$ is uniform, every draft is accepted, and $W$ drafts commit $W
    + 1$ tokens a call without any refinement.
    """
    length, width = 6, 2
    flat = TableProcess(2, length, lambda prefix: [Fraction(1, 2)] * 2)
    calls = mean_steps(SjdUnrefined(width), flat)
    return refuted_if(
        length / calls > SLOW,
        counterexample(
            f"V = 2, every row (1/2, 1/2), {width} drafts: {length} tokens in {fmt(calls)} calls",
            numbers(p=[Fraction(1, 2)] * 2, drafts=width, tokens=length, calls=calls),
        ),
    )


@CLAIMS.claim(
    "sjd.refinement.sticky",
    derived("after F", "Appendix F is about images; that repeated drafts need no refinement depends on the target."),
    r"For the Markov chain that repeats its last token with probability $s$, SJD without refinement, with horizontal "
    r"repeat and $W$ drafts, commits $(1 - s^{W+1})/(1 - s)$ tokens a call in the mean, the first call and the end of "
    r"the sequence aside.",
)
def refinement_sticky(seed: int) -> Finding:
    r"""All $W$ drafts repeat the last committed token, and are scored as point masses. Each is accepted with the
    probability $s$ of that token, given that those before it are. So a call commits at least $k + 1$ tokens,
    $0 \le k \le W$, with probability $s^k$, and the mean is $\sum_{k=0}^{W} s^k$. For $s = 0.9$ and $W = 16$ this is
    8.33.
    """
    length = 4
    cases = [(Fraction(3, 4), 2, 2), (Fraction(9, 10), 2, 3), (Fraction(1, 2), 3, 2)]

    def off(make: Callable[[int], Decoder]) -> Fraction:
        """How far mean calls are from those of coins of probability s, once the first call is made."""
        worst = Fraction(0)
        for stay, vocabulary, width in cases:
            chain = sticky_process(stay, vocabulary, length)
            share = Fraction(1, vocabulary)  # before the first call the drafts repeat the first, which is uniform
            calls = 1 + (1 - share) * _calls_of_coins(stay, width, length - 1)
            calls += share * sum(
                stay ** (k - 1) * (1 - stay if k < width else 1) * _calls_of_coins(stay, width, length - k - 1)
                for k in range(1, width + 1)
            )
            worst = max(worst, abs(mean_steps(make(width), chain) - calls))
        return worst

    stay, width = Fraction(9, 10), 16
    tokens = sum(stay**k for k in range(width + 1))
    return holds_if(
        off(lambda w: UnrefinedPointMassSjd(w, "repeat-left")) == 0,
        enumeration(f"mean calls for {length} tokens exactly as such coins give them, for {len(cases)} chains"),
        example(
            f"s = 9/10, 16 drafts: {float(tokens):.4f} tokens a call",
            numbers(s=stay, drafts=width, tokens=tokens),
        ),
        rejects_mutants(
            {
                "initialised at random": UnrefinedPointMassSjd,
                "refined": lambda w: PointMassSjd(w, "repeat-left"),
            },
            off,
            "mean calls",
        ),
    )
