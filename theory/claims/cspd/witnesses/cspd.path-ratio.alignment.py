"""The ratio of the last step is averaged by Gauss and Hermite's nodes over the shared e_2 and the draft's e_1. With
independent noise the mean over |e_2| <= r of the draft grows like r, which shows at r = 4, 8, 16.
"""

import numpy as np


def recompute(examples):
    (entry,) = examples
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / np.sqrt(2 * np.pi)
    sp, sq = entry["sd_p"][1], entry["sd_q"][1]
    gap = (sq - sp) * nodes[:, None]
    mean = sq / sp * (weights @ np.exp(nodes**2 / 2 - (gap + nodes) ** 2 / 2) @ weights)
    # without shared noise, given both e_2, the last step has mean 1: left are the densities of the two e_2
    within = [2 * r / np.sqrt(2 * np.pi) * sq / sp * (weights @ np.exp(-(nodes**2) / 2)) for r in (4, 8, 16)]
    assert within[1] > 1.9 * within[0]
    assert within[2] > 1.9 * within[1]
    return [{"bias_aligned": mean - 1}]


TOLERANCE = 1e-5
