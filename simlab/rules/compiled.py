"""Rules compiled: for each rule of :mod:`simlab.rules` what it accepts and what it draws from, one row at a time.

A compiled rule is a :class:`CompiledRule`, plain numbers and tables of one type for all rules, so that a decoder is
compiled once and not once a rule; its ``kind`` says which it is. All kernels here take contiguous rows ``p[V]`` and
``q[V]``, float32 or float64, and add up as the reference form does. Two rules take logarithms, ``typical`` and
``lantern`` with a Jensen-Shannon bound; there a decision may differ from the reference form where a threshold is
met to the last bit, since libraries round logarithms differently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from simlab import rules
from simlab.arrays import BLOCK, Constant
from simlab.arrays_compiled import block_sum, inverse_cdf, inverse_excess, total
from simlab.rules.lantern import BOUNDS
from simlab.rules.neighbourhood import NO_NEIGHBOUR

(
    SPECULATIVE,
    AMPLIFY,
    ADDITION,
    GROUPED,
    GROUP_RESIDUAL,
    DYNAMIC,
    GSD_REFERENCE,
    LANTERN,
    LANTERN_MULTIPLICATIVE,
    LANTERN_GREEDY,
    LANTERN_REFERENCE,
    TYPICAL,
    OPTIMAL_LOSSY,
) = range(13)
PRINTED, CLAMPED, CENTRED = range(3)
TV, JSD, JSD_BITS, JSD_ROOT = range(4)
OFF = -1.0  # a filter that is not used


class CompiledRule(NamedTuple):
    """A rule as plain numbers; what they mean depends on ``kind``."""

    kind: int
    a: float
    b: float
    first: int
    second: int
    table: np.ndarray  # int64[rows, columns]: labels, or neighbours
    metric: np.ndarray  # float64[V, V]: distances


def compiled(rule: rules.Rule) -> CompiledRule:
    """The compiled form of ``rule``; raises ``ValueError`` for a rule that has none."""
    if type(rule) not in _COMPILERS:
        known = ", ".join(kind.__name__ for kind in _COMPILERS)
        raise ValueError(f"rule is a {type(rule).__name__}, which has no compiled form; expected one of {known}")
    return _COMPILERS[type(rule)](rule)


def _plain(
    kind: int,
    a: object = 0.0,
    b: object = 0.0,
    first: int = 0,
    second: int = 0,
    table: np.ndarray | None = None,
    metric: Constant | None = None,
) -> CompiledRule:
    tokens = np.zeros((1, 1), np.int64) if table is None else np.ascontiguousarray(np.atleast_2d(table))
    away = np.zeros((1, 1)) if metric is None else metric.values
    return CompiledRule(kind, float(a), float(b), int(first), int(second), tokens, away)  # type: ignore[arg-type]


def _filter(limit: object) -> object:
    return OFF if limit is None else limit


def _dynamic(rule: rules.DynamicGrouped) -> CompiledRule:
    window = ("printed", "clamped", "centred").index(rule.window)
    return _plain(
        DYNAMIC, _filter(rule.max_gap), _filter(rule.max_distance), rule.size // 2, window, metric=rule._table
    )


def _gsd_reference(rule: rules.GsdReference) -> CompiledRule:
    gap, distance = _filter(rule.max_gap), _filter(rule.max_distance)
    return _plain(GSD_REFERENCE, gap, distance, rule.below, rule.above, metric=rule._table)


def _lantern(kind: int) -> Callable[[rules.Lantern], CompiledRule]:
    def build(rule: rules.Lantern) -> CompiledRule:
        return _plain(kind, rule.delta, first=list(BOUNDS).index(rule.bound), table=rule._near.table.values)

    return build


_COMPILERS: dict[type, Callable[..., CompiledRule]] = {
    rules.Speculative: lambda rule: _plain(SPECULATIVE),
    rules.Amplify: lambda rule: _plain(AMPLIFY, rule.k),
    rules.Addition: lambda rule: _plain(ADDITION, rule.epsilon),
    rules.Grouped: lambda rule: _plain(GROUPED, table=rule._group.values),
    rules.GroupedGroupResidual: lambda rule: _plain(GROUP_RESIDUAL, table=rule._group.values),
    rules.DynamicGrouped: _dynamic,
    rules.GsdReference: _gsd_reference,
    rules.Lantern: _lantern(LANTERN),
    rules.LanternMultiplicative: lambda rule: _plain(
        LANTERN_MULTIPLICATIVE, rule.factor, table=rule._near.table.values
    ),
    rules.LanternGreedy: _lantern(LANTERN_GREEDY),
    rules.LanternReference: _lantern(LANTERN_REFERENCE),
    rules.Typical: lambda rule: _plain(TYPICAL, rule.epsilon, rule.delta),
    rules.OptimalLossy: lambda rule: _plain(OPTIMAL_LOSSY, rule.tv),
}


# What every kernel asks of a rule ------------------------------------------------------------------------------


# The first two are written out where they are called, and what needs p(x) and q(x) alone is decided there: a call that
# hands arrays on counts the references to each, which takes longer than to accept a token does.
@njit(inline="always")
def accept(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> float:
    """The probability of keeping x, as :meth:`simlab.rules.Rule.accept_rows`."""
    if rule.kind == SPECULATIVE or q[x] <= 0:
        return _ratio(p[x], q[x])
    return _accept(rule, p, q, x)


@njit(inline="always")
def redraw(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int, uniform: float) -> int:
    """The token after x is rejected, by inverse CDF of the residual; [p - q]+ is never written down."""
    if rule.kind == GROUP_RESIDUAL or LANTERN <= rule.kind <= LANTERN_REFERENCE:
        return inverse_cdf(weights(rule, p, q, x), uniform)
    return inverse_cdf(p, uniform) if rule.kind == TYPICAL else inverse_excess(p, q, uniform)


@njit(nogil=True, cache=True)
def _ratio(target: float, draft: float) -> float:
    """min(1, target / draft); 1 where the draft has no mass, 0 where it is no number."""
    target, draft = np.float64(target), np.float64(draft)
    if draft <= 0:
        return 1.0
    return min(1.0, target / draft) if draft > 0 else 0.0


@njit(nogil=True, cache=True)
def _accept(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> float:
    """The same for every rule but the first, where q(x) > 0."""
    if rule.kind == TYPICAL:
        return _typical(rule, p, x)
    if rule.kind == LANTERN_GREEDY:
        return 1.0 if _greedy(rule, p, x) == x else 0.0
    target: float = np.float64(p[x])
    draft: float = np.float64(q[x])
    if rule.kind == AMPLIFY:
        target = rule.a * target
    elif rule.kind == ADDITION:
        target = target + rule.a
    elif rule.kind == GROUPED or rule.kind == GROUP_RESIDUAL:
        members = rule.table[0] == rule.table[0, x]
        target, draft = _sum_where(p, members), _sum_where(q, members)
    elif rule.kind == DYNAMIC:
        members = _dynamic_members(rule, p, x)
        target, draft = _sum_where(p, members), _sum_where(q, members)
    elif rule.kind == GSD_REFERENCE:
        target, draft = _gsd_reference_masses(rule, p, q, x)
    elif LANTERN <= rule.kind <= LANTERN_REFERENCE:
        target = target + total(_joined_masses(rule, p, x))
        if rule.kind == LANTERN_REFERENCE:
            draft = 1.0
    elif rule.kind == OPTIMAL_LOSSY:
        share = min(1.0, _over(rule.a, _apart(p, q)))
        target = target + share * (draft - target)
    return min(1.0, target / draft) if draft > 0 else 0.0


@njit(nogil=True, cache=True)
def weights(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> np.ndarray:
    """``float64[V]`` in proportion to the residual, as :meth:`simlab.rules.Rule.weights_rows`."""
    if rule.kind == GROUP_RESIDUAL:
        found = _group_residual(rule, p, q)
    elif rule.kind == LANTERN or rule.kind == LANTERN_MULTIPLICATIVE:
        found = np.maximum(_conditional(rule, p, x) - q, 0.0)
    elif rule.kind == LANTERN_GREEDY:
        found = np.zeros(len(p))
        found[_greedy(rule, p, x)] = 1.0
    elif rule.kind == LANTERN_REFERENCE:
        found = _reference_residual(rule, p, x)
    elif rule.kind == TYPICAL:
        found = p.astype(np.float64)
    else:
        found = np.maximum(p.astype(np.float64) - q, 0.0)
    return found if np.any(found > 0) else p.astype(np.float64)


@njit(nogil=True, cache=True)
def residual(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> np.ndarray:
    """``float64[V]``: the residual, as :meth:`simlab.rules.Rule.residual_rows`."""
    found = weights(rule, p, q, x)
    return found / total(found)


@njit(nogil=True, cache=True)
def law(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``float64[V]``: the law of the token emitted for a draft from q, as :meth:`simlab.rules.Rule.law_rows`."""
    size = len(p)
    kept = np.empty(size)
    drawn = np.empty((size, size))  # by what is emitted, then by what was drafted
    for x in range(size):
        kept[x] = accept(rule, p, q, x)
        drawn[:, x] = q[x] * (1.0 - kept[x]) * residual(rule, p, q, x)
    found = np.empty(size)
    for y in range(size):
        found[y] = q[y] * kept[y] + total(drawn[y])
    return found


