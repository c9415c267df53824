"""By walking one pair of guided trajectories on shared noise at each scale: the gap of the last means is what comes
out, and two normal laws of one deviation overlap by erfc of it.
"""

import random
from math import erfc, sqrt


def recompute(examples):
    (entry,) = examples
    slope, found = entry["slope"], []
    for w in entry["scale"]:
        coin = random.Random(6)
        p = q = coin.gauss(0, 1)
        pull = 0.2  # of the condition on the target's mean
        for step in range(entry["steps"]):
            means = []
            for x, more, free in ((p, entry["conditional"], entry["unconditional"]), (q, 0.0, 0.0)):
                given, alone = slope * x + pull + more, slope * x + free
                means.append(alone + w * (given - alone))
            noise = entry["sd"] * coin.gauss(0, 1) if step < entry["steps"] - 1 else 0.0
            p, q = (mean + noise for mean in means)
        found.append(erfc(abs(p - q) / entry["sd"] / sqrt(8)))
    assert found == sorted(found, reverse=True)
    return [{"acceptance": found}]
