"""The distances from variances by hand, the aligned rate by an integral over the gap on a grid; the rate without shared
noise, which the entry gives as an interval, is drawn once more with NumPy from the chains written out.
"""

import numpy as np
from scipy.special import ndtr

TOLERANCE = {"aligned_rate": 1e-6}


def recompute(examples):
    (entry,) = examples
    sd, turned, other = entry["sd"], entry["turned"], entry["other"]
    aligned = (2 * turned) ** 2
    own = 2 * turned**2 + 2 * 15 * other**2 + 2 * 16 * sd**2
    z = np.linspace(-10, 10, 200_001)
    weight, gap = np.exp(-z * z / 2), np.maximum(abs(2 * turned * z), 1e-12) / sd
    log = np.log(1.86)
    rate = ndtr((log - gap**2 / 2) / gap) + 1.86 * ndtr((-log - gap**2 / 2) / gap)
    # independent noise: x_1 of both, and the noise of x_2, x_1 of each, whose densities stand in the ratio
    rng, count = np.random.default_rng(1), 100_000
    p1, q1 = rng.normal(size=(2, count, 16))
    slopes = np.full(16, other)
    slopes[0] = turned
    turn = np.where(np.arange(16) == 0, -1, 1)
    x = slopes * turn * q1 + sd * rng.normal(size=(count, 16))
    ratio = ((x - slopes * turn * q1) ** 2 - (x - slopes * p1) ** 2).sum(axis=1) / (2 * sd**2)
    ratio += ((q1**2 - p1**2).sum(axis=1) + rng.chisquare(32, count) - rng.chisquare(32, count)) / 2 + log
    seen = np.minimum(1, np.exp(np.minimum(ratio, 0))).mean()
    assert abs(seen - 0.14) < 0.006
    return [
        {
            "aligned_distance": aligned,
            "own_distance": own,
            "aligned_rate": float((weight * rate).sum() / weight.sum()),
        }
    ]
