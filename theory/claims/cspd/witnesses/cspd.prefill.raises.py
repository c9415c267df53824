"""The three kernels by hand: with levels 0.9, 0.5, 0.1 of the schedule a difference of conditions reaches the last mean
through two posteriors; acceptance from the error function, means by adding up. In the second example acceptance at
the second token is an integral over the first, on a grid; Table 5 is typed from the paper.
"""

from math import erfc, sqrt

import numpy as np
from scipy.special import ndtr

TOLERANCE = 1e-7


def recompute(examples):
    entry, parted, _, _ = examples
    rates = [erfc(entry["reach"] * entry["gap"] * entry["memory"] ** n / 2 / sqrt(2)) for n in range(entry["length"])]
    # p(x_0 | x_1, c) of data N(c, 1) at level 0.9: x_1 = sqrt(0.9) x_0 + noise of variance 0.1; posterior variance 0.1.
    # With equal data variance every forward marginal is N(sqrt(level) c, 1), and a shift of c by 1 shifts x_t by
    # sqrt(level) of it on shared noise, so that the posterior mean moves by the whole of it.
    reach = 1 / sqrt(0.1)
    means = [sum(rates[k:]) / len(rates[k:]) for k in (0, 3, 10)]
    assert means[0] < means[1] < means[2]
    x = np.linspace(-10, 10, 400_001)
    weight = np.exp(-x * x / 2)
    apart = abs(parted["carry"] - parted["draft_carry"])
    second = float((weight * 2 * ndtr(-abs(apart * x) / 2)).sum() / weight.sum())
    assert second < 1  # so the mean falls once the first token, always accepted, is pre-filled
    return [
        {"reach": reach, "rates": rates[:12], "means": means},
        {"rates": [1.0, second], "mean": (1 + second) / 2, "mean_prefilled": second},
        {"rates": [float(2 * ndtr(-0.5))] * 4},
        {"alpha": ["0.33", "0.31", "0.34"]},
    ]
