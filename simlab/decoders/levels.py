"""The shape of a tree of drafts that are made level by level.

``branching`` says it in one of three ways:

``(K_1, ..., K_D)``
    every node of level j - 1 has K_j children;
``[[0], [1], [0, 0], ...]``
    the nodes, each as the way down to it: 0 is the first child of a node, 1 the second. This is how the trees of
    EAGLE-1 and LANTERN++ are published, which are deep where drafts are likely and have nodes without children beside.
``"mc_sim_7b_63"``
    the name of one of those (:mod:`simlab.decoders.published_trees`).

Nodes are numbered level by level, in a level those first whose parents have most children. Row r is the pmf after node
r - 1, and row 0 the pmf after the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from simlab.arrays import Constant
from simlab.checks import check_at_least
from simlab.decoders.published_trees import PUBLISHED, Path
from simlab.decoders.tree import NONE

Branching = str | Sequence[int] | Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Families:
    """The parents of one level that have equally many children, the first of them ``nodes.start`` and those after."""

    rows: tuple[int, ...]  # of the parents
    places: Constant  # int[P]: where these rows are among those before the level
    nodes: range
    count: int  # the children of each

    def lanes(self, k: int) -> tuple[int, ...]:
        """The k-th child of each."""
        return tuple(self.nodes[k :: self.count])


@dataclass(frozen=True, eq=False)
class Levels:
    """The shape of a tree of D levels."""

    starts: tuple[int, ...]  # the first node of each level, and how many nodes there are
    families: tuple[tuple[Families, ...], ...]  # by level
    children: Constant  # int[nodes + 1, K]: the children of each row, then NONE
    paths: tuple[Constant, ...]  # by level j: int[nodes up to it, j + 1], the way down to each, then NONE
    depths: Constant  # int[nodes + 1]: the level of the row after each, 0 for the root

    @property
    def depth(self) -> int:
        return len(self.families)

    @property
    def nodes(self) -> int:
        return self.starts[-1]

    def rows(self, level: int) -> range:
        """The rows that stand before the nodes of a level: its parents, and nodes beside them that have no children."""
        return range(1) if level == 0 else range(1 + self.starts[level - 1], 1 + self.starts[level])


def check_branching(branching: Any) -> tuple[int, ...] | tuple[Path, ...]:
    """``branching`` as numbers or nodes; ``ValueError`` for what says no shape."""
    if isinstance(branching, str) and branching in PUBLISHED:
        return PUBLISHED[branching]
    if isinstance(branching, str) or not isinstance(branching, Sequence) or not branching:
        raise ValueError(
            f"branching is {branching!r}; expected how many children a node of each level has, the nodes themselves, "
            f"or one of {', '.join(PUBLISHED)}"
        )
    if not isinstance(branching[0], Sequence):
        return tuple(check_at_least("a number of branching", count, 1) for count in branching)
    paths = tuple(_checked_path(path) for path in branching)
    known = {(), *paths}
    if len(known) <= len(paths):
        raise ValueError(f"branching has {len(paths)} nodes, some of them twice; expected each once")
    for *above, last in paths:
        for needed in (tuple(above), *((*above, elder) for elder in range(last))):
            if needed not in known:
                raise ValueError(
                    f"branching has the node {[*above, last]} but not {list(needed)}; "
                    "expected the parent and the elder siblings of every node"
                )
    return paths


def _checked_path(path: Any) -> Path:
    if isinstance(path, str) or not isinstance(path, Sequence) or not path:
        raise ValueError(f"branching has the node {path!r}; expected the way down to each, such as [0, 1]")
    return tuple(check_at_least("a number of branching", rank, 0) for rank in path)


def count_branches(branching: Branching) -> int:
    """How many nodes that tree has, without making it."""
    counts = check_branching(branching)
    if isinstance(counts[0], tuple):
        return len(counts)
    return sum(prod(counts[: level + 1]) for level in range(len(counts)))


@cache
def levels_of(branching: tuple[int, ...] | tuple[Path, ...]) -> Levels:
    """The tree of that branching, as :func:`check_branching` gives it."""
    counts = _counts(branching)
    rows: list[Path] = [()]  # the way down to each row
    levels, starts, families = [range(1)], [0], []
    while any(rows[row] in counts for row in levels[-1]):
        above = levels[-1]
        sizes = sorted({counts[rows[row]] for row in above if rows[row] in counts}, reverse=True)
        level = []
        for count in sizes:
            parents = tuple(row for row in above if counts.get(rows[row]) == count)
            first = len(rows) - 1
            rows += [(*rows[row], rank) for row in parents for rank in range(count)]
            places = Constant(np.array(parents) - above.start)
            level.append(Families(parents, places, range(first, len(rows) - 1), count))
        families.append(tuple(level))
        starts.append(len(rows) - 1)
        levels.append(range(above.stop, len(rows)))
    numbers = {path: row - 1 for row, path in enumerate(rows)}
    routes = [[numbers[path[: j + 1]] for j in range(len(path))] for path in rows[1:]]
    kin = [[numbers[*path, rank] for rank in range(counts.get(path, 0))] for path in rows]
    paths = (_table(routes[: starts[level + 1]], level + 1) for level in range(len(families)))
    depths = Constant(np.array(list(map(len, rows))))
    return Levels(tuple(starts), tuple(families), _table(kin, max(counts.values())), tuple(paths), depths)


def _counts(branching: tuple[int, ...] | tuple[Path, ...]) -> dict[Path, int]:
    """How many children each node has that has some."""
    if not isinstance(branching[0], tuple):
        ranks = [range(count) for count in branching]
        return {path: count for j, count in enumerate(branching) for path in product(*ranks[:j])}
    counts: dict[Path, int] = {}
    for path in branching:
        counts[path[:-1]] = counts.get(path[:-1], 0) + 1
    return counts


def _table(lists: Sequence[Sequence[int]], width: int) -> Constant:
    """``int[len(lists), width]``: each list, then NONE."""
    return Constant(np.array([[*each, *[NONE] * (width - len(each))] for each in lists]))
