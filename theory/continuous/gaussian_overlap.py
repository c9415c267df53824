"""Acceptance and proposal rates for two Gaussians, closed form. CSpD, eqs. 12 and 13, in one dimension.

For p = N(gap, sp^2), q = N(0, sq^2) and rho = W p / q, a draft is accepted with alpha = int min(q, W p) and a proposal
with Z = int [p - q / W]+. Where W p exceeds q is a half-line, an interval or what is left of the line beside one, by
the roots of a parabola.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy

from simlab.continuous.models.chains import Chain
from theory.continuous.joint_gaussian import Given, last_means, last_sd
from theory.continuous.quadrature import normal_pdf, panels
from theory.continuous.rejection_cost import of_a_token

PANELS = 36  # over 18 standard deviations of the gap
BEHIND = np.array([0.0, 1e-3, 1e-2, 0.05, 0.2])  # of a standard deviation: where panels meet behind an edge


class AcceptanceRates(NamedTuple):
    """Acceptance of a draft and of a proposal."""

    acceptance: np.ndarray  # alpha, float64[M]
    proposal_acceptance: np.ndarray  # Z, float64[M]


class VerificationCost(NamedTuple):
    """Means over tokens."""

    acceptance: float  # of the draft
    trials: float  # proposals a token
    unfinished: float  # the probability that they run out


class Region(NamedTuple):
    """Where W p exceeds q."""

    # low, high: ends of intervals, float64[M], maybe infinite
    low: np.ndarray
    high: np.ndarray
    inside: bool  # whether it is between them, else outside of them


def region(gap: Any, log_weight: Any, sp: float = 1.0, sq: float = 1.0) -> Region:
    """Where W p exceeds q, for p = N(gap, sp^2) and q = N(0, sq^2).

    ``gap``, ``log_weight``: means of p, and log W, which broadcast to ``[M]``. ``sp``, ``sq``: above 0.
    """
    gap, log_weight = np.broadcast_arrays(np.asarray(gap, float), np.asarray(log_weight, float))
    square = 0.5 * (sq**-2 - sp**-2)
    slope = gap / sp**2
    centre = log_weight + np.log(sq / sp)  # the log ratio at 0 where the means agree
    level = centre - 0.5 * (gap / sp) ** 2
    if square == 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            edge = np.where(gap != 0, -level / slope, np.where(level > 0, -np.inf, np.inf))
        above = gap >= 0
        return Region(np.where(above, edge, -np.inf), np.where(above, np.inf, edge), True)
    inner = (gap / (sp * sq)) ** 2 - 4 * square * centre  # slope^2 - 4 square level, without cancellation
    with np.errstate(divide="ignore", invalid="ignore"):
        bulk = -0.5 * (slope + np.copysign(np.sqrt(np.maximum(inner, 0)), slope))  # without cancellation
        ends = np.stack([bulk / square, level / bulk])
    ends = np.where(inner > 0, ends, -slope / (2 * square))  # no root: there is nothing between
    return Region(ends.min(axis=0), ends.max(axis=0), square < 0)


def acceptance_rates(gap: Any, log_weight: Any, sp: float = 1.0, sq: float = 1.0) -> AcceptanceRates:
    """alpha = int min(q, W p) and Z = int [p - q / W]+ for p = N(gap, sp^2) and q = N(0, sq^2).

    ``gap``, ``log_weight``: means of p, and log W, which broadcast to ``[M]``. ``sp``, ``sq``: above 0. CSpD, equations
    12 and 13, in one dimension.
    """
    gap, log_weight = np.broadcast_arrays(np.asarray(gap, float), np.asarray(log_weight, float))
    low, high, inside = region(gap, log_weight, sp, sq)
    (in_p, out_p), (in_q, out_q) = (
        masses if inside else masses[::-1]
        for masses in (_masses((low - gap) / sp, (high - gap) / sp), _masses(low / sq, high / sq))
    )
    # outside W p is at most q, and inside q at most W p: so no weight is too large or too small
    with np.errstate(divide="ignore"):
        beside = np.minimum(np.exp(np.minimum(log_weight + np.log(out_p), 0)), out_q)
        taken = np.minimum(np.exp(np.minimum(np.log(in_q) - log_weight, 0)), in_p)
    return AcceptanceRates(in_q + beside, in_p - taken)


def _masses(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What N(0, 1) has between ``low`` and ``high``, and outside: neither is 1 less the other, which loses tails."""
    ndtr = scipy.special.ndtr
    between = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return between, np.minimum(ndtr(low) + ndtr(-high), 1)


