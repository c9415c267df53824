"""How far a token's influence reaches: SJD-PAC, Figure 4."""

from __future__ import annotations

from functools import cache

import numpy as np

from simlab.decoders import Autoregressive
from simlab.decoders.compiled import simulate
from simlab.processes import Process
from simlab.processes.embedded import Embedded
from simlab.processes.jittered import Jittered
from simlab.randomness import Tape
from simlab.rules import Speculative
from simlab.statistics import Estimate, estimate
from theory.claims.base import Claims, Finding, Verdict
from theory.claims.evidence import example, rejects_mutants, simulation
from theory.claims.format import numbers
from theory.claims.sjd_pac.speed import SIMULATES
from theory.claims.sources import derived, said
from theory.distances import tv
from theory.image_process import FALSE_ALARMS, image

CLAIMS = Claims("sjd-pac")
OFFSETS = (1, 2, 3, 4, 8, 16, 32, 47, 48, 49, 64)
PLACES = (400, 506)  # of a token, two a image, with a row and more before them
SAMPLES = 16  # images

CLAIMS.summary(
    "pac.locality",
    said(
        "4.2",
        "the TV distance [d_TV] for image tokens rapidly approaches zero as the distance from the perturbed context "
        "increases",
        "formalised",
        "The paper masks the cache of Lumina-mGPT at one position. Here a process is masked that was made local, so "
        "that claims about speed can be simulated: this is a check of that process against Fig. 4, and says nothing "
        "about image models.",
    ),
    "On the simulated image-like process, TV between the rows of a position before and after the token at an offset "
    "before it is masked approaches 0 as the offset grows.",
    ["pac.locality.row", "pac.locality.above"],
)


@CLAIMS.claim(
    "pac.locality.row",
    said(
        "4.2, Fig. 4",
        "By individually masking the KV-cache at a preceding position with an offset [j] (i.e., at position [i - "
        "j]), we measure the Total Variation (TV) distance of the output distribution at position [i] before and "
        "after the perturbation.",
        "formalised",
        "On a simulated stand-in, whose rows depend on tokens by the distance on the grid: the fall is built in. "
        "Judged for offsets shorter than a row of the image.",
    ),
    "On the simulated image-like process, TV between the rows of a position before and after the token at offset $j$ "
    "is masked, all other tokens and the noise of the call being equal, falls with $j$ for offsets shorter than a "
    "row of the image.",
    simulates=SIMULATES,
)
def row(seed: int) -> Finding:
    r"""A token is masked by leaving its term out of the sum that a row is computed from. In the process the weight of a
    neighbour falls with its distance on the grid, and beyond a radius of 3 only a long-range term is left, in which
    every earlier token has a share of order $1/\sqrt{i}$ at position $i$. So the fall is by construction; what is
    measured is how fast it is. A model whose rows copy the token of one offset would have no such fall: locality is a
    property of the model, not of the method.
    """
    found = perturbed(seed)
    short = [found[offset] for offset in OFFSETS if offset <= 32]
    verdict: Verdict = "not-refuted" if _falls(short) else "not-decided"
    return Finding(
        verdict,
        [
            simulation(
                f"image-like process, TV by offset, exact for each of {len(PLACES)} places in {SAMPLES} images: "
                + _summary({o: e for o, e in found.items() if o <= 32})
                + f"; the first is surely above the last and no later one surely above an earlier, at a false-alarm "
                f"rate of {FALSE_ALARMS:g}; the same prefix in two calls: {twice(seed)}",
                numbers(offsets=[o for o in OFFSETS if o <= 32], tv=[e.mean for e in short]),
            ),
            rejects_mutants({"the offsets reversed": short[::-1]}, lambda e: not _falls(e), "the fall"),
        ],
    )


