"""Claims of SJD about Jacobi decoding with sampling, and about different randomness (section 5.4)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np

from simlab.decoders import Decoder, Jacobi, Sjd
from simlab.decoders.compiled import simulate
from simlab.processes import Processed, TableProcess
from simlab.randomness import Tape
from simlab.rules import Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    rejects_mutants,
    require,
    simulation,
)
from theory.claims.sjd.losslessness import deviation
from theory.claims.sjd.speeds import (
    MOST_JACOBI,
    PRINTED_JACOBI,
    SIMULATES,
    STATED,
    TENTH,
    added,
    drafts,
    judged,
    speeds_of,
    summary,
    surely_slower,
)
from theory.claims.sources import derived, said
from theory.example_processes import random_process, sticky_process
from theory.image_process import FALSE_ALARMS, FEW, Speed, compare, image

CLAIMS = Claims("sjd")

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
