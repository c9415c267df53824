"""Acceptance at the second token by an integral over the first, on a grid; Table 5 is typed from the paper."""

import numpy as np
from scipy.special import ndtr

TOLERANCE = 1e-7


def recompute(examples):
    parted = examples[0]
    x = np.linspace(-10, 10, 400_001)
    weight = np.exp(-x * x / 2)
    apart = abs(parted["carry"] - parted["draft_carry"])
    second = float((weight * 2 * ndtr(-abs(apart * x) / 2)).sum() / weight.sum())
    assert second < 1  # so the mean falls once the first token, always accepted, is pre-filled
    return [
        {"rates": [1.0, second], "mean": (1 + second) / 2, "mean_prefilled": second},
        {"rates": [float(2 * ndtr(-0.5))] * 4},
        {"alpha": ["0.33", "0.31", "0.34"]},
    ]
