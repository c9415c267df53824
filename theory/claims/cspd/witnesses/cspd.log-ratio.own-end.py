"""Trajectories (x_1, x_0) are normal vectors: the divergence and the entropies from their covariance matrices, and the
mean of log p(Yp) - log p(Yq) from traces, each trajectory with an x_0 of its own.
"""

import numpy as np


def recompute(examples):
    (entry,) = examples
    a = entry["last_slope"]
    made = [np.array([[sd, 0], [a * sd, 1]]) for sd in (entry["sd_p"], entry["sd_q"])]
    s, r = (m @ m.T for m in made)
    inverse = np.linalg.inv(s)
    delta = (np.trace(inverse @ r) - np.trace(inverse @ s)) / 2
    entropies = np.log(np.linalg.det(r) / np.linalg.det(s)) / 2
    divergence = (np.trace(inverse @ r) - 2) / 2 - entropies
    assert abs(delta - divergence - entropies) < 1e-12
    return [{"delta": delta, "divergence": divergence, "entropies": entropies}]
