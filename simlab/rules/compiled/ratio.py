"""The lossless rule compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab import rules
from simlab.arrays_compiled import total
from simlab.rules.compiled.base import ANY, SPECULATIVE, CompiledRule, Compilers, Lossless, ratio, record

COMPILERS: Compilers = {rules.Speculative: lambda rule: Lossless(*record(SPECULATIVE))}


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
