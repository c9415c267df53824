"""The largest value of Z (1 - Z)^n by trying a million values of Z."""

import numpy as np


def recompute(examples):
    (entry,) = examples
    z = np.linspace(0, 1, 1_000_001)
    found = [(z * (1 - z) ** n).max() for n in entry["proposals"]]
    assert all(m <= 1 / (np.e * n) for m, n in zip(found, entry["proposals"]))
    return [{"unfinished_at_most": found}]
