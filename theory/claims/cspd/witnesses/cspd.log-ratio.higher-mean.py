"""Means over the two noises on a grid, of densities written out: x_1 from the first noise, x_0 from the second."""

import numpy as np

TOLERANCE = 1e-7
E = np.linspace(-18, 18, 1801)
WEIGHT = np.exp(-(E**2) / 2) / np.exp(-(E**2) / 2).sum()
FIRST, LAST = np.meshgrid(E, E, indexing="ij")


def mean(value):
    return WEIGHT @ value @ WEIGHT


def log_normal(x, at, sd):
    return -0.5 * ((x - at) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))


def recompute(examples):
    own_ends, _ = examples
    target, draft = 2 * FIRST, 2 + FIRST  # x_1 of each
    x0, own = 4 * LAST, LAST  # the draft's, which is shared, and the target's own
    q = log_normal(draft, 2, 1) + log_normal(x0, 0, 4)
    path = log_normal(draft, 0, 2) + log_normal(x0, 0, 1)
    shared, separate = (log_normal(target, 0, 2) + log_normal(x, 0, 1) for x in (x0, own))
    found = {
        "delta": mean(shared - path),
        "mean_two_path": mean(np.exp(shared - q)),
        "mean_path": mean(np.exp(path - q)),
        "own": mean(separate - path),
    }
    assert found["delta"] > 0 > found["mean_two_path"] - found["mean_path"]
    sp, sq, slope = own_ends["sd_p"], own_ends["sd_q"], own_ends["last_slope"]
    target, draft = sp * FIRST, sq * FIRST
    last = log_normal(slope * draft + LAST, slope * draft, 1)  # of both models, each at its own x_0
    q = log_normal(draft, 0, sq) + last
    ratio = np.exp(log_normal(target, 0, sp) + last - q)
    assert np.ptp(ratio) < TOLERANCE
    own_ratio = {"ratio": mean(ratio), "mean_path": mean(np.exp(log_normal(draft, 0, sp) + last - q))}
    assert own_ratio["ratio"] > own_ratio["mean_path"] + TOLERANCE
    return [own_ratio, found]
