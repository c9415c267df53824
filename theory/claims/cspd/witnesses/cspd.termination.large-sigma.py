"""By a sum over a fine grid of tokens."""

import numpy as np

TOLERANCE = 1e-6


def recompute(examples):
    (entry,) = examples
    x = np.linspace(-40, 40, 800_001)
    p, q = (np.exp(-0.5 * (x - mean) ** 2) / np.sqrt(2 * np.pi) for mean in (entry["gap"], 0))
    taken = np.maximum(p - q / entry["sigma"], 0).sum() * (x[1] - x[0])
    bound = entry["sigma"] / (entry["sigma"] - 1)
    assert 1 / taken <= bound
    return [{"proposals": 1 / taken, "at_most": bound}]
