"""Rows with every other token raised, in floating point; TV as the largest difference in probability of a set of
tokens.
"""

import numpy as np


def recompute(examples):
    (entry,) = examples
    found = []
    for size in entry["tokens"]:
        p, q = np.full(size, 1 / size), np.full(size, 1 / size)
        even = size - size % 2
        p[0:even:2] += entry["e"] / 2
        p[1:even:2] -= entry["e"] / 2
        q[0:even:2] -= entry["e"] / 2
        q[1:even:2] += entry["e"] / 2
        assert min(p.min(), q.min()) > -1e-12
        assert abs(abs(p - q).max() - entry["e"]) < 1e-12
        found.append(p[0:even:2].sum() - q[0:even:2].sum())
    return [{"tv": found}]
