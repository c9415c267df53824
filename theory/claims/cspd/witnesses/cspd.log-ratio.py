"""Log densities are quadratic in the noise, so their means over normal noise are those over +1 and -1: all cases. The
two-path ratio with shared noise is the product of deviations times a ratio of last densities that integrates to 1,
summed on a grid. All deviations are 1 but where they are named.
"""

from itertools import product
from math import log
from statistics import fmean

import numpy as np

SIGNS = (-1, 1)


def log_density(x, mean, sd=1.0):
    """Up to a constant that cancels."""
    return -(((x - mean) / sd) ** 2) / 2


def normal(x, sd):
    return np.exp(log_density(x, 0, sd)) / (sd * np.sqrt(2 * np.pi))


def one_step(entry):
    """x_1 is shared and the last means do not depend on it, so both trajectories are (x_1, x_0)."""
    same = fmean(log_density(e, entry["mean_p"]) - log_density(e, entry["mean_p"]) for e in SIGNS)
    divergence = fmean(log_density(e, entry["mean_q"]) - log_density(e, entry["mean_p"]) for e in SIGNS)
    assert same != divergence
    return {"delta": same, "printed": divergence}


def one_model():
    """x_1 = x_2 + e_2, x_0 = x_1 + e_1 in both models, on e_2 of their own; KL and H - H are 0."""
    deltas = []
    for x2, e2, f2, e1 in product(SIGNS, repeat=4):  # e of the draft, f of the target; x_2 is shared
        x1, y1 = x2 + e2, x2 + f2
        x0 = x1 + e1
        deltas.append(log_density(y1, x2) + log_density(x0, y1) - log_density(x1, x2) - log_density(x0, x1))
    return {"delta": fmean(deltas), "printed": 0}


def wider(entry):
    slope, sp, sq = entry["last_slope"], entry["sd_p"], entry["sd_q"]

    def log_p(x1, x0):
        return log_density(x1, 0, sp) + log_density(x0, slope * x1)

    def delta(pairs):
        """The mean of log p(Yp) - log p(Yq), the draft's x_0 at the end of both."""
        ends = [(sp * f, sq * e, slope * sq * e + e1) for f, e in pairs for e1 in SIGNS]
        return fmean(log_p(y1, x0) - log_p(x1, x0) for y1, x1, x0 in ends)

    shared, own = delta([(e, e) for e in SIGNS]), delta(list(product(SIGNS, repeat=2)))
    divergence = ((sq / sp) ** 2 - 1) / 2 - log(sq / sp)
    assert shared < 0 < log(sq / sp)
    return {"delta_aligned": shared, "delta_own": own, "entropies": log(sq / sp), "divergence": divergence}


def lower_mean():
    """x_1 = 2 e (target) or 2 + e (draft), x_0 = e_1 or 4 e_1."""

    def log_p(x1, x0):
        return log_density(x1, 0, 2) + log_density(x0, 0)

    delta = fmean(log_p(2 * e, 4 * e1) - log_p(2 + e, 4 * e1) for e in SIGNS for e1 in SIGNS)
    own = fmean(log_p(2 * e, f1) - log_p(2 + e, 4 * e1) for e in SIGNS for e1 in SIGNS for f1 in SIGNS)
    x = np.linspace(-40, 40, 8001)
    dx = x[1] - x[0]
    two_path = 1 / 2 * (normal(x, 4) * normal(x, 1) / normal(x, 4)).sum() * dx
    path = (normal(x, 2).sum() * dx) * (normal(x, 1).sum() * dx)  # the integral of p over x_1 and x_0
    assert delta > 0
    assert two_path < path
    return {"delta": delta, "own": own, "mean_two_path": two_path, "mean_path": path}


def recompute(examples):
    first, _, third, _ = examples
    return [one_step(first), one_model(), wider(third), lower_mean()]
