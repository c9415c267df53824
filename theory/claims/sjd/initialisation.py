"""Claims of SJD about the speed that initialisations with spatial priors bring (sections 5.2 and 5.4)."""

from __future__ import annotations

import numpy as np

from simlab.decoders import Decoder
from simlab.decoders.compiled import simulate
from simlab.decoders.initial import Initial
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.processes.markov import Markov
from simlab.randomness import Tape
from simlab.rules import Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import judged, rejects_mutants, simulation
from theory.claims.sjd.speeds import (
    ERRORS,
    PROCESS,
    SIMULATES,
    TENTH,
    beyond,
    drafts,
    faster,
    speeds_of,
    summary,
)
from theory.claims.sources import said
from theory.image_process import FALSE_ALARMS, FEW, Speed, compare

CLAIMS = Claims("sjd")

POINT_MASSES = (
    "New drafts are scored as point masses, as in the published code, which has the horizontal ones only; they are as "
    "many as in the paper's loop, one for each committed token."
)


@CLAIMS.claim(
    "sjd.spatial-speed",
    said(
        "5.4, Fig. 9",
        "for example, when generating images composed of many simple and repeating patterns, a token initialization "
        "correlated with the already sampled tokens can provide a more precise guess than the random initialization.",
        "formalised",
        "A more precise guess is read as more tokens a call. The picture is an example of what can be, not a model: "
        "its rows do not depend on the tokens, so that the effect is built in. How large it is on a model, Fig. 9 "
        f"shows and no table prints (published.sjd-spatial). {POINT_MASSES}",
    ),
    "On a simulated picture of 16 x 16 tokens with a box, where the position alone decides which of two tokens has "
    "probability 0.95, SJD with 16 inputs commits more tokens a call with each of the four spatial initialisations "
    "than with random initialisation.",
    simulates=SIMULATES,
)
def spatial_simple(seed: int) -> Finding:
    """A token beside or above a new position mostly belongs to the same part of the picture, and is what the target
    would draw there; a uniform one hardly ever is, and has to wait for a call that draws it again.

    On this picture that is arithmetic. A draft that is drawn again comes from the row that the next call computes, and
    is always accepted. So with random initialisation every other call rejects its first, uniform, draft and commits
    one token; the next accepts the 14 drafts that were drawn again, rejects the uniform one behind them, and commits
    15. That is 16 tokens in two calls, but for the uniform drafts that are accepted by chance, one in 256; in the
    published code, where the row behind the window gives a draft as well (sjd-reference.lossless), it is 17. Every
    initialisation whose new drafts are accepted more often is faster.
    """
    found: dict[str, Speed] = {initial: _box_speed(PointMassSjd(drafts(16), initial), seed) for initial in INITIALS}
    random, *spatial = found.values()
    pairs = [(one, random) for one in spatial]
    return judged(
        faster(pairs),
        simulation(f"tokens a call: {summary(found)}; {ERRORS}; {FEW} pictures, sign tests at {FALSE_ALARMS:g}"),
        rejects_mutants({"random against itself": [(random, random)]}, lambda pairs: faster(pairs) != 1, "the gain"),
    )


INITIALS: tuple[Initial, ...] = "random", "repeat-left", "repeat-above", "sample-left", "sample-above"


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
        "We observe that the token initialization with spatial priors has a marginal influence on the speed of "
        "general image generation.",
        "formalised",
        "Marginal is read as less than a tenth; Tables 1, 2, 4 and 5 print differences of 0.5 % to 5.5 % in steps, and "
        f"of up to 6.7 % in latency. {POINT_MASSES} {PROCESS}",
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

    def near(other: Speed) -> int:
        """1 or -1 where it surely differs by less, or by more, than a tenth from random initialisation."""
        return min(beyond(other, random, 1 - TENTH), -beyond(other, random, 1 + TENTH))

    slow = speeds_of({"four inputs": PointMassSjd(drafts(4))}, seed)["four inputs"]
    return judged(
        near(left),
        simulation(
            f"tokens a call: random {random}, repeat-left {left}: {compare(left, random)}; {ERRORS}; {images} "
            f"images of 6 rows, at {FALSE_ALARMS:g}"
        ),
        rejects_mutants({"four inputs": slow}, lambda other: near(other) != 1, "a small difference"),
    )
