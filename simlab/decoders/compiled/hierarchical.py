"""Hierarchical speculative decoding compiled: :mod:`simlab.decoders.hierarchical`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays_compiled import total
from simlab.decoders.compiled.joint import step_back
from simlab.decoders.compiled.speculative import Chains, SpeculativeKernel
from simlab.decoders.hierarchical import LAST, SCALED, Hierarchical


class HierarchicalKernel(SpeculativeKernel, of=(Hierarchical,)):
    """As :class:`SpeculativeKernel`, with drafts verified from the last one back."""

    def verify(self, chains: Chains) -> np.ndarray:
        ratios, highest = _prefix_ratios(chains)
        scaled = SCALED[self.decoder.prefix](ratios[:, :-1], highest)
        whole = LAST[self.decoder.final](ratios[:, -1], highest[:, -1])
        return _verify_prefixes(chains, np.ascontiguousarray(scaled), np.ascontiguousarray(whole))


@njit(nogil=True, cache=True)
def _prefix_ratios(chains: Chains) -> tuple[np.ndarray, np.ndarray]:
    """r_0 to r_gamma and M_0 to M_{gamma-1} of each sequence."""
    p, q, tokens, length = chains.p, chains.q, chains.tokens, chains.length
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
def _verify_prefixes(chains: Chains, scale: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return step_back(_coin, chains, scale, whole)


@njit(nogil=True, cache=True)
def _coin(scale: float, p: np.ndarray, q: np.ndarray) -> float:
    """sum_v p'_k(v)."""
    difference = scale * p.astype(np.float64) - q
    stays, lacks = total(np.maximum(difference, 0.0)), total(np.maximum(-difference, 0.0))
    most = max(stays, lacks)
    return stays / most if most > 0 else 1.0
