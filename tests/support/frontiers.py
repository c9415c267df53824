"""The frontier of one context, by partial transport, and what is below that of many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from simlab.checks import as_pair
from theory.distances import pot


def nearest_frontier(p: Any, q: Any, accepted: float, metric: Any) -> float:
    """The least Wasserstein-1 at which a rule with one candidate can accept ``accepted``.

    A rule keeps masses k <= q of total ``accepted`` and emits k and something else. Whatever it emits, moving p to it
    moves ``accepted`` of p's mass onto k; and mass that is not needed there may stay where it is. So the least is a
    *partial* transport of that much mass from p to q, and a rule that emits its plan, the rest of p unmoved, reaches
    it. ``metric`` are distances ``float[V, V]``, which obey the triangle inequality: without it a detour could be
    cheaper.
    """
    p, q = (np.asarray(row, dtype=np.float64) for row in as_pair(p, q))
    both = np.minimum(p, q)
    moved = float(accepted) - both.sum()
    if moved <= 1e-12:
        return 0.0
    # nothing that can stay moves: only what p has too much of, and q too; their sums may differ by rounding
    over, under = p - both, q - both
    cost = np.asarray(metric, dtype=np.float64)
    return float(pot().partial.partial_wasserstein2(over, under, cost, m=min(moved, over.sum(), under.sum())))


def below(points: pd.DataFrame, bound: pd.DataFrame) -> pd.Series:
    """Which points spend less than the least there is for their gain; a chord of a convex curve lies above it."""
    gained = points["acceptance"] - points["lossless"]
    step = bound["gained"].iloc[1]
    surely = np.interp(gained - step, bound["gained"], bound["wasserstein"])  # what an earlier gain costs
    return (gained > step) & (points["wasserstein"] < surely)
