"""E min(1, Sigma exp(W)), W = (r^2 - t^2) / 2, by a sum over a grid of the lengths r and t of two vectors of n normals,
whose densities are proportional to r^(n - 1) exp(-r^2 / 2). The rates of drafts that are far off are those of 200 000
draws: the chi-squares of the noise, the gap and the last step; with shared noise the overlap of two normals is taken
from the error function, or drawn likewise where the gap varies.
"""

from math import erfc, log, sqrt

import numpy as np

TOLERANCE = {"largest": 5e-4, "largest_at_sigma": 5e-4, "shared": 6e-3, "independent": 6e-3}


def most(n, sigma=1.0):
    low, high = max(0.0, np.sqrt(n) - 8), np.sqrt(n) + 8
    r = low + (np.arange(1500) + 0.5) * (high - low) / 1500
    weight = (n - 1) * np.log(r) - r * r / 2
    mass = np.exp(weight - weight.max())
    mass /= mass.sum()
    return mass @ np.exp(np.minimum(0, log(sigma) + (r[:, None] ** 2 - r**2) / 2)) @ mass


def recompute(examples):
    near, *far = examples
    found = [
        {
            "largest": [most(n) for n in near["n"]],
            "largest_at_sigma": [most(n, near["sigma"]) for n in near["n"]],
        }
    ]
    assert max(found[0]["largest"]) < 1
    random = np.random.default_rng(1)
    z = random.standard_normal(200_000)

    def accepted(weight, gap):
        """The mean of min(1, rho) for log rho = weight + the log ratio of two unit normals ``gap`` apart."""
        return np.exp(np.minimum(0, weight - gap**2 / 2 + gap * z)).mean()

    def weights(n):
        """Half the difference of two chi-squares."""
        return random.gamma(n / 2, size=z.size) - random.gamma(n / 2, size=z.size) if n else 0

    for entry in far:
        distances = {}
        if "slopes" in entry:
            d, (a, b), gap, sigma = entry["d"], entry["slopes"], entry.get("gap", 0), entry.get("log_sigma", 0)
            e, f = random.standard_normal((2, z.size, d), dtype=np.float32)
            first = gap * np.eye(1, d)  # what the draft's means are higher by
            shared = accepted(sigma, np.linalg.norm((a - b) * e - first, axis=1))
            weight = weights(entry["n"] - d) + ((e**2).sum(axis=1) - (f**2).sum(axis=1)) / 2  # e is the draft's
            own = accepted(sigma + weight, np.linalg.norm(a * f - b * e - first, axis=1))
        else:
            gap = entry["gap"]
            shared, own = erfc(gap / 2 / sqrt(2)), accepted(weights(entry["n"]), gap)
            if "distances" in entry:
                distances = {"distances": [gap**2, gap**2 + 2 * 16]}  # d = 16
        assert shared < own - 0.005
        found.append({"shared": shared, "independent": own} | distances)
    return found
