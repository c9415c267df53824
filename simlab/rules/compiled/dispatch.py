"""What kernels ask of a compiled rule: acceptance, residual, the next token, and the one-step law."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab import rules
from simlab.arrays import BLOCK, LANES
from simlab.arrays_compiled import block_sum, total
from simlab.randomness.inverse_cdf_compiled import inverse_cdf, inverse_excess
from simlab.rules.compiled.base import (
    AMPLIFY,
    ANY,
    CACTUS,
    DYNAMIC,
    GROUP_RESIDUAL,
    GROUPED,
    GSD_REFERENCE,
    LANTERN,
    LANTERN_GREEDY,
    LANTERN_MULTIPLICATIVE,
    LANTERN_REFERENCE,
    MARS_REFERENCE,
    MIXTURE,
    SAMPLER_MATCH,
    SPECULATIVE,
    TYPICAL,
    CompiledRule,
    Compilers,
    Lossless,
    by_type,
    ratio,
    sum_where,
)
from simlab.rules.compiled.grouped import COMPILERS as GROUPED_RULES
from simlab.rules.compiled.grouped import group_residual, partition_accepts, window_accepts, window_masses
from simlab.rules.compiled.lantern import COMPILERS as LANTERN_RULES
from simlab.rules.compiled.lantern import (
    DYNAMIC_TREE,
    conditional,
    greedy_token,
    lantern_step,
    neighbourhood_mass,
    reference_residual,
)
from simlab.rules.compiled.lossy import COMPILERS as LOSSY_RULES
from simlab.rules.compiled.lossy import accept_at, lossy_weights, row_level
from simlab.rules.compiled.ratio import COMPILERS as RATIO_RULES
from simlab.rules.compiled.ratio import lossless_accept, lossless_step, lossless_weights

COMPILERS: Compilers = {**RATIO_RULES, **GROUPED_RULES, **LANTERN_RULES, **LOSSY_RULES}


def compiled(rule: rules.Rule) -> CompiledRule:
    """The compiled form of ``rule``; raises ``ValueError`` for a rule that has none."""
    if type(rule) not in COMPILERS:
        known = ", ".join(kind.__name__ for kind in COMPILERS)
        raise ValueError(f"rule is a {type(rule).__name__}, which has no compiled form; expected one of {known}")
    return COMPILERS[type(rule)](rule)


# The first two are written out where they are called, and what needs p(x) and q(x) alone is decided there: a call that
# hands arrays on counts the references to each, which takes longer than to accept a token does.
@njit(inline="always")
def accept(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> float:
    """The probability of accepting x, as :meth:`simlab.rules.Rule.accept_rows`."""
    if rule.kind == SPECULATIVE or q[x] <= 0:
        return ratio(p[x], q[x])
    return _accept(rule, p, q, x)


@njit(inline="always")
def redraw(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int, uniform: float) -> int:
    """The token after x is rejected, by inverse CDF of the residual; [p - q]+ is never written down."""
    if rule.kind == TYPICAL:
        return inverse_cdf(p, uniform)
    if rule.kind == GROUP_RESIDUAL or LANTERN <= rule.kind <= LANTERN_REFERENCE or rule.kind > MIXTURE:
        return inverse_cdf(weights(rule, p, q, x), uniform)
    return inverse_excess(p, q, uniform)


@njit(nogil=True, cache=True)
def _accept_any(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> float:
    """The same for every rule but the first, where q(x) > 0."""
    if rule.kind == LANTERN_GREEDY:
        return 1.0 if greedy_token(rule, p, x) == x else 0.0
    target: float = np.float64(p[x])
    draft: float = np.float64(q[x])
    if rule.kind >= AMPLIFY:
        return accept_at(rule, row_level(rule, p, q), target, draft, x)
    if rule.kind == GROUPED or rule.kind == GROUP_RESIDUAL:
        members = rule.table[0] == rule.table[0, x]
        target, draft = sum_where(p, members), sum_where(q, members)
    elif rule.kind == DYNAMIC or rule.kind == GSD_REFERENCE:
        target, draft = window_masses(rule, p, q, x)
    elif LANTERN <= rule.kind <= LANTERN_REFERENCE:
        target = neighbourhood_mass(rule, p, x)
        if rule.kind == LANTERN_REFERENCE and rule.first == DYNAMIC_TREE:
            draft = 1.0
    return ratio(target, draft) if draft > 0 else 0.0


@njit(nogil=True, cache=True)
def _weights_any(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> np.ndarray:
    """``float64[V]`` in proportion to the residual, as :meth:`simlab.rules.Rule.weights_rows`."""
    if rule.kind == GROUP_RESIDUAL:
        found = group_residual(rule, p, q)
    elif rule.kind == LANTERN or rule.kind == LANTERN_MULTIPLICATIVE:
        found = np.maximum(conditional(rule, p, x) - q, 0.0)
    elif rule.kind == LANTERN_GREEDY:
        found = np.zeros(len(p))
        found[greedy_token(rule, p, x)] = 1.0
    elif rule.kind == LANTERN_REFERENCE:
        found = reference_residual(rule, p, q, x)
    elif rule.kind > MIXTURE:
        found = lossy_weights(rule, p, q, x)
    else:
        found = np.maximum(p.astype(np.float64) - q, 0.0)
    return found if np.any(found > 0) else p.astype(np.float64)


_accept = by_type({CompiledRule: _accept_any, Lossless: lossless_accept})
weights = by_type({CompiledRule: _weights_any, Lossless: lossless_weights})


@njit(nogil=True, cache=True)
def residual(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> np.ndarray:
    """``float64[V]``: the residual, as :meth:`simlab.rules.Rule.residual_rows`."""
    found = weights(rule, p, q, x)
    return found / total(found)


@njit(nogil=True, cache=True)
def step(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> tuple[float, np.ndarray]:
    """Acceptance and one-step law ``float64[V]`` for a draft from q, as :meth:`simlab.rules.Rule.step_rows`."""
    found: tuple[float, np.ndarray] = _step(rule, p, q)
    return found


@njit(nogil=True, cache=True)
def _step_any(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> tuple[float, np.ndarray]:
    if rule.kind == LANTERN or rule.kind == LANTERN_MULTIPLICATIVE:
        return lantern_step(rule, p, q)
    each = _accepts(rule, p, q)
    law, rejected = q * each, q * (1.0 - each)
    if rule.kind in (LANTERN_GREEDY, LANTERN_REFERENCE, CACTUS, MARS_REFERENCE, SAMPLER_MATCH):  # one a token
        return total(law), law + _redrawn(rule, p, q, rejected)
    return total(law), law + total(rejected) * residual(rule, p, q, ANY)


_step = by_type({CompiledRule: _step_any, Lossless: lossless_step})


@njit(nogil=True, cache=True)
def _accepts(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``float64[V]``: the acceptance of every token, as :meth:`simlab.rules.Rule.accept_each`."""
    if rule.kind == GROUPED or rule.kind == GROUP_RESIDUAL:
        return partition_accepts(rule, p, q)
    if rule.kind == DYNAMIC or rule.kind == GSD_REFERENCE:
        return window_accepts(rule, p, q)
    each, level = np.empty(len(p)), row_level(rule, p, q)
    for x in range(len(p)):
        target, draft = np.float64(p[x]), np.float64(q[x])
        if rule.kind >= AMPLIFY:
            each[x] = accept_at(rule, level, target, draft, x) if draft > 0 else 1.0
        else:
            each[x] = accept(rule, p, q, x)
    return each


@njit(nogil=True, cache=True)
def _redrawn(rule: CompiledRule, p: np.ndarray, q: np.ndarray, rejected: np.ndarray) -> np.ndarray:
    """sum_x ``rejected[x]`` r_x where every draft has another residual: a block of drafts at a time."""
    size = len(p)
    found, line = np.zeros(size), np.zeros(size)
    for start in range(0, size, BLOCK):
        if start % (LANES * BLOCK) == 0:  # as simlab.arrays.running_sums
            found += line
            line[:] = 0.0
        drawn = np.zeros((size, BLOCK))  # by what is emitted, then by what was drafted
        for x in range(start, min(start + BLOCK, size)):
            if rejected[x] > 0:
                drawn[:, x - start] = rejected[x] * residual(rule, p, q, x)
        for y in range(size):
            line[y] += block_sum(drawn[y], 0, 0)
    return found + line
