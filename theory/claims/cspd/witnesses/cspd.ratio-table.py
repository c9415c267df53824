"""With independent noise 5000 pairs of trajectories are walked, and their densities added up step by step. The path
ratio accepts the overlap of T normals; with shared noise the gap is walked, and the overlap is that of the last step.
In the second example it is that of x_1 for paths, as the last steps are alike.
"""

from math import erfc, sqrt

import numpy as np


def overlap(gap, sd=1.0):
    return erfc(gap / sd / 2 / sqrt(2))


def recompute(examples):
    entry, other = examples
    steps, d, a, g = (entry[name] for name in ("steps", "d", "slope", "gap"))
    random, tokens = np.random.default_rng(2), 5_000
    x = np.zeros((tokens, d), np.float32)  # the target's state minus the draft's; x_T is shared
    log_ratio = np.zeros(tokens)
    towards, apart = np.eye(1, d, dtype=np.float32) * g, 0.0
    for _ in range(steps - 1):
        e, f = random.standard_normal((2, tokens, d), dtype=np.float32)  # the draft's, the target's
        log_ratio += ((e**2).sum(axis=1) - (f**2).sum(axis=1)) / 2
        x = a * x + towards + f - e
        apart = a * apart + g
    gap = a * x + towards
    z = random.standard_normal((tokens, d))  # of the draft in the last step
    log_ratio += ((z**2).sum(axis=1) - ((z - gap) ** 2).sum(axis=1)) / 2
    own = np.exp(np.minimum(0, log_ratio)).mean()
    path, aligned = overlap(sqrt(steps) * g), overlap(a * apart + g)
    assert path < own < aligned
    found = {"path": overlap(other["gap"]), "aligned": overlap(other["gap"], other["last_sd"])}
    assert found["path"] > 1e5 * found["aligned"]
    return [{"path": path, "own": own, "aligned": aligned}, found]


TOLERANCE = {"own": 0.03}
