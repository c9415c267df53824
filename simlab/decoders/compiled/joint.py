"""Joint verification of a chain compiled: :mod:`simlab.decoders.joint`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from simlab.decoders.compiled.speculative import Chains
from simlab.randomness.inverse_cdf_compiled import inverse_cdf


@njit(inline="always")
def step_back(
    coin: Callable[[float, np.ndarray, np.ndarray], float], chains: Chains, scale: np.ndarray, whole: np.ndarray
) -> np.ndarray:
    """Commit all drafts of each chain, or else the longest prefix whose own coin comes up; returns how many ``[B]``.

    ``coin(s_k, p_k, q_k)`` is how likely that of a prefix comes up, given its ``scale[B, gamma]``; that of all drafts
    does with probability ``whole[B]``.
    """
    p, q, tokens, length, coins, noise, end = chains
    counts = np.empty(len(p), np.int64)
    for b in range(len(p)):
        count = longest_prefix(coin, scale[b], whole[b], p[b], q[b], coins[b])
        tokens[b, length[b] + count] = after_prefix(scale[b], p[b], q[b], count, noise[b, count])
        length[b] = min(length[b] + count + 1, end)
        counts[b] = count
    return counts


@njit(inline="always")
def longest_prefix(
    coin: Callable[[float, np.ndarray, np.ndarray], float],
    scale: np.ndarray,
    whole: float,
    p: np.ndarray,
    q: np.ndarray,
    coins: np.ndarray,
) -> int:
    """How many drafts of one chain are accepted."""
    gamma = len(q)
    count = gamma if coins[gamma - 1] < whole else gamma - 1
    while 0 < count < gamma and not coins[count - 1] < coin(scale[count], p[count], q[count]):
        count -= 1
    return count


@njit(nogil=True, cache=True)
def after_prefix(scale: np.ndarray, p: np.ndarray, q: np.ndarray, count: int, uniform: float) -> int:
    """The token after ``count`` accepted drafts: from [s_k p_k - q_k]+, or else from p."""
    if count < len(q):
        excess = np.maximum(scale[count] * p[count].astype(np.float64) - q[count], 0.0)
        if np.any(excess > 0):
            return inverse_cdf(excess, uniform)
    return inverse_cdf(p[count], uniform)
