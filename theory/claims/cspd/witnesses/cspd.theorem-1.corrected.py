"""The three steps are walked with noise of two values, +1 and -1, which has the moments that count: mean squares as
sums over all signs, of shared and of independent noise.
"""

from itertools import product

import numpy as np


def states(slopes, deviations, noise):
    """x_2, x_1, x_0 from x_3 = 0; step t stands at index t - 1."""
    x, found = 0 * noise[0], []
    for t in (3, 2, 1):
        x = slopes[t - 1] * x + deviations[t - 1] * noise[t - 1]
        found.append(x)
    return np.array(found[::-1])


def recompute(examples):
    entry, roots = examples
    p, q = ((entry["slopes"][model], entry["deviations"][model]) for model in "pq")
    signs = np.array(list(product((-1, 1), repeat=6))).T
    own = np.mean((states(*q, signs[:3]) - states(*p, signs[3:])) ** 2, axis=1)
    shared = np.mean((states(*q, signs[:3]) - states(*p, signs[:3])) ** 2, axis=1)
    return [{"reduction": (own - shared).tolist()}, one_step(roots)]


def one_step(entry):
    """Independent and shared noise through triangular roots."""
    p, q = (np.array(entry[name]) for name in ("Lp", "Lq"))
    signs = [np.array(e) for e in product((-1, 1), repeat=2)]
    own = np.mean([np.sum((q @ e - p @ f) ** 2) for e in signs for f in signs])
    shared = np.mean([np.sum((q @ e - p @ e) ** 2) for e in signs])
    assert shared > own
    return {"independent": own, "shared": shared, "reduction": own - shared}
