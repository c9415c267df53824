"""The shape of a tree of drafts: a chain with more candidates at its first positions.

SJD-PAC, section 4.1: "a shallow, wide tree" of ``candidates`` K a node for the first ``depth`` D positions, of which
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
    lanes: tuple[tuple[Constant, ...], ...]  # by level and candidate: the nodes drawn; lanes of the tape

    @property
    def nodes(self) -> int:
        """How many drafts one call verifies."""
        return len(self.paths.values)


@cache
def make_tree(shape: Shape, window: int, candidates: int, depth: int) -> Tree:
    """The tree of that shape; ``depth`` is at most the window."""
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
    lanes = tuple(tuple(Constant(table[list(level), k]) for k in range(candidates)) for level in parents)
    return Tree(depth, tuple(parents), Constant(table), Constant(routes), lanes)


def count_nodes(shape: Shape, window: int, candidates: int, depth: int) -> int:
    """How many nodes that tree has, without making it."""
    depth = min(depth, window)
    if shape == "comb":
        return window + (candidates - 1) * depth
    return window - depth + sum(candidates**j for j in range(1, depth + 1))
