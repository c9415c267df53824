"""Noise of two values, +1 and -1, has the moments that count, so the mean square distance is a sum over signs; the
trace of the root of the product is the sum of the roots of its eigenvalues.
"""

from itertools import product

import numpy as np


def recompute(examples):
    (entry,) = examples
    p, q = (np.array(entry[name]) for name in ("root_p", "root_q"))
    signs = [np.array(e) for e in product((-1, 1), repeat=2)]
    own = np.mean([np.sum((q @ e - p @ f) ** 2) for e in signs for f in signs])
    shared = np.mean([np.sum((q @ e - p @ e) ** 2) for e in signs])
    printed = 2 * np.sqrt(np.linalg.eigvals(q @ q @ p @ p)).sum()
    assert np.allclose([p, q], [p.T, q.T])
    assert min(*np.linalg.eigvalsh(p), *np.linalg.eigvalsh(q)) > 0
    assert own - shared < printed - 1
    return [{"Sp": (p @ p).tolist(), "Sq": (q @ q).tolist(), "reduction": own - shared, "printed": printed}]
