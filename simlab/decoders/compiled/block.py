"""Block verification compiled: :mod:`simlab.decoders.block`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays_compiled import total
from simlab.decoders.block import Block
from simlab.decoders.compiled.speculative import SpeculativeKernel
from simlab.randomness.inverse_cdf_compiled import inverse_cdf


class BlockKernel(SpeculativeKernel, of=(Block,)):
    """As :class:`SpeculativeKernel`, with joint verification of the block."""

    def verify(
        self,
        p: np.ndarray,
        q: np.ndarray,
        tokens: np.ndarray,
        length: np.ndarray,
        coins: np.ndarray,
        noise: np.ndarray,
    ) -> np.ndarray:
        return _verify_blocks(p, q, tokens, length, coins, noise, self.end)


@njit(nogil=True, cache=True)
def _verify_blocks(
    p: np.ndarray,
    q: np.ndarray,
    tokens: np.ndarray,
    length: np.ndarray,
    coins: np.ndarray,
    noise: np.ndarray,
    end: int,
) -> np.ndarray:
    """Sun et al., Algorithm 2: the longest prefix of each block whose own coin comes up, and the token after it."""
    gamma = q.shape[1]
    counts = np.empty(len(p), np.int64)
    for b in range(len(p)):
        first, w, weight, count = length[b], 1.0, 1.0, 0
        for i in range(1, gamma + 1):
            x = tokens[b, first + i - 1]
            w = min(1.0, w * (np.float64(p[b, i - 1, x]) / np.float64(q[b, i - 1, x])))
            probability = w
            if i < gamma:
                s = total(_excess(w, p[b, i], q[b, i]))
                probability = s / (s + 1.0 - w) if s + 1.0 - w > 0 else 1.0
            if coins[b, i - 1] < probability:
                count, weight = i, w
        tokens[b, first + count] = _after(p[b], q[b], count, gamma, weight, noise[b, count])
        length[b] = min(first + count + 1, end)
        counts[b] = count
    return counts


@njit(nogil=True, cache=True)
def _after(p: np.ndarray, q: np.ndarray, count: int, gamma: int, weight: float, uniform: float) -> int:
    """The token after ``count`` accepted drafts, the last of which has the weight ``weight``."""
    if count < gamma:
        excess = _excess(weight, p[count], q[count])
        if np.any(excess > 0):
            return inverse_cdf(excess, uniform)
    return inverse_cdf(p[count], uniform)


@njit(nogil=True, cache=True)
def _excess(w: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """[w p - q]^+, not scaled."""
    return np.maximum(w * p.astype(np.float64) - q, 0.0)
