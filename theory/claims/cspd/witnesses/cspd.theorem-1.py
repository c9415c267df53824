"""Noise of two values, +1 and -1, has the moments that count, so the mean square distance is a sum over signs. The
symmetric roots are those of NumPy's eigenvectors. Along trajectories x_1 = e_2 and x_0 = slope x_1 + e_1.
"""

from itertools import product
from statistics import fmean

import numpy as np


def root(matrix):
    sizes, turns = np.linalg.eigh(np.array(matrix, float))
    return turns * np.sqrt(sizes) @ turns.T


def lowered_in_a_step(entry):
    """What sharing the noise takes off, and 2 tr sqrt(Sq Sp) from eigenvalues."""
    p, q = root(entry["Sp"]), root(entry["Sq"])
    signs = [np.array(e) for e in product((-1, 1), repeat=len(p))]
    own = np.mean([np.sum((q @ e - p @ f) ** 2) for e in signs for f in signs])
    shared = np.mean([np.sum((q @ e - p @ e) ** 2) for e in signs])
    return own - shared, 2 * np.sqrt(np.linalg.eigvals(np.array(entry["Sq"]) @ np.array(entry["Sp"]))).sum()


def lowered_in_two(a, b):
    own = fmean((a * e2 + e1 - b * f2 - f1) ** 2 for e2, e1, f2, f1 in product((-1, 1), repeat=4))
    return own - fmean((a * e2 + e1 - b * e2 - e1) ** 2 for e2, e1 in product((-1, 1), repeat=2))


def recompute(examples):
    commuting, other, path = examples
    found, printed = lowered_in_a_step(commuting)
    assert abs(found - printed) < 1e-9
    less, too_much = lowered_in_a_step(other)
    assert less < too_much - 1
    opposite, same, said = lowered_in_two(path["slope_p"], path["slope_q"]), lowered_in_two(1, 1), 2 * path["variance"]
    assert opposite < 0 < said < same
    return [
        {"reduction": found},
        {"reduction": less, "printed": too_much},
        {"reduction": opposite, "printed": said, "same_slopes": same},
    ]
