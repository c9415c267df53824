"""What is emitted, and how many proposals it takes, where proposals are drawn until one is taken or a limit is reached.

A draft is accepted with alpha = int min(q, rho q), a proposal taken with Z = int p max(0, 1 - 1 / rho). CSpD, A.3.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from simlab.continuous.rules.base import log_acceptance, proposal_acceptance

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


def of_a_token(acceptance: np.ndarray, taken: np.ndarray, limit: float = inf) -> Cost:
    """The cost of a token whose draft is accepted with probability alpha ``[M]``: that of its rejection, if any."""
    lost = np.where(1 - acceptance > LEAST, 1 - acceptance, 0)
    cost = bounded(taken, limit)
    return Cost(lost * np.where(lost > 0, cost.trials, 0), lost * cost.unfinished)


class Emitted(NamedTuple):
    """What is emitted with any number of proposals, at N places."""

    mass: np.ndarray  # min(q, rho q) + (1 - alpha) p max(0, 1 - 1 / rho) / Z; the first alone where Z is 0
    acceptance: float  # alpha


def emitted_mass(p: np.ndarray, q: np.ndarray, log_ratio: np.ndarray) -> Emitted:
    """What is emitted where proposals have the masses ``p[N]`` and drafts ``q[N]``, by log rho ``[N]``."""
    accepted, taken = q * np.exp(log_acceptance(log_ratio)), p * proposal_acceptance(log_ratio)
    alpha, z = float(accepted.sum()), float(taken.sum())
    return Emitted(accepted + ((1 - alpha) / z * taken if z > LEAST else 0), alpha)
