"""The shape of a tree of drafts: a chain with more candidates at its first positions.

SJD-PAC, section 4.1, "Shallow, Wide Tree": one of ``candidates`` K a node for the first ``depth`` D positions, of which
one path, the first, is extended to a chain of ``window`` tokens. The paper leaves open whether every node of the
tree has K children or only those of the chain:

``comb``
    the K candidates of a position follow the chain; only the first has children. window + (K - 1) D nodes.
``full``
    every node of the first D positions has K children. window + (K + K^2 + ... + K^D) - D nodes.

Nodes 0 to window - 1 are the chain; the others follow by position. The shape does not depend on values, so it is made
once, and a model can lay out its attention ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np

from simlab.arrays import Constant

Shape = Literal["comb", "full"]
SHAPES: tuple[str, ...] = get_args(Shape)
NONE = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of nodes. Row r is the pmf after node r - 1, and row 0 the pmf after the prefix."""

    depth: int  # at most the window
    parents: tuple[tuple[int, ...], ...]  # by level: the rows whose children make it up, the chain's first
    children: Constant  # int[nodes + 1, K]: the children of each row as nodes, NONE where there are none
    paths: Constant  # int[nodes, window]: the nodes from the root down to each, then NONE
    families: Families  # the same by parent, for whoever looks at all of them at once

    @property
    def nodes(self) -> int:
        """How many drafts one call verifies."""
        return len(self.paths.values)


@dataclass(frozen=True, eq=False)
class Families:
    """A tree by its P parents, level after level; G of them, all or the chain's alone, have children of their own."""

    rows: Constant  # int[P]: the row of each parent
    nodes: Constant  # int[P, K]: its children
    of_row: Constant  # int[nodes + 1]: the number of each row among the parents, NONE of one that is none
    group: Constant  # int[P]: the parent of the G whose candidates it has
    levels: Constant  # int[G]: the position the children stand at
    on_chain: Constant  # bool[G]: whether the first child is the chain's own
    turns: tuple[tuple[int, ...], ...]  # by candidate: that child of each of the G
    drawn: Constant  # int[nodes]: where each node stands among the window's tokens and then all children, G * K


@cache
def make_tree(shape: Shape, window: int, candidates: int, depth: int, shared: bool = False) -> Tree:
    """The tree of that shape; ``depth`` is at most the window, and ``shared`` says whether all nodes of one position
    have the same candidates."""
    depth = min(depth, window)
    paths = [list(range(j + 1)) for j in range(window)]
    children: dict[int, list[int]] = {j: [j] for j in range(window)}  # row j, after chain node j - 1
    parents, level = [], [0]
    for j in range(depth):
        parents.append(tuple(level))
        below = []
        for row in level:
            first = [j] if row == j else []  # the chain's own
            others = range(len(paths), len(paths) + candidates - len(first))
            prefix = [] if row == 0 else paths[row - 1]
            paths += [[*prefix, node] for node in others]
            children[row] = [*first, *others]
            below += [node + 1 for node in children[row]]
        level = [j + 1] if shape == "comb" else below
    table = np.full((len(paths) + 1, candidates), NONE, dtype=np.int64)
    for row, nodes in children.items():
        table[row, : len(nodes)] = nodes
    routes = np.array([path + [NONE] * (window - len(path)) for path in paths], dtype=np.int64)
    families = _families(parents, table, window, shared)
    return Tree(depth, tuple(parents), Constant(table), Constant(routes), families)


def _families(parents: list[tuple[int, ...]], children: np.ndarray, window: int, shared: bool) -> Families:
    rows = np.array([row for level in parents for row in level])
    levels = np.array([j for j, level in enumerate(parents) for _ in level])
    of_row = np.full(len(children), NONE)
    of_row[rows] = np.arange(len(rows))
    kept, group = np.arange(len(rows)), np.arange(len(rows))
    if shared:
        kept, group = of_row[np.arange(len(parents))], levels  # the chain's row of a level has the level's number
    nodes, own = children[rows], children[rows[kept]]
    drawn = np.arange(len(children) - 1)
    drawn[nodes.ravel()] = window + (group[:, None] * nodes.shape[1] + np.arange(nodes.shape[1])).ravel()
    return Families(
        Constant(rows),
        Constant(nodes),
        Constant(of_row),
        Constant(group),
        Constant(levels[kept]),
        Constant(own[:, 0] < window),
        tuple(tuple(turn) for turn in own.T.tolist()),
        Constant(drawn),
    )


def count_nodes(shape: Shape, window: int, candidates: int, depth: int) -> int:
    """How many nodes that tree has, without making it."""
    depth = min(depth, window)
    if shape == "comb":
        return window + (candidates - 1) * depth
    return window - depth + sum(candidates**j for j in range(1, depth + 1))
