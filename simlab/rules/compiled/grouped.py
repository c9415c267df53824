"""Grouped rules compiled: a fixed partition, Algorithm 3's windows of ranks, and those of the reference code.

The definitions are :mod:`simlab.rules.grouped`, :mod:`simlab.rules.grouped_group_residual`,
:mod:`simlab.rules.dynamic_grouped` and :mod:`simlab.rules.gsd_reference`.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numba import njit

from simlab import rules
from simlab.arrays_compiled import total
from simlab.rules.compiled.base import (
    DYNAMIC,
    GROUP_RESIDUAL,
    GROUPED,
    GSD_REFERENCE,
    CompiledRule,
    Compilers,
    over,
    ratio,
    record,
    sum_where,
)
from simlab.rules.dynamic_grouped import Window

WINDOWS = get_args(Window)
PRINTED, CENTRED = WINDOWS.index("printed"), WINDOWS.index("centred")
NO_FILTER = -1.0


def _windowed(kind: int, rule: Any, first: int, second: int) -> CompiledRule:
    """``a`` and ``b`` are the filters, and ``first`` and ``second`` say what the window is."""
    gap, distance = (NO_FILTER if limit is None else limit for limit in (rule.max_gap, rule.max_distance))
    return record(kind, gap, distance, first, second, metric=rule._table)


COMPILERS: Compilers = {  # ``table`` holds the labels of a partition
    rules.Grouped: lambda rule: record(GROUPED, table=rule._group.values),
    rules.GroupedGroupResidual: lambda rule: record(GROUP_RESIDUAL, table=rule._group.values),
    rules.DynamicGrouped: lambda rule: _windowed(DYNAMIC, rule, rule.size // 2, WINDOWS.index(rule.window)),
    rules.GsdReference: lambda rule: _windowed(GSD_REFERENCE, rule, rule.below, rule.above),
}


# A partition ---------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def group_residual(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p times the share of its group that is missing from the draft."""
    labels = rule.table[0]
    share = np.empty(labels.max() + 1)
    for group in range(len(share)):
        target, draft = sum_where(p, labels == group), sum_where(q, labels == group)
        share[group] = over(max(target - draft, 0.0), target)
    return p * share[labels]


@njit(nogil=True, cache=True)
def partition_accepts(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``float64[V]``: the acceptance of every token, each group summed once."""
    labels = rule.table[0]
    target, draft = np.zeros(labels.max() + 1), np.zeros(labels.max() + 1)
    for y in range(len(p)):
        target[labels[y]] += p[y]
        draft[labels[y]] += q[y]
    accepted = np.empty(len(p))
    for x in range(len(p)):
        accepted[x] = 1.0 if q[x] <= 0 else ratio(target[labels[x]], draft[labels[x]])
    return accepted


# Windows of ranks ----------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def window_masses(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> tuple[float, float]:
    """The masses of the group of x, added up in the order of the tokens."""
    order, place = np.argsort(p, kind="mergesort"), np.sum(p < p[x]) + np.sum(p[:x] == p[x])
    if rule.kind == GSD_REFERENCE and place < rule.first:
        return np.float64(p[x]), np.float64(q[x])
    first, stop = _window(rule, p, x, place)
    members = np.zeros(len(p), np.bool_)
    for rank in range(first, stop):
        members[order[rank]] = _stays(rule, p, x, order[rank])
    return sum_where(p, members), sum_where(q, members)


@njit(nogil=True, cache=True)
def window_accepts(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``float64[V]``: the acceptance of every token; tokens are sorted once, and added up in the order of ranks."""
    order, accepted = np.argsort(p, kind="mergesort"), np.empty(len(p))
    for place in range(len(p)):
        x = order[place]
        if q[x] <= 0:
            accepted[x] = 1.0
        elif rule.kind == GSD_REFERENCE and place < rule.first:
            accepted[x] = ratio(p[x], q[x])
        else:
            first, stop = _window(rule, p, x, place)
            target, draft = np.zeros(max(stop - first, 1)), np.zeros(max(stop - first, 1))
            for rank in range(first, stop):
                y = order[rank]
                if _stays(rule, p, x, y):
                    target[rank - first], draft[rank - first] = p[y], q[y]
            mass = total(draft)
            accepted[x] = min(1.0, total(target) / mass) if mass > 0 else 0.0
    return accepted


@njit(nogil=True, cache=True)
def _window(rule: CompiledRule, p: np.ndarray, x: int, place: int) -> tuple[int, int]:
    """First rank of the window, and one past the last."""
    size = len(p)
    if rule.kind == GSD_REFERENCE:
        return max(place - rule.first, 0), min(place + rule.second + 1, size)
    half = rule.first
    if rule.second == PRINTED:
        start = np.sum(p < p[x]) - half
        return max(min(start + size if start < 0 else start, size), 0), min(start + 2 * half, size)
    return max(place - half, 0), min(place + half + (1 if rule.second == CENTRED else 0), size)


@njit(nogil=True, cache=True)
def _stays(rule: CompiledRule, p: np.ndarray, x: int, y: int) -> bool:
    """Whether y passes both filters around x; strict ones in the reference code."""
    gap = abs(np.float64(p[y]) - np.float64(p[x])) if rule.a >= 0 else 0.0
    distance = rule.metric[x, y] if rule.b >= 0 else 0.0
    if rule.kind == GSD_REFERENCE:
        return (rule.a < 0 or gap < rule.a) and (rule.b < 0 or distance < rule.b)
    return (rule.a < 0 or gap <= rule.a) and (rule.b < 0 or distance <= rule.b)
