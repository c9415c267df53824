"""With independent noise the ratio is drawn 200 000 times: the chi-squares of the noise, the gap and the last step.
With shared noise the overlap of two normals is taken from the error function, or drawn likewise where the gap varies.
"""

from math import erfc, sqrt

import numpy as np


def recompute(examples):
    random = np.random.default_rng(1)
    z = random.standard_normal(200_000)

    def accepted(weight, gap):
        """The mean of min(1, rho) for log rho = weight + the log ratio of two unit normals ``gap`` apart."""
        return np.exp(np.minimum(0, weight - gap**2 / 2 + gap * z)).mean()

    def weights(n):
        """Half the difference of two chi-squares."""
        return random.gamma(n / 2, size=z.size) - random.gamma(n / 2, size=z.size) if n else 0

    found = []
    for entry in examples:
        if "gap" in entry:
            gap = entry["gap"]
            shared, own = erfc(gap / 2 / sqrt(2)), accepted(weights(entry["n"]), gap)
            distances = {"distances": [gap**2, gap**2 + 2 * 16]} if "distances" in entry else {}  # d = 16
        else:
            d, (a, b), distances = entry["d"], entry["slopes"], {}
            e, f = random.standard_normal((2, z.size, d), dtype=np.float32)
            shared = accepted(0, np.linalg.norm((a - b) * e, axis=1))
            weight = weights(entry["n"] - d) + ((e**2).sum(axis=1) - (f**2).sum(axis=1)) / 2  # e is the draft's
            own = accepted(weight, np.linalg.norm(a * f - b * e, axis=1))
        assert shared < own - 0.005
        found.append({"shared": shared, "independent": own} | distances)
    return found


TOLERANCE = 6e-3
