"""At a gap g the overlap is erfc(g / (2 sqrt(2) s)); its mean is a sum over a grid of the shared e, or of both."""

from math import erfc, sqrt

import numpy as np

overlap = np.vectorize(erfc)


def recompute(examples):
    (entry,) = examples
    (a, b), s = entry["slopes"], entry["last_sd"]
    e = np.linspace(-8, 8, 641)
    mass = np.exp(-e * e / 2) / np.exp(-e * e / 2).sum()
    shared = mass @ overlap(abs(a * e - b * e) / (2 * sqrt(2) * s))
    own = mass @ overlap(abs(a * e[:, None] - b * e) / (2 * sqrt(2) * s)) @ mass
    assert shared > own
    return [{"shared": shared, "independent": own}]


TOLERANCE = 1e-4
