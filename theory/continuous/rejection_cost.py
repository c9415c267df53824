"""The number of proposals a residual draw takes, with acceptance probability Z and a limit. CSpD, A.3."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

LEAST = 1e-13  # of a draft's mass: what is lost to rounding is not a rejection


class Cost(NamedTuple):
    """The cost of a rejected token."""

    trials: np.ndarray  # proposals in the mean, float64[M]
    unfinished: np.ndarray  # the probability that they run out, float64[M]


def bounded(taken: np.ndarray, limit: float = inf) -> Cost:
    """The cost of a rejected token where each proposal is taken with probability Z = ``taken[M]``.

    With at most n = ``limit`` proposals it is (1 - (1 - Z)^n) / Z and (1 - Z)^n, without a limit 1 / Z and 0. Where Z
    is 0, n proposals that surely run out.
    """
    some = taken > 0
    z = np.where(some, np.minimum(taken, 1.0), 1.0)
    with np.errstate(divide="ignore"):
        log_out = limit * np.log1p(-z)
    return Cost(np.where(some, -np.expm1(log_out) / z, limit), np.where(some, np.exp(log_out), 1.0))
