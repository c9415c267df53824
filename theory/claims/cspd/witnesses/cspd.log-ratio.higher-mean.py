"""Means of logarithms over noise of +1 and -1, as they are quadratic in it; the two-path ratio with shared noise is the
product 1/2 of the deviations times a ratio of last densities that integrates to 1, summed on a grid.
"""

from statistics import fmean

import numpy as np


def log_p(x1, x0):
    return -((x1 / 2) ** 2) / 2 - x0**2 / 2  # x_1 = 2 e, x_0 = e_1 of the target


def normal(x, sd):
    return np.exp(-((x / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi))


def recompute(examples):
    assert len(examples) == 1
    signs = (-1, 1)
    delta = fmean(log_p(2 * e, 4 * e1) - log_p(2 + e, 4 * e1) for e in signs for e1 in signs)
    own = fmean(log_p(2 * e, f1) - log_p(2 + e, 4 * e1) for e in signs for e1 in signs for f1 in signs)
    x = np.linspace(-40, 40, 8001)
    dx = x[1] - x[0]
    two_path = 1 / 2 * (normal(x, 4) * normal(x, 1) / normal(x, 4)).sum() * dx
    path = (normal(x, 2).sum() * dx) * (normal(x, 1).sum() * dx)  # the integral of p over x_1 and x_0
    assert delta > 0
    assert two_path < path
    return [{"delta": delta, "own": own, "mean_two_path": two_path, "mean_path": path}]
