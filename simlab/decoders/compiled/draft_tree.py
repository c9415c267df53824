"""Trees that a draft model makes level by level, compiled: :mod:`simlab.decoders.draft_tree`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from simlab.decoders.compiled.base import Kernel, forward
from simlab.decoders.compiled.sjd_tree import remove_token
from simlab.decoders.drafted import SpeculativeState
from simlab.decoders.tree import NONE
from simlab.processes import Process
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule


class Trees(NamedTuple):
    """A tree of M drafts behind each of B sequences."""

    p: np.ndarray  # [B, M + 1, V]
    q: np.ndarray  # [B, R, V]: of the rows that are not of the last level
    nodes: np.ndarray  # int64[B, M]
    children: np.ndarray  # int64[M + 1, K]: the nodes below each row, then NONE
    tokens: np.ndarray  # int64[B, N + D + 1]
    length: np.ndarray  # int64[B]
    end: int  # N


class DraftTreeKernel(Kernel[SpeculativeState]):
    """A tree of drafts, verified in one call, and one more token."""

    def __init__(self, decoder: Any, process: Process, rule: CompiledRule, draft: Process | None) -> None:
        super().__init__(decoder, process, rule, draft)
        levels = self.levels = decoder.levels
        self.children, self.routes = levels.children.values, levels.paths[-1].values
        self.depths, self.lanes = levels.depths.values, np.arange(levels.nodes)

    @property
    def rows(self) -> int:
        return 2 * self.levels.nodes + 1

    def step(self, state: SpeculativeState, uniforms: Uniforms) -> np.ndarray:
        tokens, length = state
        nodes, q = self._drafted(tokens, length, uniforms)
        p = np.ascontiguousarray(self.process.forward_tree(tokens, length, np.maximum(nodes, 0), self.routes))
        return self.verify(Trees(p, q, nodes, self.children, tokens, length, self.end), uniforms)

    @abstractmethod
    def verify(self, trees: Trees, uniforms: Uniforms) -> np.ndarray:
        """Verify and commit; returns the drafts accepted ``[B]``."""

    def drawing(self) -> tuple[bool, int]:
        """Whether siblings are drawn with replacement, and how many of a family, from its last, by chance."""
        return self.decoder.replacement, self.children.shape[1]

    def _drafted(self, tokens: np.ndarray, length: np.ndarray, uniforms: Uniforms) -> tuple[np.ndarray, np.ndarray]:
        """The nodes ``int[B, M]`` and the draft's rows ``[B, R, V]`` of those that are not of the last level."""
        levels = self.levels
        assert self.draft is not None, "simulate checks it"
        nodes = np.empty((len(tokens), levels.nodes), np.int64)
        rows = []
        drafting = uniforms.of(length, self.depths[1:] - 1, self.lanes, Purpose.DRAFT)
        for level in range(levels.depth):
            made = forward(self.draft, tokens, length, 1) if level == 0 else self._below(level, tokens, length, nodes)
            families = self.children[levels.rows(level).start : levels.rows(level).stop]
            _draw_families(made, families, *self.drawing(), drafting, nodes)
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
    rows: np.ndarray, families: np.ndarray, replacement: bool, chance: int, uniforms: np.ndarray, nodes: np.ndarray
) -> None:
    """Draw the children ``families[P, K]`` of each of ``rows[B, P, V]`` to their places in ``nodes``."""
    for g in range(len(families)):
        count = np.sum(families[g] != NONE)
        for b in range(len(rows)):
            left = rows[b, g].astype(np.float64)
            for k in range(count):
                node = families[g, k]
                nodes[b, node] = NONE
                if np.any(left > 0):
                    nodes[b, node] = inverse_cdf(left, uniforms[b, node]) if count - k <= chance else likeliest(left)
                if not replacement:
                    remove_token(left, nodes[b, node])


@njit(nogil=True, cache=True)
def likeliest(row: np.ndarray) -> int:
    """The first of the largest entries of a row."""
    found = 0
    for v in range(len(row)):
        if row[v] > row[found]:
            found = v
    return found
