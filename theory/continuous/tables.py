"""Predictions for CSpD's Tables 4 to 7 and Figures 8 and 9 from processes of the same shape, without simulation.

Last means that are g apart, with last kernels of one sd s, are accepted with 2 Phi(-g / (2 s)). Table 4 prints the mean
square distance D of *tokens*. With shared noise that is the mean square of the gap; with independent noise the two last
kernels add 2 d s^2 to it (eq. 37). If gaps had one length, D and s would decide the rate. They need not have: a mean
square says little of a law, and rates from next to nothing to 1 go with the same D and s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy

from simlab.continuous import Pair, affine
from simlab.continuous.models.diffusion import ddpm_chain, schedule
from theory.continuous.gaussian_overlap import acceptance_over_gap, two_phi
from theory.continuous.joint_gaussian import last_sd
from theory.published.ledger import Ledger, Row

GAMMAS = ("4", "8", "16", "32")
TRAINED, STEPS, DIMENSION = 1000, 100, 16  # of the models the paper runs: a token is 16 numbers, denoised in 100 steps


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


class Fit(NamedTuple):
    """One standard deviation for all rows of Table 4, what it predicts, and the root mean square of what is left."""

    sd: float
    predicted: np.ndarray
    left: float


def predicted(table: Sequence[Rate], sd: float, dimension: int = DIMENSION) -> Any:
    """``[rows]``: the rates of Table 4 if gaps have one length and tokens the distances printed.

    ``sd``: of both last kernels. ``dimension``: numbers a token; 0 for distances of the last means themselves.
    """
    tokens = np.array([float(row.distance.value) for row in table])
    added = np.array([0.0 if row.aligned else 2 * dimension * sd**2 for row in table])
    return two_phi(np.sqrt(np.maximum(tokens - added, 0)), sd)


def fitted(table: Sequence[Rate], dimension: int = DIMENSION) -> Fit:
    """The sd that predicts the rates best, among those that leave no distance below 0.

    ``table``, ``dimension``: as for :func:`predicted`.
    """
    alpha = np.array([float(row.alpha.value) for row in table])
    least = min(float(row.distance.value) for row in table if not row.aligned)
    most = float(np.sqrt(least / (2 * dimension))) if dimension else 5.0
    best = scipy.optimize.minimize_scalar(
        lambda sd: float(((predicted(table, sd, dimension) - alpha) ** 2).sum()),
        bounds=(0.02, most),
        method="bounded",
        options={"xatol": 1e-9},
    )
    found = predicted(table, float(best.x), dimension)
    return Fit(float(best.x), found, float(np.sqrt(((found - alpha) ** 2).mean())))


def two_gaps(row: Rate, sd: float) -> tuple[float, float, float]:
    """A law of gaps of two lengths that has the distance and the rate of an aligned row of Table 4.

    ``sd``: of both last kernels. Returns the share of gaps that are 0, the length of the others, and the rate of the
    two together.
    """
    share, distance = float(row.alpha.value), float(row.distance.value)
    length = float(np.sqrt(distance / (1 - share)))
    return share, length, share + (1 - share) * float(two_phi(length, sd))


def last_sds() -> dict[str, float]:
    """The sd of the last of 100 steps, by schedule, spacing and DDPM's bounds of the variance."""
    found = {}
    for name, spacing in product(("linear", "cosine"), ("trailing", "linspace")):
        abar = schedule(name, TRAINED, STEPS, spacing)
        for kernels in ("posterior", "upper"):
            found[f"{name}, {spacing}, {kernels}"] = last_sd(ddpm_chain(np.ones(1), abar, kernels))
    return found


# One process for Tables 4 and 6 -------------------------------------------------------------------------------------

SIGMA = 1.86  # the mean of the aligned ratio, as Table 6 prints it
ALIGNED_RATE = 0.321  # printed as 0.32; with it the rate without shared noise is 0.14
TOGETHER = 3  # denoising steps of the pair
LOST = 100.0  # how far the first step takes the draft away, which nothing later depends on


class Parts(NamedTuple):
    """What the pair is made of: the sd of the last step, and its slopes."""

    sd: float
    turned: float  # in the first dimension, with the other sign in the draft
    other: float  # in the other dimensions, the same in both


def parts(aligned: float, own: float, rate: float) -> Parts:
    """The parts of a pair that has given distances and a given rate.

    ``aligned``, ``own``: mean square distances of tokens with shared and with independent noise. ``rate``: the
    acceptance rate with shared noise. Raises ``ValueError`` if there are none.
    """
    turned = float(np.sqrt(aligned)) / 2  # shared noise drives the two apart by 2 * turned * N(0, 1)
    sd = float(
        scipy.optimize.brentq(
            lambda s: acceptance_over_gap(0.0, 2 * turned, float(np.log(SIGMA)), s, s) - rate, 0.01, 2.0, xtol=1e-12
        )
    )
    left = own - 2 * turned**2 - 2 * DIMENSION * sd**2
    if left < 0:
        raise ValueError(f"own is {own}; expected at least {own - left:.3f}: the noise of both last steps adds to it")
    return Parts(sd, turned, float(np.sqrt(left / (2 * (DIMENSION - 1)))))


def pair_of_tables(made: Parts) -> Pair:
    """A pair of T = 3 and d = 16 with Sigma = 1.86, whose last steps turn the first dimension in opposite directions.

    The step before the last is noise alone, so that what the first step does is lost: it makes Sigma, and takes the
    draft far from the target's trajectory.
    """
    slope = np.zeros((TOGETHER, DIMENSION))
    slope[0] = made.other
    turn = np.ones((TOGETHER, DIMENSION))
    slope[0, 0], turn[0, 0] = made.turned, -1
    sd, offset = np.ones((TOGETHER, DIMENSION)), np.zeros((TOGETHER, DIMENSION))
    sd[0] = made.sd
    wider = sd.copy()
    wider[-1], offset[-1] = SIGMA ** (1 / DIMENSION), LOST
    model = partial(affine, TOGETHER, DIMENSION)
    return Pair(model(slope, sd), model(slope * turn, wider, offset))
