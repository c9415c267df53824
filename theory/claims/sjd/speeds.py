"""What the claims of SJD about speed share: step compressions on the image-like process, and what is printed.

Statements about a model are judged on :mod:`theory.image_process`: at best they are *not refuted* by it. A window of W
is as in the published code: W inputs of a call, of which one is committed and W - 1 are drafts. So W = 1 is
autoregression. New drafts are those of the paper's loop, one for each committed token; the code has one less, and a
draft from the row behind the window (sjd-reference.lossless).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from simlab.decoders import Decoder
from simlab.statistics import Estimate, paired
from theory.claims.evidence import side
from theory.image_process import FALSE_ALARMS, FEW, STAND_IN, Speed, compare, speed

SIMULATES = "SJD on the image-like process"
PROCESS = STAND_IN.replace("fitted to Table 2", "fitted to SJD-PAC's Table 2")  # SJD has a Table 2 too
IMAGE_ROWS: Any = {"shape": (6, 48)}  # half of an image, enough to tell
PRINTED_JACOBI = 1.04  # Tables 1 and 2: step compression of Jacobi decoding on Lumina-mGPT
SLOW = 1.1  # tokens a call: below it nobody would speak of acceleration
TENTH = 0.1  # of the step compression: what counts as a marginal difference


def drafts(window: int) -> int:
    """The drafts of a window of so many inputs, one of which is committed."""
    return window - 1


def speeds_of(decoders: Mapping[str, Decoder], seed: int, images: int = FEW) -> dict[str, Speed]:
    """How fast each decoder is on the image-like process."""
    return {name: speed(decoder, seed, images, **IMAGE_ROWS) for name, decoder in decoders.items()}


def summary(speeds: Mapping[str, Speed]) -> str:
    """Step compressions to read."""
    return ", ".join(f"{name} {found}" for name, found in speeds.items())


def excess(one: Speed, other: Speed, factor: float) -> Estimate:
    """Tokens a call of ``one`` less ``factor`` times those of ``other``, on the images that both have."""
    n = min(len(one.calls), len(other.calls))
    return paired(one.ratios[:n], factor * other.ratios[:n])


def beyond(one: Speed, other: Speed, factor: float, alarms: float = FALSE_ALARMS) -> int:
    """1 or -1 where ``one`` surely commits more or fewer tokens a call than ``factor`` times ``other``, else 0."""
    return side(excess(one, other, factor).interval(1 - alarms))


def below(found: Speed, bound: float) -> int:
    """1 or -1 where a decoder surely commits fewer or more tokens a call than ``bound``, 0 where that is open."""
    return -side(found.mean.interval(1 - FALSE_ALARMS), bound)


def faster(pairs: Iterable[tuple[Speed, Speed]]) -> int:
    """1 where the first of every pair is surely the faster, -1 where that of one is surely the slower, else 0."""
    return min(compare(one, other).sure for one, other in pairs)


def autoregression(tokens: int) -> Speed:
    """One token a call."""
    return Speed(tokens, np.full(FEW, tokens), np.array([0, tokens * FEW]))


ERRORS = "± is one standard error"
STATED = f"{ERRORS}; {FEW} images of 6 rows, intervals and sign tests at a false-alarm rate of {FALSE_ALARMS:g}"
