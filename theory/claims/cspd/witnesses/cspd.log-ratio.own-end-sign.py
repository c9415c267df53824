"""Two trajectories on the same noise e_2, e_1, each down to an x_0 of its own: the ratio of their densities at points
of the noise, which is one number, and the mean of the path ratio as the integral of the target's density. Then the
mean of log p, p = N(0, 1), under N(0, 1) and under N(0, s^2), by sums on a grid; entropies likewise.
"""

import numpy as np


def wider(entry):
    slope, sp, sq = entry["last_slope"], entry["sd_p"], entry["sd_q"]

    def density(sd, x1, x0):
        return np.exp(-((x1 / sd) ** 2) / 2 - (x0 - slope * x1) ** 2 / 2) / (2 * np.pi * sd)

    ratios = []
    for e2, e1 in ((0.0, 0.0), (1.3, -0.4), (-2.1, 0.9)):
        (x1p, x0p), (x1q, x0q) = ((sd * e2, slope * sd * e2 + e1) for sd in (sp, sq))
        ratios.append(density(sp, x1p, x0p) / density(sq, x1q, x0q))
    assert max(ratios) - min(ratios) < 1e-12
    step = 0.05
    x1, away = np.meshgrid(np.arange(-9, 9, step), np.arange(-9, 9, step))  # x_0 is slope x_1 + away
    path = density(sp, x1, slope * x1 + away).sum() * step**2
    assert ratios[0] > path
    return {"ratio": ratios[0], "mean_path": path}


def narrower(entry):
    x = np.linspace(-12, 12, 24_001)
    dx = x[1] - x[0]
    p, q = (np.exp(-((x / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi)) for s in (entry["sd_p"], entry["sd_q"]))
    log_p, log_q = (-((x / s) ** 2) / 2 - np.log(s * np.sqrt(2 * np.pi)) for s in (entry["sd_p"], entry["sd_q"]))
    delta = ((p - q) * log_p).sum() * dx
    assert delta < 0
    return {"delta": delta, "entropies": (p * log_p - q * log_q).sum() * dx}


def recompute(examples):
    one, other = examples
    return [wider(one), narrower(other)]
