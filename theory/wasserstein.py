"""Wasserstein-1 between rows over a codebook of thousands of tokens: exact, and bounds from both sides.

Under a metric mass that both rows have may stay where it is, so only what one row has too much of moves, to where it
has too little: a transport between two disjoint sets of tokens. Up to some 4096 tokens it is solved exactly (a second
or so). Beyond, a coupling made in two stages bounds it from above: within each cell of a partition of the codebook as
much as can is moved as cheaply as possible; what is left, which is of one kind in each cell, is moved between cells by
the best plan for their centres, and spread within a cell in proportion. And a function that nowhere rises faster than
distance bounds it from below (Kantorovich): the dual solution between the tokens with most of the mass, to which the
others are added, drawn on to all tokens. On rows over a codebook in clusters the two are some 15 % apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from simlab.arrays import total_variation
from theory.distances import pot

__all__ = ["Cells", "cells", "wasserstein1_exact", "wasserstein1_least", "wasserstein1_most", "wasserstein1_nearly"]

NOTHING = 1e-12  # a mass that is only rounding
SHARE = 0.99  # of the mass to be moved, in `wasserstein1_nearly`
ITERATIONS = 10_000_000  # of the network simplex; it ends long before


class Cells(NamedTuple):
    """A partition of a codebook ``[V, d]``."""

    labels: np.ndarray  # the cell of every token, int[V]
    members: list[np.ndarray]  # the tokens of every cell


def cells(codebook: np.ndarray, count: int) -> Cells:
    """A partition of a codebook ``float[V, d]`` by k-means in ``count`` cells, at most V; the same at every call."""
    from sklearn.cluster import KMeans

    labels = KMeans(count, n_init=1, max_iter=20, random_state=0).fit(codebook).labels_
    return Cells(labels, np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1]))


def wasserstein1_exact(law: np.ndarray, p: np.ndarray, codebook: np.ndarray) -> float:
    """Wasserstein-1 under the Euclidean distances of a codebook, in its units.

    ``law``, ``p``: rows ``float64[V]``, pmfs that are taken as they are. ``codebook``: ``float[V, d]``; up to some 4096
    tokens it takes about a second.
    """
    much, little = _apart(law - p)
    if much is None or little is None:
        return 0.0
    cost = scipy.spatial.distance.cdist(codebook[much.tokens], codebook[little.tokens])
    moved = pot().emd2(
        much.shares, little.shares, cost, numItermax=ITERATIONS, center_dual=False, check_marginals=False
    )
    return much.total * float(moved)


def wasserstein1_least(law: np.ndarray, p: np.ndarray, codebook: np.ndarray, landmarks: int = 1000) -> float:
    """A lower bound of Wasserstein-1, at least 0: the dual solution between the tokens with most of the mass.

    ``law``, ``p``, ``codebook``: as for :func:`wasserstein1_exact`. ``landmarks``: how many tokens of either kind are
    used at most. By Kantorovich's duality no function that rises by no more than distance has means further apart.
    """
    much, little = _apart(law - p)
    if much is None or little is None:
        return 0.0
    few, where = (_gathered(side, codebook, landmarks) for side in (much, little))
    cost = scipy.spatial.distance.cdist(codebook[few.tokens], codebook[where.tokens])
    _, log = pot().emd2(few.shares, where.shares, cost, log=True, numItermax=ITERATIONS)
    away = scipy.spatial.distance.cdist(codebook, codebook[where.tokens])
    rising = (away - log["v"]).min(axis=1)  # by no more than distance
    return max(0.0, float(rising @ (law - p)))


def wasserstein1_most(law: np.ndarray, p: np.ndarray, codebook: np.ndarray, within: Cells) -> float:
    """An upper bound of Wasserstein-1: what a coupling in two stages costs, within cells and then between them.

    ``law``, ``p``, ``codebook``: as for :func:`wasserstein1_exact`. ``within``: a partition of the codebook, such as
    :func:`cells` gives.
    """
    left = law - p
    spent = 0.0
    for members in within.members:
        much, little = _apart(left[members])
        if much is None or little is None:
            continue
        cost = scipy.spatial.distance.cdist(codebook[members[much.tokens]], codebook[members[little.tokens]])
        plan = _as_much_as_can(much.masses, little.masses, cost)
        spent += float((plan * cost).sum())
        left[members[much.tokens]] -= plan.sum(axis=1)
        left[members[little.tokens]] += plan.sum(axis=0)
    return spent + _between(left, codebook, within)


def wasserstein1_nearly(law: np.ndarray, p: np.ndarray, codebook: np.ndarray) -> float:
    """Wasserstein-1 by the tokens that make up ``SHARE`` of the mass to be moved on either side.

    ``law``, ``p``, ``codebook``: as for :func:`wasserstein1_exact`. What the other tokens have is taken to move as far
    as these do on average: off by at most 2 (1 - ``SHARE``) of the mass times the largest distance.
    """
    moved = float(total_variation(law, p))
    if moved < NOTHING:
        return 0.0
    (sources, less), (goals, more) = (_largest(np.maximum(row, 0.0)) for row in (p - law, law - p))
    cost = scipy.spatial.distance.cdist(codebook[sources], codebook[goals])
    return moved * float(pot().emd2(less, more, cost, numItermax=ITERATIONS))


# Parts ----------------------------------------------------------------------------------------------------------


def _largest(masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens with the most of ``masses[V]`` that have ``SHARE`` of it together, and their masses, scaled to one."""
    order = np.argsort(-masses, kind="stable")
    cumulative = np.cumsum(masses[order])
    tokens = order[: int(np.searchsorted(cumulative, SHARE * cumulative[-1])) + 1]
    return tokens, masses[tokens] / masses[tokens].sum()


