"""The law of a token under the two-path ratio with noise that is not shared, on the line, by quadrature. CSpD, eq. 4.

The weight before the last step is then random: Sigma exp((|e_q|^2 - |e_p|^2) / 2), T standard normals on each side. Of
each side's noise one direction moves the mean of the last kernel; the rest is half a chi-square of T - 1 degrees of
freedom. So there are three numbers to integrate over: two directions, and the difference of two chi-squares.
"""

from __future__ import annotations

from math import inf

import numpy as np
from scipy.stats import chi2, norm

from simlab.continuous.chains import Chain
from simlab.continuous.rules import TwoPath
from simlab.continuous.rules.base import log_keep, take
from theory.continuous.coupled import last_means, log_sigma
from theory.continuous.kernels_apart import shares
from theory.continuous.line import LEAST, Given, Law
from theory.continuous.trials import bounded


def two_path_law(
    target: Chain, draft: Chain, given: Given, limit: float = inf, nodes: int = 40, points: int = 240
) -> Law:
    """The law that ``two-path`` without alignment emits; for T >= 2 and one dimension.

    ``nodes`` of each variable; halve them to see the error. Raises ``ValueError`` where the ratio does not exist.
    """
    TwoPath().check(target, draft)
    if target.dimension != 1 or target.steps < 2:
        raise ValueError(f"dimension {target.dimension} and T = {target.steps}; expected 1, and at least 2 steps")
    joint = last_means(target, draft, given, aligned=False)
    spreads = np.sqrt(np.diag(joint.covariance))
    sp, sq = (float(abs(chain.layout.dense(chain.factor[0])[0, 0])) for chain in (target, draft))
    starts = [float(chain.layout.log_volume(chain.start_factor)) for chain in (target, draft)]
    constant = log_sigma(target, draft) + starts[1] - starts[0]

    u = np.linspace(-6.5, 6.5, nodes)
    mass = norm.pdf(u) * (u[1] - u[0])
    rest, chances = _difference(target.steps - 1, nodes)
    mean_p, mean_q = (joint.mean[k] + spreads[k] * u for k in (0, 1))
    reach = 7 * (spreads + np.array([sp, sq]))
    x = np.linspace(float((joint.mean - reach).min()), float((joint.mean + reach).max()), points)

    density, kept, trials, unfinished = np.zeros(points), 0.0, 0.0, 0.0
    p = norm.logpdf(x, mean_p[:, None], sp)[:, None]  # [u_p, 1, x]
    for b in range(nodes):
        log_weight = constant + 0.5 * (u[b] ** 2 - u[:, None] ** 2) + rest  # [u_p, v]
        chance = mass[b] * mass[:, None] * chances
        share = shares((mean_p - mean_q[b])[:, None], log_weight, sp, sq)
        lost = np.where(1 - share.kept > LEAST, 1 - share.kept, 0)
        cost = bounded(share.taken, limit)
        each = lost * np.where(lost > 0, cost.trials, 0)
        q = norm.logpdf(x, mean_q[b], sq)
        log_ratio = log_weight[:, :, None] + p - q
        density += np.einsum("pv,pvx->x", chance, np.exp(q + log_keep(log_ratio)))
        again = np.where(share.taken > 0, each, 0)[:, :, None] * np.exp(p) * take(log_ratio)
        density += np.einsum("pv,pvx->x", chance, again)
        kept += float((chance * share.kept).sum())
        trials += float((chance * each).sum())
        unfinished += float((chance * lost * cost.unfinished).sum())
    return Law(x, density, kept, trials, unfinished)


def _difference(freedom: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Half the difference of two chi-squares: ``count`` values of equal chance, the middles of its quantiles."""
    if freedom == 0:
        return np.zeros(1), np.ones(1)
    halves = chi2.ppf((np.arange(400) + 0.5) / 400, freedom) / 2
    everything = np.sort((halves[:, None] - halves).ravel())
    return everything[((np.arange(count) + 0.5) / count * len(everything)).astype(int)], np.full(count, 1 / count)
