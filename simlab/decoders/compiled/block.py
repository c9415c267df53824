"""Block verification compiled: :mod:`simlab.decoders.block`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays_compiled import total
from simlab.decoders.block import Block
from simlab.decoders.compiled.joint import step_back
from simlab.decoders.compiled.speculative import Chains, SpeculativeKernel


class BlockKernel(SpeculativeKernel, of=(Block,)):
    """As :class:`SpeculativeKernel`, with joint verification of the block."""

    def verify(self, chains: Chains) -> np.ndarray:
        return _verify_blocks(chains)


@njit(nogil=True, cache=True)
def _verify_blocks(chains: Chains) -> np.ndarray:
    p, q, tokens, length = chains.p, chains.q, chains.tokens, chains.length
    gamma = q.shape[1]
    w = np.empty((len(p), gamma + 1))  # w_0 to w_gamma of each sequence
    for b in range(len(p)):
        w[b] = weights(p[b], q[b], tokens[b, length[b] : length[b] + gamma])
    return step_back(coin, chains, w, w[:, gamma].copy())


@njit(nogil=True, cache=True)
def weights(p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """w_0 to w_gamma of the drafts ``x[gamma]``."""
    w = np.ones(len(x) + 1)
    for i in range(len(x)):
        w[i + 1] = min(1.0, w[i] * (np.float64(p[i, x[i]]) / np.float64(q[i, x[i]])))
    return w


@njit(nogil=True, cache=True)
def coin(w: float, p: np.ndarray, q: np.ndarray) -> float:
    """h_i = s/(s + 1 - w), s being the mass of [w p - q]+."""
    s = total(np.maximum(w * p.astype(np.float64) - q, 0.0))
    return s / (s + 1.0 - w) if s + 1.0 - w > 0 else 1.0