class _Side(NamedTuple):
    """Tokens that have too much, or too little, and how much."""

    tokens: np.ndarray
    masses: np.ndarray

    @property
    def total(self) -> float:
        return float(self.masses.sum())

    @property
    def shares(self) -> np.ndarray:
        return self.masses / self.total


def _apart(difference: np.ndarray) -> tuple[_Side | None, _Side | None]:
    """What there is too much and too little of; None where that is nothing, or rounding."""
    sides = (np.flatnonzero(difference > 0), np.flatnonzero(difference < 0))
    found = (_Side(tokens, abs(difference[tokens])) for tokens in sides)
    much, little = (side if side.total > NOTHING else None for side in found)
    return much, little


def _gathered(side: _Side, codebook: np.ndarray, count: int) -> _Side:
    """The ``count`` tokens with most of the mass, the rest of it added to the nearest of them."""
    few = side.tokens[np.argsort(-side.masses, kind="stable")[:count]]
    nearest = scipy.spatial.distance.cdist(codebook[side.tokens], codebook[few]).argmin(axis=1)
    return _Side(few, np.bincount(nearest, side.masses, len(few)))


def _as_much_as_can(much: np.ndarray, little: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The cheapest plan that moves all of the lesser side; what is left of the other goes nowhere, for nothing."""
    over = much.sum() - little.sum()
    sources, sinks = np.append(much, max(-over, 0.0)), np.append(little, max(over, 0.0))
    padded = np.pad(cost, ((0, 1), (0, 1)))
    plan = pot().emd(sources / sources.sum(), sinks / sinks.sum(), padded, numItermax=ITERATIONS)
    return sources.sum() * plan[:-1, :-1]


def _between(left: np.ndarray, codebook: np.ndarray, within: Cells) -> float:
    """What it costs to move what is ``left[V]``, of one sign in each cell, by the best plan for the cells' centres."""
    much, little = _apart(np.bincount(within.labels, left))
    if much is None or little is None:
        return 0.0
    sources, sinks = (
        [_spread(sign * left, within.members[cell]) for cell in side.tokens] for sign, side in ((1, much), (-1, little))
    )
    starts, ends = (np.stack([s.shares @ codebook[s.tokens] for s in side]) for side in (sources, sinks))
    plan = much.total * pot().emd(
        much.shares, little.shares, scipy.spatial.distance.cdist(starts, ends), numItermax=ITERATIONS
    )
    return sum(
        plan[i, j] * float(sources[i].shares @ _costs(codebook, sources[i], sinks[j]) @ sinks[j].shares)
        for i, j in zip(*np.nonzero(plan), strict=True)
    )


def _spread(left: np.ndarray, members: np.ndarray) -> _Side:
    """The tokens of a cell that hold what is left in it."""
    tokens = members[left[members] > 0]
    return _Side(tokens, left[tokens])


def _costs(codebook: np.ndarray, one: _Side, other: _Side) -> np.ndarray:
    return scipy.spatial.distance.cdist(codebook[one.tokens], codebook[other.tokens])
