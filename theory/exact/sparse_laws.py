"""One-step laws of single rows over vocabularies of thousands: exact, and without a residual for every drafted token.

What a rule emits for a draft from q is law(y) = q(y) a(y) + sum_x q(x) (1 - a(x)) r_x(y). Where the residual does not
depend on the drafted token the sum is one multiple of [p - q]+, and only a(x) is wanted for every x: O(V) for a factor,
an addend or a partition, O(V G) for a window of G ranks.

LANTERN's residual does depend on it, but little. A token x that is rejected has q(x) > P(A) >= p(x), so it is not in
[p_A - q]+; elsewhere p_A is p, or 0 on the tokens that joined x. So with D = [p - q]+, not yet scaled,

    r_x = D outside A(x), divided by Z(x) = sum D - sum_{y in A(x)} D(y),

and with w(x) = q(x) (1 - a(x))/Z(x)

    law(y) = q(y) a(y) + D(y) (sum_x w(x) - sum_{x: y in A(x)} w(x)):

at most one look at each neighbour, O(V k). Z(x) is no less than the mass rejected, since [p_A - q]+ and [q - p_A]+ have
the same mass and the second has q(x) - P(A) on x; so a rejected token always has a residual.

Rows are taken as they are, unchecked. Each function gives what ``law_rows`` of the rule that it is named after gives
(:mod:`simlab.rules`), to rounding, and exactly in rationals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
from numba import njit

from simlab.arrays import Array, Number, namespace, normalised, number, positive_part, total
from simlab.checks import check_at_least, check_choice
from simlab.rules.neighbourhood import NO_NEIGHBOUR

Distances = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of tokens x and y, broadcast against each other


class Step(NamedTuple):
    """How often one candidate is kept, ``[...]``, and the law ``[..., V]`` of the token emitted."""

    acceptance: Any
    law: Array


# Residuals that are the same for every drafted token ------------------------------------------------------------


def amplify(p: Array, q: Array, k: Any) -> Step:
    """As :class:`simlab.rules.Amplify`, for rows ``[..., V]``; with k = 1 as the lossless rule."""
    return _token_residual(p, q, number(k, p) * p, q)


def addition(p: Array, q: Array, epsilon: Any) -> Step:
    """As :class:`simlab.rules.Addition`, for rows ``[..., V]``."""
    return _token_residual(p, q, p + number(epsilon, p), q)


def grouped(p: Array, q: Array, labels: Array) -> Step:
    """As :class:`simlab.rules.Grouped`, for rows ``[..., V]``; ``labels[V]`` are numbered from 0."""
    target, draft = (_by_group(row, labels)[..., labels] for row in (p, q))
    return _token_residual(p, q, target, draft)


def dynamic_grouped(
    p: Array,
    q: Array,
    size: int,
    max_gap: Any = None,
    max_distance: Any = None,
    away: Distances | None = None,
) -> Step:
    """As :class:`simlab.rules.DynamicGrouped` with the centred window; ``away`` is needed with ``max_distance``."""
    tokens, half = np.arange(len(p)), size // 2
    order = np.argsort(p, kind="stable")
    rank = np.empty_like(order)
    rank[order] = tokens
    place = rank[:, None] + np.arange(-half, half + 1)
    group, member = order[np.clip(place, 0, len(p) - 1)], (place >= 0) & (place < len(p))
    if max_gap is not None:
        member &= abs(p[group] - p[:, None]) <= number(max_gap, p)
    if max_distance is not None:
        assert away is not None, "max_distance needs distances"
        member &= away(tokens[:, None], group) <= float(max_distance)
    target, draft = (total(namespace(p).where(member, row[group], number(0, p))) for row in (p, q))
    return _token_residual(p, q, target, draft)


def away_in(codebook: np.ndarray) -> Distances:
    """L2 distances between the vectors of a codebook ``[V, d]``, for :func:`dynamic_grouped`."""
    return lambda x, y: np.linalg.norm(codebook[x] - codebook[y], axis=-1)


def _by_group(rows: Array, labels: Array) -> Array:
    masses = np.zeros((*rows.shape[:-1], labels.max() + 1), rows.dtype)
    everywhere: Any = (..., labels)
    np.add.at(masses, everywhere, rows)
    return masses


def _token_residual(p: Array, q: Array, target: Array, draft: Array) -> Step:
    """Keep x with min(1, target(x)/draft(x)); after a rejection [p - q]+."""
    xp, one, zero = namespace(p), number(1, p), number(0, p)
    ratio = xp.where(draft > 0, target / xp.where(draft > 0, draft, one), zero)
    kept = q * xp.where(ratio >= 1, one, ratio)
    acceptance = total(kept)
    rejected = np.asarray(total(q) - acceptance)[..., None]
    return Step(acceptance[()], kept + rejected * normalised(positive_part(p, q), p))


# LANTERN --------------------------------------------------------------------------------------------------------


def lantern(p: Array, q: Array, near: Array, delta: Any) -> Step:
    """As :class:`simlab.rules.Lantern` bounded in TV, for rows ``[V]``; ``near[V, k]`` as its ``neighbours``."""
    law = np.zeros_like(p)
    acceptance = _lantern(p, q, near, number(delta, p), law)
    return Step(acceptance, law)


@njit(nogil=True, cache=True)
def _lantern(p: np.ndarray, q: np.ndarray, near: np.ndarray, delta: Number, law: np.ndarray) -> Number:
    """Write the law, ``[V]`` zeros at first, and return the acceptance."""
    size, count = near.shape
    excess, less = np.zeros_like(p), np.zeros_like(p)
    for y in range(size):
        if p[y] > q[y]:
            excess[y] = p[y] - q[y]
    whole = excess.sum()
    kept, shares = law[0], law[0]  # 0 in the arithmetic of the rows
    for x in range(size):
        # the neighbourhood; nothing more is asked of it once x is kept surely
        mass, moved, joined = p[x], law[0] * 0, 0
        while joined < count and near[x, joined] != NO_NEIGHBOUR and mass < q[x]:
            more = moved + p[near[x, joined]]
            if not more < delta:
                break
            moved, joined = more, joined + 1
            mass = p[x] + moved
        if mass >= q[x]:
            law[x] += q[x]
            kept += q[x]
            continue
        law[x] += mass
        kept += mass

        # what is left of the excess outside the neighbourhood, which is at least the mass rejected
        rejected, left = q[x] - mass, whole
        for i in range(joined):
            left -= excess[near[x, i]]
        share = rejected / max(left, rejected)
        shares += share
        for i in range(joined):
            less[near[x, i]] += share
    for y in range(size):
        law[y] += excess[y] * (shares - less[y])
    return kept


def nearest(codebook: np.ndarray, count: int, measure: str = "l2", seed: int = 0, slab: int = 512) -> np.ndarray:
    """``int32[V, count]``: as :func:`simlab.rules.codebook_neighbours`, ``slab`` tokens at a time.

    It takes O(slab V) memory beside the result, and no sort of whole rows.
    """
    size = len(codebook)
    check_choice("measure", measure, ("l2", "cosine", "random"))
    if check_at_least("count", count, 1) >= size:
        raise ValueError(f"count is {count}; expected at most {size - 1}, the other tokens of a codebook of {size}")
    vectors = codebook / np.linalg.norm(codebook, axis=1, keepdims=True) if measure == "cosine" else codebook
    random = np.random.default_rng(seed)
    found = np.empty((size, count), np.int32)
    for first in range(0, size, slab):
        own = np.arange(first, min(first + slab, size))
        away = (
            random.random((len(own), size))
            if measure == "random"
            else scipy.spatial.distance.cdist(vectors[own], vectors)
        )
        away[np.arange(len(own)), own] = np.inf
        some = np.sort(np.argpartition(away, count - 1, axis=1)[:, :count], axis=1)
        order = np.argsort(np.take_along_axis(away, some, axis=1), axis=1, kind="stable")
        found[own] = np.take_along_axis(some, order, axis=1)
    return found