def two_phi(gap: Any, sd: float = 1.0) -> Any:
    """2 Phi(-|gap| / (2 sd)): the acceptance for two kernels of one sd whose means are ``gap`` apart."""
    return 2 * scipy.special.ndtr(-np.abs(gap) / (2 * sd))


def acceptance_over_gap(mean: float, sd: float, log_weight: float = 0.0, sp: float = 1.0, sq: float = 1.0) -> float:
    """The acceptance where the gap is N(mean, sd^2), with an error below 1e-9, by panels that meet at 0.

    ``log_weight``: log W. ``sp``, ``sq``: standard deviations of p and q, above 0; ``sd`` may be 0.
    """
    return cost_over_gap(mean, sd, log_weight, sp, sq).acceptance


def cost_over_gap(
    mean: float,
    sd: float,
    log_weight: float = 0.0,
    sp: float = 1.0,
    sq: float = 1.0,
    limit: float = inf,
    count: int = PANELS,
) -> VerificationCost:
    """The cost of a token where the gap is N(mean, sd^2).

    ``sd``, ``log_weight``, ``sp``, ``sq``: as for :func:`acceptance_over_gap`. ``limit``: proposals a token at most.
    ``count``: panels over 18 standard deviations of the gap.
    """
    gap, weight = _over(mean, sd, count, max(sp, sq), touching(log_weight, sp, sq))
    share = acceptance_rates(gap, np.full(len(gap), log_weight), sp, sq)
    cost = of_a_token(*share, limit)
    return VerificationCost(*(float(weight @ each) for each in (share.acceptance, *cost)))


def touching(log_weight: float, sp: float, sq: float) -> np.ndarray:
    """``[M]``: the gaps from which W p and q cross, for ``sp`` and ``sq`` that differ: one exceeds the other within.

    There proposals begin to be taken, or drafts to be rejected. None where they cross at every gap.
    """
    square = 2 * (sp**2 - sq**2) * (log_weight + np.log(sq / sp))
    if square <= 0:
        return np.zeros(0)
    found = np.sqrt(square) + max(sp, sq) * BEHIND
    return np.concatenate([found, -found])


def _over(mean: float, sd: float, count: int, unit: float, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights over a gap of law N(mean, sd^2), closer around 0, where things change within ``unit``.

    At ``edges`` panels meet, too.
    """
    if sd == 0:
        return np.array([mean]), np.ones(1)
    low, high = mean - 9 * sd, mean + 9 * sd
    near = unit * np.array([0.0, 0.5, 1, 2, 4, 8, 16, 32])
    some = [end for end in (*near, *-near, *edges) if low < end < high]
    ends = np.unique(np.concatenate([np.linspace(low, high, count + 1), some]))
    gap, weight = panels(ends)
    return gap, weight * normal_pdf(gap, mean, sd)


def last_step_acceptance(target: Chain, draft: Chain, given: Given, aligned: bool) -> float:
    """The acceptance of the last step's ratio, for chains of one dimension: the mean over trajectories.

    ``given``: the conditions ``[1]`` of both. ``aligned``: whether the noise is shared, else independent. Raises
    ``ValueError`` for a learned range.
    """
    mean, covariance = last_means(target, draft, given, aligned).gap
    sds = last_sd(target), last_sd(draft)
    return acceptance_over_gap(float(mean[0]), float(np.sqrt(max(covariance[0, 0], 0))), 0.0, *sds)
