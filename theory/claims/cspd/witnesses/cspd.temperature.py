"""By walking one pair of trajectories on shared noise at each temperature: the gap of the last means is what comes
out, and two normal laws of one deviation overlap by erfc of it.
"""

import random
from math import erfc, sqrt


def recompute(examples):
    (entry,) = examples
    found = []
    for tau in entry["temperature"]:
        coin = random.Random(5)
        p = q = coin.gauss(0, 1)
        for _ in range(entry["steps"] - 1):
            noise = tau * entry["sd"] * coin.gauss(0, 1)
            p, q = entry["slope"] * p + noise, entry["slope"] * q + entry["gap"] + noise
        gap = abs(entry["slope"] * (q - p) + entry["gap"])
        found.append(erfc(gap / (tau * entry["sd"]) / sqrt(8)))
    assert found == sorted(found)
    return [{"acceptance": found}]