@njit(nogil=True, cache=True)
def _over(value: float, by: float) -> float:
    """``value / by``, and ``value`` where there is nothing to divide by."""
    return value / (by if by > 0 else 1.0)


@njit(nogil=True, cache=True)
def _sum_where(row: np.ndarray, members: np.ndarray) -> float:
    """The mass of the tokens that are ``members``."""
    part, sofar = np.empty(BLOCK), 0.0
    for start in range(0, len(row), BLOCK):
        for i in range(BLOCK):
            token = start + i
            part[i] = row[token] if token < len(row) and members[token] else 0.0
        sofar += block_sum(part, 0, 0)
    return sofar


@njit(nogil=True, cache=True)
def _apart(p: np.ndarray, q: np.ndarray) -> float:
    """TV(p, q)."""
    return total(np.abs(p.astype(np.float64) - q)) / 2.0


# GSD -----------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _group_residual(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p times the share of its group that is missing from the draft."""
    labels = rule.table[0]
    share = np.empty(labels.max() + 1)
    for group in range(len(share)):
        target, draft = _sum_where(p, labels == group), _sum_where(q, labels == group)
        share[group] = _over(max(target - draft, 0.0), target)
    return p * share[labels]


@njit(nogil=True, cache=True)
def _dynamic_members(rule: CompiledRule, p: np.ndarray, x: int) -> np.ndarray:
    """Algorithm 3's group of x."""
    size, half = len(p), rule.first
    order = np.argsort(p, kind="mergesort")
    place = _place(p, x)
    if rule.second == PRINTED:
        start = np.sum(p < p[x]) - half
        first = min(start + size if start < 0 else start, size)
        stop = min(start + 2 * half, size)
    else:
        first = max(place - half, 0)
        stop = min(place + half + (1 if rule.second == CENTRED else 0), size)
    members = np.zeros(size, np.bool_)
    for rank in range(max(first, 0), stop):
        y = order[rank]
        near = rule.b < 0 or rule.metric[x, y] <= rule.b
        alike = rule.a < 0 or abs(np.float64(p[y]) - np.float64(p[x])) <= rule.a
        members[y] = near and alike
    return members


