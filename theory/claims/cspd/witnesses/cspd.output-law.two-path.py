"""By drawing: both models are x_1 = e_1, x_0 = e_0, so the ratio is exp of half the difference of two squared noises,
x_2 and x_1 of each, whatever x_0 is. What is accepted or not is then a sum over a million draws.
"""

import numpy as np

TOLERANCE = 2e-3


def recompute(examples):
    (entry,) = examples
    random = np.random.default_rng(1)
    p, q = (random.normal(scale=entry["sd"], size=(2_000_000, entry["steps"])) for _ in "pq")
    ratio = np.exp(0.5 * ((q**2).sum(axis=1) - (p**2).sum(axis=1)))
    threshold = np.maximum(0, 1 - 1 / ratio)  # of a proposal, at every x_0
    never = (np.maximum(0, 1 - ratio) * (threshold == 0)).mean()
    assert never > 0.2
    return [{"never_made": never, "tv": never}]  # what is made follows the target, since the ratio knows no x_0
