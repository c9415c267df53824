"""Claims of SJD about speed: what is proven, and what the image-like process shows.

Statements about a model are judged on :mod:`theory.image_process`: at best they are *not refuted* by it. A window of W
is as in the published code: W inputs of a call, of which one is committed and W - 1 are drafts. So W = 1 is
autoregression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from simlab.decoders import Decoder, Jacobi, Sjd, SjdUnrefined
from simlab.decoders.compiled import simulate
from simlab.decoders.initial import Initial
from simlab.decoders.sjd_reference import PointMassSjd, UnrefinedPointMassSjd
from simlab.processes import Processed, TableProcess
from simlab.processes.markov import Markov
from simlab.randomness import Tape
from simlab.rules import Speculative
from theory.claims.base import Claims, Evidence, Finding, Verdict
from theory.claims.evidence import (
    counterexample,
    enumeration,
    example,
    holds_if,
    refuted_if,
    rejects_mutants,
    require,
    simulation,
)
from theory.claims.format import fmt, numbers
from theory.claims.sjd.losslessness import deviation, mean_steps
from theory.claims.sources import derived, said
from theory.example_processes import random_process, sticky_process
from theory.image_process import FALSE_ALARMS, FEW, Speed, compare, image, speed

CLAIMS = Claims("sjd")
SIMULATES = "SJD on the image-like process"
IMAGE_ROWS: Any = {"shape": (6, 48)}  # half of an image, enough to tell
PRINTED_JACOBI = 1.04  # Tables 1 and 2: step compression of Jacobi decoding on Lumina-mGPT
MOST_JACOBI = 1.14  # Table 5, on Anole: the most that is printed of Jacobi decoding with sampling
TENTH = 0.1  # of the step compression: what counts as a marginal difference


def drafts(window: int) -> int:
    """The drafts of a window of so many inputs, one of which is committed."""
    return window - 1


def steps_of(decoders: Mapping[str, Decoder], processes: Iterable[TableProcess]) -> str:
    """Mean calls of each decoder, averaged over processes of one length."""
    processes = list(processes)
    means = {name: sum(mean_steps(d, p) for p in processes) / len(processes) for name, d in decoders.items()}
    return ", ".join(f"{name} {float(mean):.3f}" for name, mean in means.items())


def speeds_of(decoders: Mapping[str, Decoder], seed: int, images: int = FEW) -> dict[str, Speed]:
    """How fast each decoder is on the image-like process."""
    return {name: speed(decoder, seed, images, **IMAGE_ROWS) for name, decoder in decoders.items()}


def summary(speeds: Mapping[str, Speed]) -> str:
    """Step compressions to read."""
    return ", ".join(f"{name} {found}" for name, found in speeds.items())


def added(one: Speed, other: Speed) -> tuple[float, float]:
    """The least and the most that ``one`` surely adds to the step compression of ``other``, as shares of it."""
    low, high = compare(one, other).gain.interval(1 - FALSE_ALARMS)
    return low / other.mean.mean, high / other.mean.mean


def judged(open_: float, missed: bool, *evidence: Evidence) -> Finding:
    """``not-refuted`` if nothing is open, ``refuted`` if it is surely missed, else ``not-decided``."""
    verdict: Verdict = "not-refuted" if open_ == 0 else "refuted" if missed else "not-decided"
    return Finding(verdict, evidence)


def surely_slower(pairs: Iterable[tuple[Speed, Speed]]) -> bool:
    """Whether the first of any pair is surely slower than the second."""
    return any(compare(one, other).sure == -1 for one, other in pairs)


def autoregression(tokens: int, images: int = FEW) -> Speed:
    """One token a call."""
    return Speed(tokens, np.full(images, tokens), np.array([0, tokens * images]))


STATED = f"{FEW} images of 6 rows, intervals and sign tests at a false-alarm rate of {FALSE_ALARMS:g}"


# Fig. 8 ---------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "sjd.window",
    said(
        "5.4, Fig. 8",
        "The results show that our acceleration ratio reaches almost the maximum when the number of input tokens is "
        "greater than or equal to 16 tokens.",
        "formalised",
        "Almost the maximum is read as 90 % of what 32 inputs give, the largest window of Table 9; its windows are 1, "
        "4, 16 and 32. The stand-in was fitted to a step compression at 32 inputs, not to how it depends on them.",
    ),
    "On the simulated image-like process, SJD with 16 inputs a call commits at least 90 % of the tokens a call that it "
    "commits with 32.",
    simulates=SIMULATES,
)
def window(seed: int) -> Finding:
    """With one input a call SJD is autoregression: one token a call. The others are simulated on the same images. That
    32 inputs add less than a tenth to 16 is judged by Student's interval of the paired differences.
    """
    found = speeds_of({f"W = {w}": Sjd(drafts(w)) for w in (4, 16, 32)}, seed)
    widest = found["W = 32"]
    found = {"W = 1": autoregression(widest.tokens)} | found

    def unsaturated(name: str) -> float:
        """By how much more than a tenth 32 inputs may add."""
        return max(0.0, added(widest, found[name])[1] - TENTH)

    return judged(
        unsaturated("W = 16"),
        added(widest, found["W = 16"])[0] > TENTH,
        simulation(
            f"tokens a call: {summary(found)}; W = 32 against 16: {compare(widest, found['W = 16'])}, at most "
            f"{added(widest, found['W = 16'])[1]:+.1%}; {STATED}"
        ),
        rejects_mutants({"W = 1": "W = 1", "W = 4": "W = 4"}, unsaturated, "saturation"),
    )


# Appendix F -----------------------------------------------------------------------------------------------------

APPENDIX_F = (
    "when we deactivate the refinement (i.e., using the newly initialized tokens to replace the unaccepted tokens as "
    "the draft tokens in the next iterations), we observe that the model requires over two thousand forward passes to "
    "generate images rather than one thousand forward passes."
)
SPATIAL_PRIOR = (
    "Although our token initializations with spatial prior (e.g., horizontal repeat) are slightly better than the "
    "random token initialization in replacing the unaccepted tokens, its performance is still much worse than directly "
    "refining the unaccepted tokens."
)

CLAIMS.summary(
    "sjd.refinement",
    said(
        "F",
        APPENDIX_F,
        "formalised",
        "Observed on Lumina-mGPT, with random initialisation and with horizontal repeat; new drafts are scored as "
        "the published code does.",
    ),
    "Without refinement SJD decodes images hardly faster than autoregression: with random initialisation for every "
    "target, with horizontal repeat on the simulated image-like process.",
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
        SPATIAL_PRIOR,
        "formalised",
        "Almost no acceleration is read as fewer than 1.1 tokens a call, and much worse as less than two thirds of "
        "those with refinement.",
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

    least_refined, most_refined = refined.mean.interval(1 - FALSE_ALARMS)

    def fast(slow: Speed) -> float:
        """By how much ``slow`` may be above 1.1, or above two thirds of SJD."""
        most_slow = slow.mean.interval(1 - FALSE_ALARMS)[1]
        return max(0.0, most_slow - SLOW, most_slow - least_refined * 2 / 3)

    return judged(
        fast(unrefined),
        unrefined.mean.interval(1 - FALSE_ALARMS)[0] > min(SLOW, most_refined * 2 / 3),
        simulation(
            f"tokens a call with horizontal repeat: {summary(found)}; {STATED}, half as many without refinement"
        ),
        rejects_mutants({"refined": refined}, fast, "no acceleration"),
    )


SLOW = 1.1  # tokens a call: below it nobody would speak of acceleration


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


# Section 5.4: Jacobi decoding, and randomness ------------------------------------------------------------------------

ONLY_GREEDY = (
    "On the contrary, the Jacobi decoding can only accelerate the greedy sampling (top-1 sampling), which is useless "
    "for image generation."
)

CLAIMS.summary(
    "sjd.jacobi-sampling",
    said(
        "5.4",
        ONLY_GREEDY,
        "formalised",
        f"What is printed of Jacobi decoding with sampling is a step compression of {PRINTED_JACOBI} on Lumina-mGPT "
        f"and up to {MOST_JACOBI} on Anole (Tables 1, 2, 4, 5): that much counts as no acceleration.",
    ),
    f"On the simulated image-like process, Jacobi decoding with fresh randomness in every call commits fewer than "
    f"{MOST_JACOBI} tokens a call.",
    ["sjd.jacobi-sampling.fresh", "sjd.jacobi-sampling.fixed"],
)


def jacobi_of(noise: str, seed: int) -> Speed:
    return speeds_of({noise: make_jacobi(noise)}, seed)[noise]


def make_jacobi(noise: str) -> Decoder:
    return Jacobi(drafts(16), noise)  # type: ignore[arg-type]


@CLAIMS.claim(
    "sjd.jacobi-sampling.fresh",
    said(
        "5.4",
        ONLY_GREEDY,
        "formalised",
        f"The published code draws with fresh randomness in every call. {MOST_JACOBI}, the most that is printed of it "
        "with sampling (Table 5, Anole), counts as no acceleration.",
    ),
    f"On the simulated image-like process with 16 inputs, Jacobi decoding that draws with fresh randomness in every "
    f"call commits fewer than {MOST_JACOBI} tokens a call.",
    simulates=SIMULATES,
)
def jacobi_fresh(seed: int) -> Finding:
    r"""A draft is final when the target draws the same token again, with probability $\sum_x p'(x) p(x)$ for the rows
    $p'$ and $p$ of two calls: small where rows are flat (pac.retention).
    """
    fresh, sjd = jacobi_of("fresh", seed), speeds_of({"SJD": Sjd(drafts(16))}, seed)["SJD"]
    require(max(deviation(Jacobi(3), p) for p in _small_processes(seed)) == 0, "Jacobi decoding is not lossless")

    def accelerates(found: Speed) -> float:
        """By how much more than is printed it may commit."""
        return max(0.0, found.mean.interval(1 - FALSE_ALARMS)[1] - MOST_JACOBI)

    return judged(
        accelerates(fresh),
        fresh.mean.interval(1 - FALSE_ALARMS)[0] > MOST_JACOBI,
        simulation(
            f"tokens a call: fresh {fresh} (printed for Lumina-mGPT: {PRINTED_JACOBI}), SJD {sjd}; {STATED}",
        ),
        rejects_mutants({"SJD": sjd}, accelerates, "no acceleration"),
    )


@CLAIMS.claim(
    "sjd.jacobi-sampling.fixed",
    derived("after 5.4", "The paper's Jacobi decoding does not keep its randomness."),
    "On the simulated image-like process with 16 inputs, Jacobi decoding commits more tokens a call if each position "
    "keeps one uniform number through all calls than with fresh randomness, and fewer than SJD.",
    simulates=SIMULATES,
)
def jacobi_fixed(seed: int) -> Finding:
    """With one uniform number a position, the iteration is deterministic: a token changes only if its row moves by more
    than the distance of that number to the next edge of the cumulative masses. So it comes to rest sooner where rows
    move little.
    """
    found = {noise: jacobi_of(noise, seed) for noise in ("fresh", "fixed")} | speeds_of({"SJD": Sjd(drafts(16))}, seed)

    def unordered(order: tuple[str, ...]) -> int:
        """Neighbours in the order of which the second is not surely faster."""
        return sum(compare(found[b], found[a]).sure != 1 for a, b in pairwise(order))

    order = "fresh", "fixed", "SJD"
    return judged(
        unordered(order),
        surely_slower((found[b], found[a]) for a, b in pairwise(order)),
        simulation(f"tokens a call: {summary(found)}; {STATED}"),
        rejects_mutants({"the order reversed": ("SJD", "fixed", "fresh")}, unordered, "the order"),
    )


def _small_processes(seed: int) -> list[TableProcess]:
    return [sticky_process(Fraction(3, 4), 2, 5), *(random_process(seed + k, 2, 5, zeros=0) for k in range(2))]


CLAIMS.summary(
    "sjd.stability",
    said(
        "5.4, Fig. 6",
        "According to this figure, our method is stable across multiple randomness and can achieve more than 2× step "
        "compression ratio.",
        "weaker",
        "Stable is read as what the caption of Fig. 6 says: ahead of Jacobi decoding whatever the randomness. How "
        "large the step compression is at a top-K that the stand-in was not fitted to is another part, and ours.",
    ),
    "On the simulated image-like process, SJD commits more tokens a call than Jacobi decoding with top-10 sampling and "
    "unfiltered.",
    ["sjd.stability.jacobi", "sjd.stability.level"],
)

TOP = (10, 1024)  # of V = 1024: the last leaves the row
FEWER_ROWS = (2, 48)


@cache
def top_speed(decoder: Decoder, top_k: int, seed: int) -> Speed:
    """How fast a decoder is where each row is filtered to the ``top_k`` likeliest tokens."""
    runs = []
    for number in range(FEW):
        target = image(number, shape=FEWER_ROWS).target
        filtered = target if top_k >= target.vocabulary else Processed(target, top_k=top_k)
        done = simulate(decoder, filtered, Speculative(), Tape(seed, [number]))
        runs.append(done.committed[0, : done.steps[0]])
    calls = np.array([len(run) for run in runs])
    return Speed(image(0, shape=FEWER_ROWS).target.length, calls, np.bincount(np.concatenate(runs)))


@CLAIMS.claim(
    "sjd.stability.jacobi",
    said(
        "Fig. 6",
        "Our method beats the vanilla Jacobi decoding under various sampling randomness.",
        "formalised",
        "Randomness is the K of top-K sampling: 10 and all 1,024 tokens, for the paper's 10 to 2,000.",
    ),
    "On the simulated image-like process with 16 inputs, SJD commits more tokens a call than Jacobi decoding with "
    "top-10 sampling and unfiltered.",
    simulates=SIMULATES,
)
def stability_jacobi(seed: int) -> Finding:
    r"""A draft of SJD is accepted with probability $1 - \mathrm{TV}(p', p)$ for the rows of two calls, one of Jacobi
    decoding with $\sum_x p'(x) p(x)$ (pac.retention): the latter falls as rows become flatter, the former need not.
    """
    sjd, jacobi = Sjd(drafts(16)), make_jacobi("fresh")
    found = {f"top-{k}": (top_speed(sjd, k, seed), top_speed(jacobi, k, seed)) for k in TOP}

    def slower(pairs: Iterable[tuple[Speed, Speed]]) -> int:
        """At how many K the first is not surely faster than the second."""
        return sum(compare(one, other).sure != 1 for one, other in pairs)

    return judged(
        slower(found.values()),
        surely_slower(found.values()),
        simulation(
            "tokens a call, SJD and Jacobi decoding: "
            + "; ".join(f"{name} {one} and {other}" for name, (one, other) in found.items())
            + f"; {FEW} images of {FEWER_ROWS[0]} rows, sign tests at a false-alarm rate of {FALSE_ALARMS:g}"
        ),
        rejects_mutants(
            {"SJD and Jacobi decoding exchanged": [(b, a) for a, b in found.values()]}, slower, "being ahead"
        ),
    )


@CLAIMS.claim(
    "sjd.stability.level",
    derived(
        "after 5.4",
        "The paper prints more than 2 for every K on Lumina-mGPT. The stand-in was fitted at K = 2000 alone, so this "
        "says nothing on that model; it says that a step compression does not carry over from one K to another.",
    ),
    "On the simulated image-like process with 16 inputs, the step compression of SJD is smaller with top-10 sampling "
    "than unfiltered, by more than a tenth.",
    simulates=SIMULATES,
)
def stability_level(seed: int) -> Finding:
    """A filter that keeps few tokens makes rows depend on which tokens it keeps, and on this process, whose logits have
    fresh noise in every call, these differ from call to call.
    """
    found = {f"top-{k}": top_speed(Sjd(drafts(16)), k, seed) for k in (TOP[0], TOP[-1])}
    few, all_ = found.values()

    def alike(one: Speed, other: Speed) -> float:
        """By how much ``other`` may be less than a tenth above ``one``."""
        return max(0.0, TENTH - added(other, one)[0])

    return judged(
        alike(few, all_),
        added(all_, few)[1] < TENTH,
        simulation(f"tokens a call: {summary(found)}; {FEW} images of {FEWER_ROWS[0]} rows, at {FALSE_ALARMS:g}"),
        rejects_mutants({"exchanged": (all_, few), "with itself": (few, few)}, lambda pair: alike(*pair), "the fall"),
    )


# Sections 5.2 and 5.4: initialisation ---------------------------------------------------------------------------------

GENERAL = (
    "We observe that the token initialization with spatial priors has a marginal influence on the speed of general "
    "image generation."
)
SIMPLE = (
    "for example, when generating images composed of many simple and repeating patterns, a token initialization "
    "correlated with the already sampled tokens can provide a more precise guess than the random initialization."
)
POINT_MASSES = "New drafts are scored as point masses, as in the published code, which has the horizontal ones only."

CLAIMS.summary(
    "sjd.spatial-speed",
    said("5.4, Fig. 9", SIMPLE, "formalised", "A more precise guess is read as more tokens a call. " + POINT_MASSES),
    "On a simulated picture of one box, spatial initialisations commit more tokens a call than random initialisation; "
    "on the simulated image-like process the difference is less than a tenth.",
    ["sjd.spatial-speed.simple", "sjd.spatial-speed.general"],
)


@CLAIMS.claim(
    "sjd.spatial-speed.simple",
    said("5.4, Fig. 9", SIMPLE, "formalised", "A more precise guess is read as more tokens a call. " + POINT_MASSES),
    "On a simulated picture of 16 x 16 tokens with a box, where the position alone decides which of two tokens has "
    "probability 0.95, SJD with 16 inputs commits more tokens a call with each of the four spatial initialisations "
    "than with random initialisation.",
    simulates=SIMULATES,
)
def spatial_simple(seed: int) -> Finding:
    """A token beside or above a new position mostly belongs to the same part of the picture, and is what the target
    would draw there; a uniform one hardly ever is, and has to wait for a call that draws it again.
    """
    found: dict[str, Speed] = {
        initial: _box_speed(PointMassSjd(drafts(16), initial), seed) for initial in RANDOM + SPATIAL
    }

    def slower(names: Iterable[str]) -> int:
        """How many of these are not surely faster than random initialisation."""
        return sum(compare(found[name], found["random"]).sure != 1 for name in names)

    return judged(
        slower(SPATIAL),
        surely_slower((found[name], found["random"]) for name in SPATIAL),
        simulation(f"tokens a call: {summary(found)}; {FEW} pictures, sign tests at {FALSE_ALARMS:g}"),
        rejects_mutants({"random against itself": ["random"]}, slower, "the gain"),
    )


RANDOM: tuple[Initial, ...] = ("random",)
SPATIAL: tuple[Initial, ...] = "repeat-left", "repeat-above", "sample-left", "sample-above"


def _box_speed(decoder: Decoder, seed: int) -> Speed:
    """How fast a decoder is on a picture of a box, one replicate of the tape a picture."""
    rows, columns, size, vocabulary, sure = 16, 16, slice(5, 11), 256, 0.95
    box = np.zeros((rows, columns), dtype=np.int64)
    box[size, size] = 1
    table = np.full((rows * columns, vocabulary), (1 - sure) / (vocabulary - 1))
    table[np.arange(rows * columns), box.ravel()] = sure
    target = Markov(table, 0, (rows, columns), by_position=True)
    done = simulate(decoder, target, Speculative(), Tape(seed, FEW))
    return Speed(target.length, done.steps, np.bincount(done.committed[done.committed > 0]))


@CLAIMS.claim(
    "sjd.spatial-speed.general",
    said(
        "5.2",
        GENERAL,
        "formalised",
        "Marginal is read as less than a tenth; Tables 1, 2, 4 and 5 print differences of 0.4 % to 5.5 %. "
        + POINT_MASSES,
    ),
    "On the simulated image-like process with 16 inputs, the tokens a call of SJD with horizontal repeat and with "
    "random initialisation differ by less than a tenth.",
    simulates=SIMULATES,
)
def spatial_general(seed: int) -> Finding:
    """A new draft is verified once as it was initialised, and then drawn again from a row of the target if it is not
    reached or not accepted. Most drafts that are accepted are such: the start has little influence.
    """
    images = 3 * FEW // 2
    random, left = speeds_of(
        {"random": PointMassSjd(drafts(16)), "repeat-left": PointMassSjd(drafts(16), "repeat-left")}, seed, images
    ).values()

    def apart(other: Speed) -> float:
        """By how much more than a tenth it may differ from random initialisation."""
        low, high = added(other, random)
        return max(0.0, -low - TENTH, high - TENTH)

    slow = speeds_of({"four inputs": PointMassSjd(drafts(4))}, seed)["four inputs"]
    low, high = added(left, random)
    return judged(
        apart(left),
        low > TENTH or high < -TENTH,
        simulation(
            f"tokens a call: random {random}, repeat-left {left}: {compare(left, random)}; {images} images of 6 rows, "
            f"at {FALSE_ALARMS:g}"
        ),
        rejects_mutants({"four inputs": slow}, apart, "a small difference"),
    )
