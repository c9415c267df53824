"""Hierarchical speculative decoding compiled: :mod:`simlab.decoders.hierarchical`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays_compiled import total
from simlab.decoders.compiled.speculative import SpeculativeKernel
from simlab.decoders.hierarchical import LAST, SCALED, Hierarchical
from simlab.randomness.inverse_cdf_compiled import inverse_cdf


class HierarchicalKernel(SpeculativeKernel, of=(Hierarchical,)):
    """As :class:`SpeculativeKernel`, with drafts verified from the last one back."""

    def verify(
        self,
        p: np.ndarray,
        q: np.ndarray,
        tokens: np.ndarray,
        length: np.ndarray,
        coins: np.ndarray,
        noise: np.ndarray,
    ) -> np.ndarray:
        ratios, highest = _prefix_ratios(p, q, tokens, length)
        scaled = SCALED[self.decoder.prefix](ratios[:, :-1], highest)
        whole = LAST[self.decoder.final](ratios[:, -1], highest[:, -1])
        return _step_back(p, q, scaled, whole, tokens, length, coins, noise, self.end)


@njit(nogil=True, cache=True)
def _prefix_ratios(
    p: np.ndarray, q: np.ndarray, tokens: np.ndarray, length: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """r_0 to r_gamma and M_0 to M_{gamma-1} of each sequence."""
    gamma = q.shape[1]
    ratios, highest = np.ones((len(p), gamma + 1)), np.ones((len(p), gamma))
    for b in range(len(p)):
        for k in range(gamma):
            x = tokens[b, length[b] + k]
            ratios[b, k + 1] = ratios[b, k] * np.float64(p[b, k, x]) / np.float64(q[b, k, x])
            if k + 1 < gamma:
                highest[b, k + 1] = max(highest[b, k], ratios[b, k + 1])
    return ratios, highest


@njit(nogil=True, cache=True)
def _step_back(
    p: np.ndarray,
    q: np.ndarray,
    scaled: np.ndarray,
    whole: np.ndarray,
    tokens: np.ndarray,
    length: np.ndarray,
    coins: np.ndarray,
    noise: np.ndarray,
    end: int,
) -> np.ndarray:
    """All drafts of each block, or else the longest prefix whose own coin comes up, and the token after it."""
    gamma = q.shape[1]
    counts = np.empty(len(p), np.int64)
    for b in range(len(p)):
        count = gamma if coins[b, gamma - 1] < whole[b] else gamma - 1
        while 0 < count < gamma and not coins[b, count - 1] < _stop(scaled[b, count], p[b, count], q[b, count]):
            count -= 1
        tokens[b, length[b] + count] = _after(scaled[b], p[b], q[b], count, noise[b, count])
        length[b] = min(length[b] + count + 1, end)
        counts[b] = count
    return counts


@njit(nogil=True, cache=True)
def _stop(scaled: float, p: np.ndarray, q: np.ndarray) -> float:
    """The probability of stopping after a prefix, sum_v p'_k(v)."""
    difference = scaled * p.astype(np.float64) - q
    stays, lacks = total(np.maximum(difference, 0.0)), total(np.maximum(-difference, 0.0))
    most = max(stays, lacks)
    return stays / most if most > 0 else 1.0


@njit(nogil=True, cache=True)
def _after(scaled: np.ndarray, p: np.ndarray, q: np.ndarray, count: int, uniform: float) -> int:
    """The token after ``count`` accepted drafts."""
    if count < len(q):
        excess = np.maximum(scaled[count] * p[count].astype(np.float64) - q[count], 0.0)
        if np.any(excess > 0):
            return inverse_cdf(excess, uniform)
    return inverse_cdf(p[count], uniform)
