"""The law of a token under the two-path ratio with independent noise, on the line, by quadrature. CSpD, eq. 4.

The weight before the last step is then random: Sigma exp((|e_q|^2 - |e_p|^2) / 2), T standard normals on each side. Of
each side's noise one direction moves the mean of the last kernel; the rest is half a chi-square of T - 1 degrees of
freedom. So there are three numbers to integrate over: two directions, and the difference of two chi-squares.
"""

from __future__ import annotations

from math import inf

import numpy as np
import scipy

from simlab.checks import check_at_least, check_number
from simlab.continuous.models.chains import Chain
from simlab.continuous.rules import TwoPath
from theory.continuous.gaussian_overlap import acceptance_rates, region
from theory.continuous.joint_gaussian import Given, last_means, last_sd, log_sigma
from theory.continuous.line import Law
from theory.continuous.rejection_cost import of_a_token


def two_path_law(
    target: Chain, draft: Chain, given: Given, limit: float = inf, nodes: int = 40, points: int = 240
) -> Law:
    """The law that ``two-path`` without alignment emits: a density, and what is left unfinished.

    ``target``, ``draft``: chains of one dimension and as many steps, T >= 2. ``given``: their conditions, ``[1]`` each.
    ``limit``: proposals a token at most, at least 1. ``nodes``: of each variable that is integrated over; halve them to
    see the error. ``points``: where the density is given. Raises ``ValueError`` if the ratio does not exist, a chain
    has another dimension or T, ``limit`` is below 1, or ``nodes`` or ``points`` below 2.

    At each node what is emitted up to a place is known in closed form, so that the masses of the cells around the
    points are exact, and their sum is 1.
    """
    TwoPath().check(target, draft)
    if target.dimension != 1 or target.steps < 2 or target.steps != draft.steps:
        found = f"dimension {target.dimension}, T = {target.steps} and {draft.steps}"
        raise ValueError(f"{found}; expected dimension 1, and the same T, at least 2")
    check_number("limit", 1.0 if limit == inf else limit, 1)
    nodes, points = check_at_least("nodes", nodes, 2), check_at_least("points", points, 2)
    joint = last_means(target, draft, given, aligned=False)
    spreads = np.sqrt(np.diag(joint.covariance))
    sp, sq = last_sd(target), last_sd(draft)
    starts = [float(chain.layout.log_volume(chain.start_factor)) for chain in (target, draft)]
    constant = log_sigma(target, draft) + starts[1] - starts[0]

    u = np.linspace(-6.5, 6.5, nodes)
    mass = scipy.stats.norm.pdf(u) / scipy.stats.norm.pdf(u).sum()
    rest, chances = _difference(target.steps - 1, nodes)
    mean_p, mean_q = (joint.mean[k] + spreads[k] * u for k in (0, 1))
    reach = 9 * (spreads + np.array([sp, sq]))
    ends = np.linspace(float((joint.mean - reach).min()), float((joint.mean + reach).max()), points + 1)

    cumulative, acceptance, trials, unfinished = np.zeros(points + 1), 0.0, 0.0, 0.0
    for b in range(nodes):
        log_weight = constant + 0.5 * (u[b] ** 2 - u[:, None] ** 2) + rest  # [u_p, v]
        chance = mass[b] * mass[:, None] * chances
        gap = (mean_p - mean_q[b])[:, None]
        share = acceptance_rates(gap, log_weight, sp, sq)
        each, out = of_a_token(*share, limit)
        below = _cumulative(ends - mean_q[b], gap, log_weight, np.where(share.proposal_acceptance > 0, each, 0), sp, sq)
        cumulative += np.einsum("pv,pvx->x", chance, below)
        acceptance += float((chance * share.acceptance).sum())
        trials += float((chance * each).sum())
        unfinished += float((chance * out).sum())
    width = ends[1] - ends[0]
    return Law((ends[1:] + ends[:-1]) / 2, np.diff(cumulative) / width, acceptance, trials, unfinished)


def _cumulative(
    y: np.ndarray, gap: np.ndarray, log_weight: np.ndarray, each: np.ndarray, sp: float, sq: float
) -> np.ndarray:
    """``[u_p, v, x]``: what is emitted up to ``y[x]`` from mu_q: q where W p exceeds it, else W p, and what is taken.

    ``each`` is how many proposals are made in the mean.
    """
    where = region(gap, log_weight, sp, sq)
    p, q = scipy.special.ndtr((y - gap) / sp)[:, None, :], scipy.special.ndtr(y / sq)
    # distribution functions at y cut to the region: they rise, so that cutting their values is the same
    (low_p, low_q), (high_p, high_q) = (
        (scipy.special.ndtr((end - gap) / sp)[:, :, None], scipy.special.ndtr(end / sq)[:, :, None])
        for end in (where.low, where.high)
    )
    above_p = np.minimum(np.maximum(p, low_p), high_p) - low_p
    above_q = np.minimum(np.maximum(q, low_q), high_q) - low_q
    if not where.inside:
        above_p, above_q = p - above_p, q - above_q
    weight = np.exp(np.clip(log_weight, -700, 700))[:, :, None]
    beside = np.minimum(weight * np.maximum(p - above_p, 0), q - above_q)
    return above_q + beside + each[:, :, None] * np.maximum(above_p - above_q / weight, 0)


def _difference(freedom: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Half the difference of two chi-squares: ``count`` values of equal chance, the middles of its quantiles."""
    levels = (np.arange(16 * count) + 0.5) / (16 * count)
    halves = scipy.stats.chi2.ppf(levels, freedom) / 2
    everything = np.sort((halves[:, None] - halves).ravel())
    return everything[((np.arange(count) + 0.5) / count * len(everything)).astype(int)], np.full(count, 1 / count)
