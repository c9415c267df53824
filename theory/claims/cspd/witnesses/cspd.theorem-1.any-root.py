"""Noise of two values, +1 and -1, has the moments that count: mean square distances as sums over signs."""

from itertools import product

import numpy as np


def recompute(examples):
    (entry,) = examples
    p, q = (np.array(entry[name]) for name in ("Lp", "Lq"))
    signs = [np.array(e) for e in product((-1, 1), repeat=2)]
    own = np.mean([np.sum((q @ e - p @ f) ** 2) for e in signs for f in signs])
    shared = np.mean([np.sum((q @ e - p @ e) ** 2) for e in signs])
    assert np.allclose(np.linalg.cholesky(p @ p.T), p)
    assert np.allclose(np.linalg.cholesky(q @ q.T), q)
    assert shared > own
    return [{"independent": own, "shared": shared, "reduction": own - shared}]
