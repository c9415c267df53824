"""A dynamic tree of drafts compiled: :mod:`simlab.decoders.dynamic_tree`.

How the tree grows is the reference form's own, but for what looks at whole rows: the likeliest of many.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.decoders.compiled.base import Kernel
from simlab.decoders.drafted import SpeculativeState
from simlab.decoders.dynamic_tree import ROOT, DynamicTree, combed, rows_after
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms


class DynamicTreeKernel(Kernel[SpeculativeState], of=(DynamicTree,)):
    """The likeliest paths of the draft as one tree, and one more token."""

    @property
    def rows(self) -> int:
        return 2 * self.decoder.total * (self.decoder.depth + 1) + 1

    def step(self, state: SpeculativeState, uniforms: Uniforms) -> np.ndarray:
        tokens, length = state
        assert self.draft is not None, "simulate checks it"
        tree = self.decoder.grow(self.draft, tokens, length, ranked)
        self.draft.hold(tokens, length, *combed(tree.paths))
        p = np.ascontiguousarray(rows_after(self.process, tokens, length, tree.paths, tree.depths))
        last = np.take_along_axis(tree.paths, tree.depths[..., None] - 1, axis=2)[..., 0]
        noise = uniforms.row(length, self.decoder.depth + 2, Purpose.TARGET)
        return _descend(p, tree.parents, last, tokens, length, noise, self.end)


def ranked(scores: np.ndarray, count: int) -> np.ndarray:
    """``int[..., count]``: :func:`simlab.decoders.dynamic_tree.ranked`."""
    size = scores.shape[-1]
    found = _ranked(np.ascontiguousarray(scores).reshape(-1, size), min(count, size))
    return found.reshape(*scores.shape[:-1], -1)


@njit(nogil=True, cache=True)
def _ranked(scores: np.ndarray, count: int) -> np.ndarray:
    """Where the ``count`` largest of each of ``scores[n, m]`` are, from the largest down, of equal ones the first."""
    found = np.empty((len(scores), count), np.int64)
    for n in range(len(scores)):
        row, best = scores[n], found[n]
        for m in range(len(row)):
            k = min(m, count)  # how many are there already
            if k == count and row[m] <= row[best[count - 1]]:
                continue
            k = min(k, count - 1)
            while k > 0 and row[m] > row[best[k - 1]]:
                best[k] = best[k - 1]
                k -= 1
            best[k] = m
    return found


@njit(nogil=True, cache=True)
def _descend(
    p: np.ndarray,
    parents: np.ndarray,
    last: np.ndarray,
    tokens: np.ndarray,
    length: np.ndarray,
    noise: np.ndarray,
    end: int,
) -> np.ndarray:
    """A token from the target's row of each node, down to the child that has it, as long as there is one."""
    counts = np.empty(len(p), np.int64)
    for b in range(len(p)):
        node, depth = ROOT, 0
        while True:
            token = inverse_cdf(p[b, node + 1], noise[b, depth])
            tokens[b, length[b] + depth] = token
            child = ROOT
            for m in range(parents.shape[1]):
                if parents[b, m] == node and last[b, m] == token:
                    child = m
                    break
            if child == ROOT:
                break
            node = child
            depth += 1
        length[b] = min(length[b] + depth + 1, end)
        counts[b] = depth
    return counts
