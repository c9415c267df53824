"""By drawing the two tokens, a million pairs: the first as the target ends it, the second given the draft's end."""

import numpy as np

TOLERANCE = {"covariance_target": 1e-2, "covariance_emitted": 1e-2, "kl_target_emitted": 2e-2}


def recompute(examples):
    (entry,) = examples
    state, noise = np.random.default_rng(4).normal(size=(2, 1_000_000))
    found = []
    for looked_at in (state, entry["slope"] * state):
        found.append(np.cov(state, noise + entry["carry"] * looked_at))
    ratio = np.linalg.solve(found[1], found[0])
    divergence = 0.5 * (np.trace(ratio) - 2 - np.log(np.linalg.det(ratio)))
    return [
        {
            "covariance_target": found[0].tolist(),
            "covariance_emitted": found[1].tolist(),
            "kl_target_emitted": divergence,
        }
    ]
