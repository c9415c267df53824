"""A static tree verified from the root down compiled: :mod:`simlab.decoders.candidate_tree`.

Drafts and recursive rejection are compiled. What other verifiers emit is asked of their reference form, for all
sequences of a batch at once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.candidates import Deterministic, Greedy, Independent, Recursive
from simlab.decoders.candidate_tree import DRAWN, CandidateTree
from simlab.decoders.compiled.draft_tree import DraftTreeKernel, Trees, likeliest
from simlab.decoders.compiled.sjd_tree import remove_token
from simlab.decoders.tree import NONE
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule
from simlab.rules.compiled.dispatch import accept, compiled, residual


class CandidateTreeKernel(DraftTreeKernel, of=(CandidateTree,)):
    """A tree of candidates, verified from root to leaf, and one more token."""

    def drawing(self) -> tuple[bool, int]:
        kind = self.decoder.drawing
        by_chance = {Greedy: 1, Deterministic: 0}.get(type(kind), self.children.shape[1])
        return isinstance(kind, Independent), by_chance

    def verify(self, trees: Trees, uniforms: Uniforms) -> np.ndarray:
        emitting = uniforms.row(trees.length, self.levels.depth, Purpose.TARGET, DRAWN)
        noise = uniforms.row(trees.length, self.levels.depth + 1, Purpose.TARGET)
        count = len(trees.p)
        row, going, emitted = np.zeros(count, np.int64), np.ones(count, bool), np.full(count, NONE)
        for level in range(self.levels.depth):
            trying = np.flatnonzero(going & (self.children[row, 0] != NONE))
            laws, coins = self._laws(trees, row, trying), np.ascontiguousarray(emitting[:, level])
            _descend(trees, laws, trying, coins, row, going, emitted)
        depths = self.depths[row]
        _commit(trees, self.routes, depths, noise, row, emitted)
        return depths

    def _laws(self, trees: Trees, row: np.ndarray, trying: np.ndarray) -> np.ndarray:
        """What is emitted after the rows of the sequences ``trying[n]``, ``[n, V]``."""
        verifier = self.decoder.trying
        if isinstance(verifier, Recursive):
            return _recursive(compiled(verifier.rule), trees, row, trying, *self.drawing())
        laws = np.empty((len(trying), self.vocabulary))
        counts = (self.children[row[trying]] != NONE).sum(axis=1)
        for count in np.unique(counts):
            own = counts == count
            b = trying[own]
            x = trees.nodes[b[:, None], self.children[row[b], :count]]
            laws[own] = sum(verifier.verify(trees.p[b, row[b]], trees.q[b, row[b]], x, self.decoder.drawing))
        return laws


@njit(nogil=True, cache=True)
def _recursive(
    rule: CompiledRule, trees: Trees, row: np.ndarray, trying: np.ndarray, replacement: bool, chance: int
) -> np.ndarray:
    """``[n, V]``: the law of the token emitted by recursive rejection of the children of ``row[B]``."""
    p, q, nodes, children = trees.p, trees.q, trees.nodes, trees.children
    laws = np.zeros((len(trying), p.shape[2]))
    for n in range(len(trying)):
        b = trying[n]
        family = children[row[b]]
        count = np.sum(family != NONE)
        left, declared = p[b, row[b]].astype(np.float64), q[b, row[b]].astype(np.float64)
        reached = 1.0  # the probability that all before were rejected
        for k in range(count):
            x = nodes[b, family[k]]
            if x != NONE:
                scored = declared
                if count - k > chance:
                    scored = np.zeros(len(declared))
                    scored[likeliest(declared)] = 1.0
                keep = accept(rule, left, scored, x)
                laws[n, x] += reached * keep
                reached *= 1.0 - keep
                left = residual(rule, left, scored, x)
            if not replacement:
                remove_token(declared, x)
        for v in range(len(left)):
            laws[n, v] += reached * left[v]
    return laws


@njit(nogil=True, cache=True)
def _descend(
    trees: Trees,
    laws: np.ndarray,
    trying: np.ndarray,
    uniforms: np.ndarray,
    row: np.ndarray,
    going: np.ndarray,
    emitted: np.ndarray,
) -> None:
    """Draw a token from each of ``laws[n, V]``; on to the first child that has it, or else it is what is emitted."""
    going[:] = False
    for n in range(len(trying)):
        b = trying[n]
        token = inverse_cdf(laws[n], uniforms[b])
        for node in trees.children[row[b]]:
            if node != NONE and trees.nodes[b, node] == token:
                row[b], going[b] = node + 1, True
                break
        if not going[b]:
            emitted[b] = token


@njit(nogil=True, cache=True)
def _commit(
    trees: Trees, routes: np.ndarray, depths: np.ndarray, noise: np.ndarray, row: np.ndarray, emitted: np.ndarray
) -> None:
    """The way down to ``row[B]``, and the token emitted there, or else one from the target's row."""
    p, nodes, tokens, length = trees.p, trees.nodes, trees.tokens, trees.length
    for b in range(len(p)):
        for j in range(depths[b]):
            tokens[b, length[b] + j] = nodes[b, routes[row[b] - 1, j]]
        last = emitted[b] if emitted[b] != NONE else inverse_cdf(p[b, row[b]], noise[b, depths[b]])
        tokens[b, length[b] + depths[b]] = last
        length[b] = min(length[b] + depths[b] + 1, trees.end)
