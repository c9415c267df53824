"""Typical acceptance compiled: :mod:`simlab.rules.typical`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab import rules
from simlab.arrays_compiled import total
from simlab.rules.compiled.base import TYPICAL, CompiledRule, Compilers, record

COMPILERS: Compilers = {rules.Typical: lambda rule: record(TYPICAL, rule.epsilon, rule.delta)}


@njit(nogil=True, cache=True)
def typical_threshold(rule: CompiledRule, p: np.ndarray) -> float:
    """min(epsilon, delta exp(-H(p)))."""
    inner = np.empty(len(p))
    for y in range(len(p)):
        mass = np.float64(p[y])
        inner[y] = mass * np.log(mass) if mass > 0 else 0.0
    return min(max(rule.b * np.exp(total(inner)), 0.0), rule.a)
