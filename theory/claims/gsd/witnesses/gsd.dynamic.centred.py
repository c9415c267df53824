"""The window of each rank is written out, in floating point: one rank on either side, or the rank and the one below it,
cut at the ends of the list, less what the two thresholds exclude; or the slice as Python takes it, with no threshold.
Then the places that are not in their own slice are counted, by the members of the slice in arithmetic.
"""

import numpy as np


def recompute(examples):
    return [accepts_less(entry) | (absent() if entry["window"] == "printed" else {}) for entry in examples]


def absent():
    """The places that are not in their own slice of V tokens, for V and G up to 12."""
    cases = [(v, g, i) for v in range(2, 13) for g in range(1, 13) for i in range(v)]
    missing = [(v, g, i) for v, g, i in cases if not start(v, g, i) <= i < i + g // 2]
    assert (2, 3, 0) in missing
    return {"missing": len(missing), "cases": len(cases)}


def start(v, g, i):
    """Where the slice of place i starts: a negative place counts from the end, and not beyond the first."""
    return i - g // 2 if i >= g // 2 else max(0, v + i - g // 2)


def window_of(rank, entry):
    """The ranks of a window, before the thresholds."""
    half, size = entry["size"] // 2, len(entry["p"])
    if entry["window"] == "printed":
        return range(start(size, entry["size"], rank), min(size, rank + half))
    return range(max(0, rank - half), min(size, rank + half + (entry["window"] == "centred")))


def accepts_less(entry):
    p, q = (np.array(entry[name]) for name in ("p", "q"))
    assert sorted(p) == list(p), "tokens are numbered by rank"
    accepted = np.zeros(len(p))
    for rank in range(len(p)):
        window = [y for y in window_of(rank, entry) if entry["max_gap"] is None or near(entry, rank, y)]
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


def near(entry, rank, y):
    """Whether a rank of the window is within both thresholds."""
    p, distances = entry["p"], entry["distances"]
    return abs(p[y] - p[rank]) <= entry["max_gap"] and distances[rank][y] <= entry["max_distance"]
