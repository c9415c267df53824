"""Rules that change the ratio p/q, compiled: the lossless one, ``amplify``, ``addition`` and ``optimal-lossy``."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab import rules
from simlab.arrays_compiled import total
from simlab.rules.compiled.base import (
    ADDITION,
    AMPLIFY,
    ANY,
    OPTIMAL_LOSSY,
    SPECULATIVE,
    CompiledRule,
    Compilers,
    Lossless,
    over,
    ratio,
    record,
)

COMPILERS: Compilers = {
    rules.Speculative: lambda rule: Lossless(*record(SPECULATIVE)),
    rules.Amplify: lambda rule: record(AMPLIFY, rule.k),
    rules.Addition: lambda rule: record(ADDITION, rule.epsilon),
    rules.OptimalLossy: lambda rule: record(OPTIMAL_LOSSY, rule.tv),
}


@njit(nogil=True, cache=True)
def optimal_lossy_share(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> float:
    """The share t of q in p_t = p + t (q - p)."""
    return min(1.0, over(rule.a, total(np.abs(p.astype(np.float64) - q)) / 2.0))


@njit(nogil=True, cache=True)
def lossless_accept(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> float:
    """The probability of accepting x."""
    return ratio(p[x], q[x])


@njit(nogil=True, cache=True)
def lossless_weights(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> np.ndarray:
    """``float64[V]``: [p - q]+, and p where that is nowhere more than 0."""
    found = np.maximum(p.astype(np.float64) - q, 0.0)
    return found if np.any(found > 0) else p.astype(np.float64)


@njit(nogil=True, cache=True)
def lossless_step(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> tuple[float, np.ndarray]:
    """Acceptance and one-step law ``float64[V]``."""
    each = np.empty(len(p))
    for x in range(len(p)):
        each[x] = ratio(p[x], q[x])
    law, rejected = q * each, q * (1.0 - each)
    left = lossless_weights(rule, p, q, ANY)
    return total(law), law + total(rejected) * (left / total(left))
