"""The two trajectories differ in x_1 alone, by (1 - 0.9) e: E|e| by Simpson's rule on a grid, E e^2 likewise."""

import numpy as np


def recompute(examples):
    (entry,) = examples
    e = np.linspace(0, 12, 24_001)  # e and -e count alike
    weight = np.where(np.arange(len(e)) % 2, 4, 2) * (e[1] / 3) * 2 * np.exp(-e * e / 2) / np.sqrt(2 * np.pi)
    weight[0] /= 2
    gap = abs(entry["sd_p"] - entry["sd_q"]) * e
    left, right = weight @ gap, np.sqrt(weight @ gap**2)
    assert left <= right
    return [{"left": left, "right": right}]
