"""Traversal verification compiled: :mod:`simlab.decoders.traversal`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from simlab.arrays_compiled import total
from simlab.decoders.compiled.base import Kernel, copy, forward
from simlab.decoders.compiled.sjd_tree import remove_token
from simlab.decoders.speculative import SpeculativeState
from simlab.decoders.tree import NONE
from simlab.processes import Process
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule


class TraversalKernel(Kernel[SpeculativeState]):
    """A tree of drafts, verified from leaf to root, and one more token."""

    def __init__(self, decoder: Any, process: Process, rule: CompiledRule, draft: Process | None) -> None:
        super().__init__(decoder, process, rule, draft)
        levels = self.levels = decoder.levels
        self.families = np.full((levels.nodes + 1, max(levels.branching)), NONE)
        for row in range(levels.nodes + 1):
            family = levels.children(row)
            self.families[row, : len(family)] = family
        self.depths, self.lanes = levels.depths.values[1:] - 1, np.arange(levels.nodes + 1)

    @property
    def rows(self) -> int:
        return 2 * self.levels.nodes + 1

    def start(self, uniforms: Uniforms, batch: int) -> SpeculativeState:
        tokens = np.zeros((batch, self.end + len(self.levels.branching) + 1), np.int64)
        return SpeculativeState(tokens, np.zeros(batch, np.int64))

    def step(self, state: SpeculativeState, uniforms: Uniforms) -> np.ndarray:
        tokens, length = state
        nodes, q = self._drafted(tokens, length, uniforms)
        p = np.ascontiguousarray(
            self.process.forward_tree(tokens, length, np.maximum(nodes, 0), self.levels.paths[-1].values)
        )
        coins = uniforms.of(length, 0 * self.lanes, self.lanes, Purpose.ACCEPT)
        noise = uniforms.row(length, len(self.levels.branching) + 1, Purpose.TARGET)
        return _climb(p, q, nodes, self.families, self.decoder.replacement, tokens, length, coins, noise, self.end)

    def _drafted(self, tokens: np.ndarray, length: np.ndarray, uniforms: Uniforms) -> tuple[np.ndarray, np.ndarray]:
        """The nodes ``int[B, M]`` and the draft's rows ``[B, R, V]`` of those that have children."""
        levels = self.levels
        assert self.draft is not None, "simulate checks it"
        nodes = np.empty((len(tokens), levels.nodes), np.int64)
        rows = []
        drafting = uniforms.of(length, self.depths, self.lanes[:-1], Purpose.DRAFT)
        for level in range(len(levels.branching)):
            made = forward(self.draft, tokens, length, 1) if level == 0 else self._below(level, tokens, length, nodes)
            families = self.families[levels.rows(level).start : levels.rows(level).stop, : levels.branching[level]]
            _draw_families(made, families, self.decoder.replacement, drafting, nodes)
            rows.append(made)
        return nodes, np.concatenate(rows, axis=1)

    def _below(self, level: int, tokens: np.ndarray, length: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """The draft's rows of the parents of a level that is not the first."""
        assert self.draft is not None, "simulate checks it"
        known = np.maximum(nodes[:, : self.levels.starts[level]], 0)
        made = self.draft.forward_tree(tokens, length, known, self.levels.paths[level - 1].values)
        return np.ascontiguousarray(made[:, self.levels.rows(level).start :])


@njit(nogil=True, cache=True)
def _draw_families(
    rows: np.ndarray, families: np.ndarray, replacement: bool, uniforms: np.ndarray, nodes: np.ndarray
) -> None:
    """Draw the children ``families[P, K]`` of each of ``rows[B, P, V]`` to their places in ``nodes``."""
    for b in range(len(rows)):
        for g in range(len(families)):
            left = rows[b, g].astype(np.float64)
            for node in families[g]:
                nodes[b, node] = inverse_cdf(left, uniforms[b, node]) if np.any(left > 0) else NONE
                if not replacement:
                    remove_token(left, nodes[b, node])


@njit(nogil=True, cache=True)
def _climb(
    p: np.ndarray,
    q: np.ndarray,
    nodes: np.ndarray,
    families: np.ndarray,
    replacement: bool,
    tokens: np.ndarray,
    length: np.ndarray,
    coins: np.ndarray,
    noise: np.ndarray,
    end: int,
) -> np.ndarray:
    """Each path is tried from its leaf up to the next child that has not been; the root is always accepted."""
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
