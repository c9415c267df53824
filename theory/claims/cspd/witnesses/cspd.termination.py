"""By running the loop: both last steps are N(0, 1), drafts and proposals are drawn, and a thousand proposals each are
counted for those that were rejected.
"""

import random
from math import exp, pi, sqrt

TOLERANCE = {"acceptance": 0.01, "never_ends": 0.01}


def density(x):
    return exp(-x * x / 2) / sqrt(2 * pi)


def recompute(examples):
    (entry,) = examples
    coin, count, rejected, ended = random.Random(3), 100_000, 0, 0
    for _ in range(count):
        x = coin.gauss(0, 1)
        rejected += coin.random() >= min(1, entry["sigma"] * density(x) / density(x))
    for _ in range(1000):
        y = coin.gauss(0, 1)
        threshold = max(0, entry["sigma"] * density(y) - density(y)) / (entry["sigma"] * density(y))
        ended += threshold > 0
    assert ended == 0
    share = rejected / count
    return [{"acceptance": 1 - share, "taken": ended / 1000, "never_ends": share}]
