"""Predictions for CSpD's Tables 4 to 7 and Figures 8 and 9 from processes of the same shape, without simulation.

A gap of last means with mean square D, over many dimensions, is nearly always sqrt(D) long; with last kernels of one sd
s it is accepted with 2 Phi(-sqrt(D) / (2 s)). The published code judges a draft that is the mean itself, with distances
divided by 42^2: exp(-D / (2 (42 s)^2)) if volumes agree. So a table of distances and rates says what s was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy

from simlab.continuous import Pair, affine
from simlab.continuous.models.diffusion import ddpm_chain, schedule
from theory.continuous.joint_gaussian import last_sd
from theory.published.ledger import Ledger, Row

GAMMAS = ("4", "8", "16", "32")
TRAINED, STEPS, DIMENSION = 1000, 100, 16  # of the models the paper runs: a token is 16 numbers, denoised in 100 steps
NEEDED = 0.45  # the sd of the last kernel that Table 4 needs at gamma = 4
WIDENED = 42  # the published code divides distances by its square


class Rate(NamedTuple):
    """A printed acceptance rate and the printed distance beside it."""

    gamma: str
    aligned: bool
    alpha: Row
    distance: Row


def rates(ledger: Ledger) -> list[Rate]:
    """Table 4, in its order."""
    found = []
    for gamma in GAMMAS:
        for align in ("yes", "no"):
            setting = {"gamma": gamma, "align": align}
            alpha, distance = (
                ledger.one(setting, paper="cspd", table="4", metric=metric) for metric in ("alpha", "mean_sq_distance")
            )
            found.append(Rate(gamma, align == "yes", alpha, distance))
    return found


def overlap(distance: Any, sd: float) -> np.ndarray:
    """The acceptance of the last step's ratio for a gap that is always sqrt(distance) long."""
    return 2 * scipy.stats.norm.cdf(-np.sqrt(distance) / (2 * sd))


def code_acceptance(distance: Any, sd: float) -> np.ndarray:
    """The acceptance of the published code there: the draft is a mean, and ``sd`` is 42 times that of the last step."""
    return np.exp(-np.asarray(distance) / (2 * sd**2))


class Fit(NamedTuple):
    """One standard deviation for all rows of Table 4, what it predicts, and the root mean square of what is left."""

    sd: float
    predicted: np.ndarray
    left: float


def fitted(acceptance: Callable[[Any, float], np.ndarray], table: Sequence[Rate]) -> Fit:
    """The sd that predicts the rates from the distances best."""
    distance = np.array([float(row.distance.value) for row in table])
    alpha = np.array([float(row.alpha.value) for row in table])
    best = scipy.optimize.minimize_scalar(
        lambda s: float(((acceptance(distance, s) - alpha) ** 2).sum()), bounds=(0.05, 5), method="bounded"
    )
    predicted = acceptance(distance, float(best.x))
    return Fit(float(best.x), predicted, float(np.sqrt(((predicted - alpha) ** 2).mean())))


def needed_sd(acceptance: Callable[[Any, float], np.ndarray], row: Rate) -> float:
    """The sd that predicts one row exactly."""
    return float(
        scipy.optimize.brentq(
            lambda s: float(acceptance(float(row.distance.value), s)) - float(row.alpha.value), 0.05, 5
        )
    )


def last_sds() -> dict[str, float]:
    """The sd of the last of 100 steps, by schedule, spacing and DDPM's bounds of the variance."""
    found = {}
    for name, spacing in product(("linear", "cosine"), ("trailing", "linspace")):
        abar = schedule(name, TRAINED, STEPS, spacing)
        for kernels in ("posterior", "upper"):
            found[f"{name}, {spacing}, {kernels}"] = last_sd(ddpm_chain(np.ones(1), abar, kernels))
    return found


# One process for Tables 4 and 6 -------------------------------------------------------------------------------------


def even_pair(sd: float, aligned: float, own: float, slope: float = 0.9) -> Pair:
    """A pair of T = 100 and d = 16, equally wrong in every step, with these mean square gaps of the last means.

    ``aligned`` and ``own`` are the mean squares with shared noise and with independent noise; ``sd`` is that of the
    last kernel. All variances agree, so Sigma is 1.
    """
    if not 0 <= aligned < own:
        raise ValueError(
            f"aligned is {aligned} and own {own}; expected 0 <= aligned < own: independent noise adds to it"
        )
    reach = (1 - slope**STEPS) / (1 - slope)  # how much of a gap in every step arrives
    gap = np.sqrt(aligned / DIMENSION) / reach
    spread = (own - aligned) / (2 * DIMENSION)  # the variance of a last mean, in each dimension
    start = slope ** (2 * STEPS)  # what is left of x_T
    steps = slope**2 * (1 - slope ** (2 * (STEPS - 1))) / (1 - slope**2)
    sds = np.full(STEPS, np.sqrt((spread - start) / steps))
    sds[0] = sd
    model = partial(affine, STEPS, DIMENSION, slope, sds)
    return Pair(model(), model(offset=gap))


def separation(pair: Pair) -> float:
    """The Mahalanobis distance of the two laws of trajectories, for chains that differ in their offsets alone.

    The path ratio's acceptance is 2 Phi(-D / 2), and its logarithm is N(-D^2 / 2, D^2) under the draft.
    """
    target, draft = pair.target.chain, pair.draft.chain
    return float(np.sqrt((((draft.offset - target.offset) / target.factor) ** 2).sum()))
