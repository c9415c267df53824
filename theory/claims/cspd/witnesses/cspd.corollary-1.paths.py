"""On grids of x_1 and x_0: the residual of trajectories is the positive part of a difference of two joint densities;
what the threshold accepts is summed over the shared noise of x_1.
"""

import numpy as np

TOLERANCE = 5e-4


def normal(x, mean=0.0, sd=1.0):
    return np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))


def recompute(examples):
    first, second = examples
    x = np.linspace(-16, 16, 320_001)
    step = x[1] - x[0]
    z = np.maximum(normal(x, 0, 2) - normal(x), 0).sum() * step  # x_0 has one law, so only x_1 counts
    threshold = np.maximum(0, first["sigma"] * normal(x) - normal(x)).max()
    assert z > 0.3
    assert threshold == 0

    sp, sq, last, sigma = (second[k] for k in ("sd_target", "sd_draft", "last_sd", "sigma"))
    x0, x1 = np.linspace(-9, 9, 361), np.linspace(-9, 9, 721)
    width = x0[1] - x0[0]
    paths = np.maximum(normal(x1, 0, sp) - normal(x1, 0, sq), 0) @ normal(x0, x1[:, None], last)
    paths /= paths.sum() * width
    fine = np.linspace(-12, 12, 961)  # of x_0, for the masses given e
    accepted = np.zeros(len(x0))
    for e in np.linspace(-6, 6, 1200):  # an even number of nodes: at e = 0 nothing is rejected
        p, q = normal(fine, sp * e, last), normal(fine, sq * e, last)
        kept = np.minimum(q, sigma * p).sum() * (fine[1] - fine[0])
        taken = np.maximum(p - q / sigma, 0)
        here = np.maximum(normal(x0, sp * e, last) - normal(x0, sq * e, last) / sigma, 0)
        accepted += normal(e) * max(0.0, 1 - kept) * here / (taken.sum() * (fine[1] - fine[0]))
    accepted /= accepted.sum() * width
    tv = 0.5 * np.abs(accepted - paths).sum() * width
    assert tv > 0.3
    return [{"taken": threshold, "z": z}, {"tv": tv}]
