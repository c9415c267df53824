"""The window of each rank is written out, in floating point: one rank on either side, or the rank and the one below it,
cut at the ends of the list, less what the two thresholds exclude.
"""

import numpy as np


def recompute(examples):
    return [accepts_less(entry) for entry in examples]


def accepts_less(entry):
    p, q, distances = (np.array(entry[name]) for name in ("p", "q", "distances"))
    half = entry["size"] // 2
    end = half + (entry["window"] == "centred")
    assert sorted(p) == list(p), "tokens are numbered by rank"
    accepted = np.zeros(len(p))
    for rank in range(len(p)):
        window = [
            y
            for y in range(max(0, rank - half), min(len(p), rank + end))
            if abs(p[y] - p[rank]) <= entry["max_gap"] and distances[rank, y] <= entry["max_distance"]
        ]
        drafted = q[window].sum() if window else 0.0
        accepted[rank] = q[rank] * min(1.0, p[window].sum() / drafted) if drafted > 0 else 0.0
    missing = np.maximum(p - q, 0)
    missing = missing / missing.sum() if missing.sum() > 0 else p
    law = accepted + (1 - accepted.sum()) * missing
    lossless = 1 - abs(p - q).sum() / 2
    assert accepted.sum() < lossless - 1e-6
    return {
        "acceptance": accepted.sum(),
        "acceptance_speculative": lossless,
        "law": law.tolist(),
        "tv": abs(law - p).sum() / 2,
    }
