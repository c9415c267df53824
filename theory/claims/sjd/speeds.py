"""What the claims of SJD about speed share: step compressions on the image-like process, and what is printed.

Statements about a model are judged on :mod:`theory.image_process`: at best they are *not refuted* by it. A window of W
is as in the published code: W inputs of a call, of which one is committed and W - 1 are drafts. So W = 1 is
autoregression. New drafts are those of the paper's loop, one for each committed token; the code has one less, and a
draft from the row behind the window (sjd-reference.lossless).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from simlab.decoders import Decoder
from theory.claims.base import Evidence, Finding, Verdict
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


def added(one: Speed, other: Speed) -> tuple[float, float]:
    """The least and the most that ``one`` surely adds to the step compression of ``other``, as shares of it."""
    low, high = compare(one, other).gain.interval(1 - FALSE_ALARMS)
    return low / other.mean.mean, high / other.mean.mean


def judged(open_: float, missed: bool, *evidence: Evidence) -> Finding:
    """``not-refuted`` if nothing is open, ``refuted`` if it is surely missed, else ``not-decided``."""
    verdict: Verdict = "not-refuted" if open_ == 0 else "refuted" if missed else "not-decided"
    return Finding(verdict, evidence)


def not_faster(pairs: Collection[tuple[Speed, Speed]]) -> int:
    """In how many pairs the first is not surely faster than the second."""
    return sum(compare(one, other).sure != 1 for one, other in pairs)


def surely_slower(pairs: Collection[tuple[Speed, Speed]]) -> bool:
    """Whether the first of any pair is surely slower than the second."""
    return any(compare(one, other).sure == -1 for one, other in pairs)


def autoregression(tokens: int) -> Speed:
    """One token a call."""
    return Speed(tokens, np.full(FEW, tokens), np.array([0, tokens * FEW]))


ERRORS = "± is one standard error"
STATED = f"{ERRORS}; {FEW} images of 6 rows, intervals and sign tests at a false-alarm rate of {FALSE_ALARMS:g}"
