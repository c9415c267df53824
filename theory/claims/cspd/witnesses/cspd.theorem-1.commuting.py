"""Noise of two values, +1 and -1, has the moments that count, so the mean square distance is a sum over signs. The
symmetric roots are those of NumPy's eigenvectors.
"""

from itertools import product

import numpy as np


def root(matrix):
    sizes, turns = np.linalg.eigh(np.array(matrix, float))
    return turns * np.sqrt(sizes) @ turns.T


def recompute(examples):
    found = []
    for entry in examples:
        p, q = root(entry["Sp"]), root(entry["Sq"])
        signs = [np.array(e) for e in product((-1, 1), repeat=len(p))]
        own = np.mean([np.sum((q @ e - p @ f) ** 2) for e in signs for f in signs])
        shared = np.mean([np.sum((q @ e - p @ e) ** 2) for e in signs])
        sizes = np.linalg.eigvals(np.array(entry["Sq"]) @ np.array(entry["Sp"]))
        assert abs(own - shared - 2 * np.sqrt(sizes).sum()) < 1e-9  # 2 tr sqrt(Sq Sp), from eigenvalues
        found.append({"reduction": own - shared})
    return found
