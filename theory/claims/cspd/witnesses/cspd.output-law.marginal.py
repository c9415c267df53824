"""The marginals by adding up means and variances step by step; what is accepted is the sum of the smaller density."""

import numpy as np

TOLERANCE = 1e-6


def recompute(examples):
    (entry,) = examples
    x, laws = np.linspace(-12, 12, 400_001), []
    for sd, gap in ((entry["sd_target"], 0.0), (entry["sd_draft"], entry["gap"])):
        mean, variance = 0.0, 1.0
        for _ in range(entry["steps"]):
            mean, variance = entry["slope"] * mean + gap, entry["slope"] ** 2 * variance + sd**2
        laws.append(np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance))
    return [{"acceptance": np.minimum(*laws).sum() * (x[1] - x[0])}]
