"""Counts for tests of statistics: all that there are, drawn ones, and whether a number of alarms fits a rate."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

ALARM = 2e-9  # a tail; fewer than 200 of them are looked at in one file
SEED = 1


def all_counts(n: int, outcomes: int) -> np.ndarray:
    """``[..., outcomes]``: every way in which n observations fall."""
    grid = np.indices((n + 1,) * (outcomes - 1)).reshape(outcomes - 1, -1).T
    grid = grid[grid.sum(axis=1) <= n]
    return np.c_[grid, n - grid.sum(axis=1)]


def consistent(alarms: int, tries: int, least: float, most: float) -> bool:
    """Whether so many alarms can come from some rate from ``least`` to ``most``."""
    return bool(binom.cdf(alarms, tries, least) > ALARM and binom.sf(alarms - 1, tries, most) > ALARM)


def generator(number: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[SEED, number]))