@njit(nogil=True, cache=True)
def _gsd_reference_masses(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> tuple[float, float]:
    """The masses of the group that the published code takes."""
    order, place = np.argsort(p, kind="mergesort"), _place(p, x)
    if place < rule.first:
        return np.float64(p[x]), np.float64(q[x])
    members = np.zeros(len(p), np.bool_)
    for rank in range(place - rule.first, min(place + rule.second + 1, len(p))):
        y = order[rank]
        near = rule.b < 0 or rule.metric[x, y] < rule.b
        alike = rule.a < 0 or abs(np.float64(p[y]) - np.float64(p[x])) < rule.a
        members[y] = near and alike
    return _sum_where(p, members), _sum_where(q, members)


@njit(nogil=True, cache=True)
def _place(p: np.ndarray, x: int) -> int:
    """The rank of x when tokens are sorted by p, ascending and stable."""
    return np.sum(p < p[x]) + np.sum(p[:x] == p[x])


# LANTERN -------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _joined_masses(rule: CompiledRule, p: np.ndarray, x: int) -> np.ndarray:
    """The mass of each neighbour of x that joins it, 0 for the others."""
    near = rule.table[x]
    masses, moved, own = np.zeros(len(near)), 0.0, np.float64(p[x])
    for k in range(len(near)):
        if near[k] == NO_NEIGHBOUR:
            break
        moved += np.float64(p[near[k]])
        if _joins(rule, moved, own):
            masses[k] = p[near[k]]
    return masses


@njit(nogil=True, cache=True)
def _joins(rule: CompiledRule, moved: float, own: float) -> bool:
    """Whether a neighbour may join when ``moved`` is what x then gains and ``own`` what it has."""
    if rule.kind == LANTERN_MULTIPLICATIVE:
        return moved <= (rule.a - 1.0) * own
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
    share = _over(own, both)
    if share <= 0:
        return (moved + max(moved, 0.0)) / 2.0
    entropy = -(share * np.log(share) + (1.0 - share) * np.log(1.0 - share)) / np.log(2)
    return (moved + max(both * (1.0 - entropy), 0.0)) / 2.0


@njit(nogil=True, cache=True)
def _conditional(rule: CompiledRule, p: np.ndarray, x: int) -> np.ndarray:
    """``float64[V]``: p_A(. given x), to which x has drawn the mass of its neighbourhood."""
    masses, row = _joined_masses(rule, p, x), p.astype(np.float64)
    for k in _members(rule, p, x):
        row[k] = 0.0
    row[x] += total(masses)
    return row


@njit(nogil=True, cache=True)
def _members(rule: CompiledRule, p: np.ndarray, x: int) -> np.ndarray:
    """The neighbours that join x, those without mass among them."""
    near, moved, count = rule.table[x], 0.0, 0
    members = np.empty(len(near), np.int64)
    for k in range(len(near)):
        if near[k] == NO_NEIGHBOUR:
            break
        moved += np.float64(p[near[k]])
        if _joins(rule, moved, np.float64(p[x])):
            members[count] = near[k]
            count += 1
    return members[:count]


@njit(nogil=True, cache=True)
def _greedy(rule: CompiledRule, p: np.ndarray, x: int) -> int:
    """The likeliest token of p_A(. given x), the first of equals."""
    return int(np.argmax(_conditional(rule, p, x)))


@njit(nogil=True, cache=True)
def _reference_residual(rule: CompiledRule, p: np.ndarray, x: int) -> np.ndarray:
    """p without x, and without all its neighbours once one has joined."""
    row = p.astype(np.float64)
    row[x] = 0.0
    if len(_members(rule, p, x)) > 0:
        for y in rule.table[x]:
            if y != NO_NEIGHBOUR:
                row[y] = 0.0
    return row


# Others --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _typical(rule: CompiledRule, p: np.ndarray, x: int) -> float:
    """Whether p(x) exceeds min(epsilon, delta exp(-H(p)))."""
    inner = np.empty(len(p))
    for y in range(len(p)):
        mass = np.float64(p[y])
        inner[y] = mass * np.log(mass) if mass > 0 else 0.0
    threshold = min(max(rule.b * np.exp(total(inner)), 0.0), rule.a)
    return 1.0 if p[x] > threshold else 0.0
