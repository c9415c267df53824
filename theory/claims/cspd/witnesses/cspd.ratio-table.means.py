"""The tail of the largest of 10 000 draws from the error function; and 10 000 draws, whose average is that small."""

from math import erfc, log, sqrt

import numpy as np


def recompute(examples):
    (entry,) = examples
    apart = entry["apart"]
    beyond = (log(entry["printed"]) + apart**2 / 2) / apart
    draws = np.exp(np.random.default_rng(0).normal(-(apart**2) / 2, apart, entry["count"]))
    assert draws.mean() < entry["printed"]
    return [{"printed": 5.33e-23, "chance": 1 - entry["count"] * erfc(beyond / sqrt(2)) / 2}]
