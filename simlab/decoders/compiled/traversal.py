"""Traversal verification compiled: :mod:`simlab.decoders.traversal`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy, total
from simlab.decoders.compiled.draft_tree import DraftTreeKernel, Trees
from simlab.decoders.compiled.sjd_tree import remove_token
from simlab.decoders.traversal import Traversal
from simlab.decoders.tree import NONE
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms


class TraversalKernel(DraftTreeKernel, of=(Traversal,)):
    """A tree of drafts, verified from leaf to root, and one more token."""

    def verify(self, trees: Trees, uniforms: Uniforms) -> np.ndarray:
        rows = np.arange(self.levels.nodes + 1)
        coins = uniforms.of(trees.length, 0 * rows, rows, Purpose.ACCEPT)
        noise = uniforms.row(trees.length, self.levels.depth + 1, Purpose.TARGET)
        return _climb(trees, self.decoder.replacement, coins, noise)


@njit(nogil=True, cache=True)
def _climb(trees: Trees, replacement: bool, coins: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Each path is tried from its leaf up to the next child that has not been; the root is always accepted."""
    p, q, nodes, families, tokens, length, end = trees
    depth = noise.shape[1] - 1
    counts = np.empty(len(p), np.int64)
    targets, declared = np.empty((depth + 1, p.shape[2])), np.empty((depth + 1, p.shape[2]))
    weights, row, child = np.empty(depth + 1), np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    for b in range(len(p)):
        tried, d = 0, 0
        weights[0], row[0], child[0] = 1.0, 0, 0
        copy(p[b, 0], targets[0])
        copy(q[b, 0], declared[0])
        while True:
            if d < depth and child[d] < families.shape[1] and families[row[d], child[d]] != NONE:  # down to a child
                node = families[row[d], child[d]]
                x, weight = nodes[b, node], 0.0
                if x != NONE:
                    weight = min(1.0, weights[d] * targets[d, x] / declared[d, x])
                d += 1
                weights[d], row[d], child[d] = weight, node + 1, 0
                copy(p[b, row[d]], targets[d])
                if d < depth:
                    copy(q[b, row[d]], declared[d])
                continue
            if d == 0 or coins[b, tried] < weights[d]:
                break
            tried += 1
            x = nodes[b, row[d] - 1]
            d -= 1
            child[d] += 1
            if x != NONE:
                weights[d] = _reject(weights[d], targets[d], declared[d])
            if not replacement:
                remove_token(declared[d], x)
        for j in range(1, d + 1):
            tokens[b, length[b] + j - 1] = nodes[b, row[j] - 1]
        tokens[b, length[b] + d] = inverse_cdf(targets[d], noise[b, d])
        length[b] = min(length[b] + d + 1, end)
        counts[b] = d
    return counts


@njit(nogil=True, cache=True)
def _reject(weight: float, target: np.ndarray, declared: np.ndarray) -> float:
    """What is left of ``target`` once a child is rejected, in its place; returns the weight that is left."""
    excess = np.maximum(weight * target - declared, 0.0)
    s = total(excess)
    if s > 0:
        for v in range(len(target)):
            target[v] = excess[v] / s
    spread = s + (1.0 - weight)
    return s / spread if spread > 0 else 1.0
