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
from theory.claims.base import Claims, Finding
from theory.claims.evidence import counterexample, rejects_mutants
from theory.claims.format import numbers
from theory.claims.sjd.speeds import ERRORS
from theory.claims.sjd_pac.speed import SIMULATES, VERDICT_OF
from theory.claims.sources import said
from theory.distances import tv
from theory.image_process import FALSE_ALARMS, STAND_IN, image

CLAIMS = Claims("sjd-pac")
OFFSETS = (1, 2, 3, 4, 8, 16, 32, 47, 48, 49, 64)
PLACES = (400, 506)  # of a token, two a image, with a row and more before them
SAMPLES = 16  # images
LOW = 0.03  # TV from offset 4 on, at most
BUILT_IN = (
    "A process is masked that was made local, so that claims about speed can be simulated: rows depend on tokens by "
    "the distance on the grid, so that fall and rise are built in, and beyond offset 4 TV is flat by construction. The "
    "rise is no sentence of the paper. The file that draws Fig. 4 (figs/make_figs.py of the published code) has .32, "
    ".06, .042, .034, ..., .024 at offsets 1, 3, 5, 7, ..., 15, a slower fall, and for text .32 to .078. "
    f"{STAND_IN}"
)


@CLAIMS.claim(
    "pac.locality",
    said(
        "4.2, Fig. 4",
        "the TV distance [d_TV] for image tokens rapidly approaches zero as the distance from the perturbed context "
        "increases",
        "formalised",
        "The paper masks the cache of Lumina-mGPT at one position. Distance is read so that the offset and the "
        "distance on the grid grow together, which they do not from one row of the image to the next: at 47, 48 and 49 "
        f"are the tokens above. {BUILT_IN}",
    ),
    "On the simulated image-like process with rows of 48 tokens, TV between the rows of a position before and after "
    "the token at offset $j$ is masked, all other tokens and the noise of the call being equal, falls from $j = 1$ to "
    "4 and is at most 0.03 from there to $j = 32$; masking the token above, at offset 48 in raster order, moves a row "
    "farther than masking one at 32.",
    simulates=SIMULATES,
)
def row(seed: int) -> Finding:
    r"""A token is masked by leaving its term out of the sum that a row is computed from. In the process the weight of a
    neighbour falls with its distance on the grid, and beyond a radius of 3 only a long-range term is left, in which
    every earlier token has a share of order $1/\sqrt{i}$ at position $i$. So the fall is by construction, and ends at
    that share, not at 0; what is measured is how fast it is. A model whose rows copy the token of one offset would have
    no such fall: locality is a property of the model, not of the method.
    """
    found = perturbed(seed)
    short = [found[offset] for offset in OFFSETS if offset <= 4]
    far = [found[offset] for offset in OFFSETS if 4 <= offset <= 32]

    def rise(offset: int) -> int:
        """1 or -1 where TV at ``offset`` is surely above or below TV at 32."""
        return _surely_above(found[offset], found[32])

    return Finding(
        VERDICT_OF[min(_falls(short), _low(far), rise(48))],
        [
            counterexample(
                f"image-like process, TV by offset, exact for each of {len(PLACES)} places in {SAMPLES} images: "
                + _summary(found)
                + f"; {ERRORS}; sure at a false-alarm rate of {FALSE_ALARMS:g}; the same prefix in two calls: "
                + twice(seed),
                numbers(offsets=list(OFFSETS), tv=[e.mean for e in found.values()]),
            ),
            rejects_mutants({"one TV at all offsets": [short[0]] * len(short)}, lambda e: _falls(e) != 1, "the fall"),
            rejects_mutants({"TV as at offset 1": [short[0]] * len(far)}, lambda e: _low(e) != 1, "what is far"),
            rejects_mutants({"offset 64 in place of 48": 64}, lambda offset: rise(offset) != 1, "the rise"),
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


def _falls(values: list[Estimate]) -> int:
    """-1 where a later one is surely larger than an earlier; else 1 where the first is surely larger than the last."""
    rises = any(_surely_above(later, one) == 1 for k, one in enumerate(values) for later in values[k + 1 :])
    return -1 if rises else max(0, _surely_above(values[0], values[-1]))


def _low(values: list[Estimate]) -> int:
    """1 where all are surely at most LOW, -1 where one is surely above."""
    ends = [each.interval(1 - FALSE_ALARMS) for each in values]
    return -1 if any(low > LOW for low, _ in ends) else int(all(high <= LOW for _, high in ends))


def _surely_above(one: Estimate, other: Estimate) -> int:
    """1 or -1 where ``one`` is surely above or below ``other``, 0 where that cannot be told."""
    (low, high), (least, most) = (e.interval(1 - FALSE_ALARMS) for e in (one, other))
    return int(low > most) - int(high < least)


def _summary(found: dict[int, Estimate]) -> str:
    return ", ".join(f"{offset}: {e.mean:.3f} ± {e.error:.3f}" for offset, e in found.items())
