"""LANTERN's rules compiled: :mod:`simlab.rules.lantern`, its greedy reading, and what the published code does."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import njit

from simlab import rules
from simlab.arrays_compiled import total
from simlab.rules.compiled.base import (
    LANTERN,
    LANTERN_GREEDY,
    LANTERN_MULTIPLICATIVE,
    LANTERN_REFERENCE,
    CompiledRule,
    Compilers,
    over,
    record,
)
from simlab.rules.lantern import BOUNDS
from simlab.rules.lantern_reference import TREES
from simlab.rules.neighbourhood import NO_NEIGHBOUR

TV, JSD, JSD_BITS, JSD_ROOT = range(4)
DYNAMIC_TREE, STATIC_TREE = TREES.index("dynamic"), TREES.index("static")
SURELY = 1 + 1e-9  # of q(x): with so much mass x is accepted surely, in whatever order the mass is added up


def _bounded(kind: int, rule: Any) -> CompiledRule:
    """``a`` is delta, ``first`` the bound, ``table`` the neighbours."""
    return record(kind, rule.delta, first=list(BOUNDS).index(rule.bound), table=rule._near.table.values)


def _reference(rule: rules.LanternReference) -> CompiledRule:
    """``a`` is delta, ``first`` the tree, ``second`` k, ``table`` the neighbours."""
    table = rule._near.table.values
    k = table.shape[1] if rule.k is None else rule.k
    return record(LANTERN_REFERENCE, rule.delta, first=TREES.index(rule.tree), second=k, table=table)


COMPILERS: Compilers = {
    rules.Lantern: partial(_bounded, LANTERN),
    rules.LanternMultiplicative: lambda rule: record(
        LANTERN_MULTIPLICATIVE, rule.factor, table=rule._near.table.values
    ),
    rules.LanternGreedy: partial(_bounded, LANTERN_GREEDY),
    rules.LanternReference: _reference,
}


@njit(nogil=True, cache=True)
def joined(rule: CompiledRule, p: np.ndarray, x: int) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours that join x, and ``float64[k]``, the mass of each of the k nearest, 0 of one that does not join.

    A bound that is linear in the mass moved ends the joining.
    """
    near, own, moved = rule.table[x], np.float64(p[x]), 0.0
    members, masses, count = np.empty(len(near), np.int64), np.zeros(len(near)), 0
    for k in range(len(near)):
        if near[k] == NO_NEIGHBOUR or (rule.kind == LANTERN_REFERENCE and k >= rule.second):
            break
        moved += np.float64(p[near[k]])
        if _joins(rule, moved, own):
            masses[k], members[count], count = p[near[k]], near[k], count + 1
        elif rule.kind == LANTERN_MULTIPLICATIVE or rule.kind == LANTERN_REFERENCE or rule.first == TV:
            break
    return members[:count], masses


@njit(nogil=True, cache=True)
def neighbourhood_mass(rule: CompiledRule, p: np.ndarray, x: int) -> float:
    """P(A), the mass of x and of the neighbours that join it."""
    return np.float64(p[x]) + total(joined(rule, p, x)[1])


@njit(nogil=True, cache=True)
def conditional(rule: CompiledRule, p: np.ndarray, x: int) -> np.ndarray:
    """``float64[V]``: p_A(. given x), to which x has drawn the mass of its neighbourhood."""
    members, masses = joined(rule, p, x)
    row = p.astype(np.float64)
    for y in members:
        row[y] = 0.0
    row[x] += total(masses)
    return row


@njit(nogil=True, cache=True)
def greedy_token(rule: CompiledRule, p: np.ndarray, x: int) -> int:
    """The likeliest token of p_A(. given x), the first of equals."""
    return int(np.argmax(conditional(rule, p, x)))


@njit(nogil=True, cache=True)
def reference_residual(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> np.ndarray:
    """As :meth:`simlab.rules.LanternReference.weights_rows`: the nearest are lost from p, with ``static`` from q."""
    gone = np.zeros(len(p), np.bool_)
    if len(joined(rule, p, x)[0]) > 0:
        for y in rule.table[x][: rule.second + 1]:
            if y != NO_NEIGHBOUR:
                gone[y] = True
    row = p.astype(np.float64)
    for y in range(len(p)):
        if (gone[y] and rule.first != STATIC_TREE) or (y == x and rule.first == DYNAMIC_TREE):
            row[y] = 0.0
        elif rule.first != DYNAMIC_TREE:
            row[y] = max(row[y] - (0.0 if gone[y] else np.float64(q[y])), 0.0)
    return row if np.any(row > 0) else np.ones(len(p))


@njit(nogil=True, cache=True)
def lantern_step(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> tuple[float, np.ndarray]:
    """Acceptance and output law in O(V k), as :meth:`simlab.rules.lantern.NeighbourhoodRule.step_rows`."""
    size = len(p)
    excess, accepted, share, less = np.zeros(size), np.empty(size), np.zeros(size), np.zeros(size)
    for y in range(size):
        excess[y] = max(np.float64(p[y]) - np.float64(q[y]), 0.0)
    whole = total(excess)
    for x in range(size):
        accepted[x] = q[x]
        if q[x] <= p[x] or _has(rule, p, x, np.float64(q[x]) * SURELY):
            continue
        members, masses = joined(rule, p, x)
        kept = min(1.0, (np.float64(p[x]) + total(masses)) / np.float64(q[x]))
        if kept < 1:
            accepted[x] = q[x] * kept
            rejected = q[x] * (1.0 - kept)
            lost = np.zeros(len(masses))
            for i in range(len(members)):
                lost[i] = excess[members[i]]
            share[x] = over(rejected, max(whole - total(lost), rejected / 2.0))  # half of the least number is 0
            for y in members:
                less[y] += share[x]
    return total(accepted), accepted + excess * (total(share) - less)


@njit(nogil=True, cache=True)
def _has(rule: CompiledRule, p: np.ndarray, x: int, enough: float) -> bool:
    """Whether x and the tokens that join it before the first that does not have ``enough`` mass."""
    own, moved = np.float64(p[x]), 0.0
    for y in rule.table[x]:
        if y == NO_NEIGHBOUR:
            return False
        moved += np.float64(p[y])
        if not _joins(rule, moved, own):
            return False
        if own + moved >= enough:
            return True
    return False


@njit(nogil=True, cache=True)
def _joins(rule: CompiledRule, moved: float, own: float) -> bool:
    """Whether a neighbour may join when ``moved`` is what x then gains and ``own`` what it has."""
    if rule.kind == LANTERN_MULTIPLICATIVE:
        return moved <= (rule.a - 1.0) * own
    if rule.kind == LANTERN_REFERENCE:
        return moved <= ((rule.a - 1.0) * own if rule.a > 1 else rule.a)
    if rule.first == TV:
        return moved < rule.a
    divergence = _js_bits(moved, own)
    if rule.first == JSD_BITS:
        return divergence < rule.a
    divergence = divergence * np.log(2)
    return (divergence if rule.first == JSD else np.sqrt(divergence)) < rule.a


@njit(nogil=True, cache=True)
def _js_bits(moved: float, own: float) -> float:
    """:func:`simlab.rules.lantern.moved_js_bits`."""
    both = 2.0 * own + moved
    share = over(own, both)
    if share <= 0:
        return (moved + max(moved, 0.0)) / 2.0
    entropy = -(share * np.log(share) + (1.0 - share) * np.log(1.0 - share)) / np.log(2)
    return (moved + max(both * (1.0 - entropy), 0.0)) / 2.0
