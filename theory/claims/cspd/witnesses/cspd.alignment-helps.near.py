"""E min(1, exp(W)), W = (r^2 - t^2) / 2, by a sum over a grid of the lengths r and t of two vectors of n normals, whose
densities are proportional to r^(n - 1) exp(-r^2 / 2).
"""

import numpy as np


def most(n):
    low, high = max(0.0, np.sqrt(n) - 8), np.sqrt(n) + 8
    r = low + (np.arange(1500) + 0.5) * (high - low) / 1500
    log = (n - 1) * np.log(r) - r * r / 2
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    return mass @ np.exp(np.minimum(0, (r[:, None] ** 2 - r**2) / 2)) @ mass


def recompute(examples):
    (entry,) = examples
    found = [most(n) for n in entry["n"]]
    assert max(found) < 1
    return [{"largest": found}]


TOLERANCE = 5e-4
