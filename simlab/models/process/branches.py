"""The shape of a tree of drafts, as a key-value cache sees it: a longest path, the chain, and the nodes beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.arrays import Constant


@dataclass(frozen=True, eq=False)
class Branches:
    """The shape of one tree."""

    depth: int
    paths: Constant  # int[M, D]: the nodes from the root down to each, itself last, then -1
    depths: Constant  # int[M]: 0 for those that follow the prefix
    ancestors: Constant  # bool[M, M]: whether each node sees each, those on its path
    chain: Constant  # int[D]: the nodes of the chain
    aside: Constant  # int[M]: the number of each node among those beside the chain, -1 on it
    others: Constant  # int[A]: those nodes
    depths_of_others: Constant  # int[A]
    earlier: Constant  # bool[A, A]: whether the second of two such nodes comes first at the depth of both

    @property
    def spread(self) -> int:
        """How many nodes are beside the chain."""
        return len(self.others.values)


def branches(table: np.ndarray) -> Branches:
    """The shape of a tree whose paths are ``table[M, D]``."""
    count = len(table)
    depths = (table >= 0).sum(axis=1) - 1
    chain = table[depths.argmax()]
    chain = chain[chain >= 0]
    others = np.setdiff1d(np.arange(count), chain)
    aside = np.full(count, -1)
    aside[others] = np.arange(len(others))
    ancestors = np.zeros((count, count + 1), dtype=bool)  # the last column is that of -1
    np.put_along_axis(ancestors, table, True, axis=1)
    below = depths[others]
    return Branches(
        len(chain),
        Constant(table[:, : len(chain)]),
        Constant(depths),
        Constant(ancestors[:, :count].copy()),
        Constant(chain),
        Constant(aside),
        Constant(others),
        Constant(below),
        Constant(np.tril(below[:, None] == below, -1)),
    )