@CLAIMS.claim(
    "pac.locality.above",
    derived(
        "Fig. 4",
        "Offsets in raster order are not distances on the grid. The process looks at the tokens above by construction.",
    ),
    "On the simulated image-like process with rows of 48 tokens, masking the token above, at offset 48 in raster "
    "order, moves a row farther in TV than masking a token at offset 32.",
    simulates=SIMULATES,
)
def above(seed: int) -> Finding:
    """In raster order the token above is a whole row away. A model that looks up has its influence there: TV rises
    again at the offset of one row, however fast it falls before.
    """
    found = perturbed(seed)

    def rise(offset: int) -> float:
        """By how much TV at ``offset`` is surely above TV at 32."""
        sure = found[offset].interval(1 - FALSE_ALARMS)[0] - found[32].interval(1 - FALSE_ALARMS)[1]
        return max(0.0, sure)

    return Finding(
        "not-refuted" if rise(48) > 0 else "not-decided",
        [
            example(
                f"image-like process, TV by offset: {_summary(found)}; at offset 48 above that at 32 by "
                f"{rise(48):.3f} or more, at a false-alarm rate of {FALSE_ALARMS:g}, n = {SAMPLES} images",
                numbers(offsets=list(OFFSETS), tv=[e.mean for e in found.values()]),
            ),
            rejects_mutants({"offset 64 in place of 48": 64}, lambda offset: rise(offset) == 0, "the rise"),
        ],
    )


# What is measured -------------------------------------------------------------------------------------------------


@cache
def perturbed(seed: int) -> dict[int, Estimate]:
    """TV by offset between the row of a place before and after the token that far before it is masked.

    Means over ``PLACES`` of every image, one number an image; both rows are of calls that begin at the place.
    """
    found: dict[int, list[float]] = {offset: [] for offset in OFFSETS}
    for number, tokens in enumerate(_drawn(seed)):
        target = image(number).target
        for offset, values in found.items():
            apart = [
                tv(_row(target, tokens, at, at), _row(masked(target, at - offset), tokens, at, at)) for at in PLACES
            ]
            values.append(float(np.mean(apart)))
    return {offset: estimate(values) for offset, values in found.items()}


def masked(process: Process, place: int) -> Process:
    """An image-like process that does not look at the token of ``place``, with the same noise."""
    assert isinstance(process, Jittered)
    inner = process.process
    assert isinstance(inner, Embedded)
    past = inner.past._replace(
        places=np.where(inner.past.places == place, -1, inner.past.places),
        signs=np.where(np.arange(len(inner.past.signs)) == place, 0.0, inner.past.signs),
    )
    blind = Embedded(inner.codebook, np.zeros(inner.vocabulary), past, inner.shape)
    return Jittered(blind, process.jitter, process.seed)


def twice(seed: int) -> str:
    """TV between the rows of one prefix in two calls that begin one position apart."""
    pairs = [(image(k).target, tokens, place) for k, tokens in enumerate(_drawn(seed)) for place in PLACES]
    values = [tv(_row(p, tokens, at, at), _row(p, tokens, at - 1, at)) for p, tokens, at in pairs]
    return str(estimate(values))


@cache
def _drawn(seed: int) -> tuple[np.ndarray, ...]:
    """A sample of every image, decoded one by one."""
    drawn = [simulate(Autoregressive(), image(k).target, Speculative(), Tape(seed, [k])) for k in range(SAMPLES)]
    return tuple(done.tokens[0] for done in drawn)


def _row(process: Process, tokens: np.ndarray, start: int, place: int) -> np.ndarray:
    """The row of ``place`` in a call that begins at ``start``."""
    return np.asarray(process.forward(tokens[None], np.array([start]), place - start + 1)[0, -1])


def _falls(values: list[Estimate]) -> bool:
    """Whether the first is surely larger than the last, and no later one surely larger than an earlier."""
    ends = [e.interval(1 - FALSE_ALARMS) for e in values]
    rises = any(b[0] > a[1] for k, a in enumerate(ends) for b in ends[k + 1 :])
    return ends[0][0] > ends[-1][1] and not rises


def _summary(found: dict[int, Estimate]) -> str:
    return ", ".join(f"{offset}: {e.mean:.3f} ± {e.error:.3f}" for offset, e in found.items())
