"""Speculative Jacobi decoding over a tree compiled: :mod:`simlab.decoders.sjd_pd`, :mod:`simlab.decoders.sjd_pac`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from simlab.arrays_compiled import total
from simlab.decoders.compiled.base import next_token, scan
from simlab.decoders.compiled.renewal import Renewal
from simlab.decoders.compiled.sjd import Outcomes, SjdKernel, Window, Windows, advance_windows, verify_windows
from simlab.decoders.sjd import SjdState
from simlab.decoders.sjd_pac import SjdPac
from simlab.decoders.sjd_pd import SjdPd
from simlab.decoders.tree import NONE
from simlab.processes import Process
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule
from simlab.rules.compiled.dispatch import accept, residual


class Candidates(NamedTuple):
    """A tree of drafts at the first positions of each window, and the coins that decide on them."""

    nodes: np.ndarray  # int64[B, M]: their tokens
    children: np.ndarray  # int64[M + 1, K]: the nodes below each row, then NONE
    depth: int  # D
    turns: np.ndarray  # [B, D K]


class TreeKernel(SjdKernel, of=(SjdPd, SjdPac)):
    """SJD with several candidates at the first positions of the window."""

    def __init__(self, decoder: Any, process: Process, rule: CompiledRule, draft: Process | None) -> None:
        super().__init__(decoder, process, rule, draft)
        shape = decoder.draft_tree()
        self.paths, self.children = shape.paths.values, shape.children.values
        self.parents = np.full((shape.depth, max(map(len, shape.parents))), NONE)
        for j, parents in enumerate(shape.parents):
            self.parents[j, : len(parents)] = parents
        self.level = (self.paths != NONE).sum(axis=1) - 1
        depth, candidates = shape.depth, decoder.candidates
        self.places, self.turns = np.repeat(np.arange(depth), candidates), np.tile(np.arange(candidates), depth)

    @property
    def rows(self) -> int:
        return self.window.width + self.memory + len(self.paths) + 1

    def step(self, state: SjdState, uniforms: Uniforms) -> np.ndarray:
        rows, drawn = self.called(state, uniforms, self.decoder.shared)
        turns = uniforms.of(state.length, self.places, self.turns, Purpose.ACCEPT)
        candidates = Candidates(drawn, self.children, len(self.parents), turns)
        return _step(candidates, self.renewal, self.window, self.rule, rows, self.windows(state, uniforms))

    def called(self, state: SjdState, uniforms: Uniforms, shared: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Draw the tree; one call of the target gives the rows after all of its nodes. The rows, and the nodes."""
        tokens, length, q, nodes = state.tokens, state.length, state.q, np.arange(len(self.paths))
        drafting = uniforms.of(length, self.level, nodes, Purpose.DRAFT)
        drawn = _expand_tree(self.window.width, self.parents, self.children, shared, tokens, length, q, drafting)
        rows = np.ascontiguousarray(
            self.process.forward_tree(tokens, length, np.maximum(drawn, 0), self.paths),
            dtype=self.process.uniform.dtype,
        )
        return rows, drawn


@njit(nogil=True, cache=True)
def _expand_tree(
    width: int,
    parents: np.ndarray,
    children: np.ndarray,
    shared: bool,
    tokens: np.ndarray,
    length: np.ndarray,
    q: np.ndarray,
    uniforms: np.ndarray,
) -> np.ndarray:
    """``int[B, M]``: the token of every node, NONE where a row has no more tokens to draw."""
    nodes = np.empty((len(tokens), uniforms.shape[1]), np.int64)
    for b in range(len(tokens)):
        nodes[b, :width] = tokens[b, length[b] : length[b] + width]
        for j in range(len(parents)):
            for g in range(parents.shape[1]):
                if parents[j, g] == NONE:
                    break
                family = children[parents[j, g]]
                if shared and g > 0:
                    nodes[b, family] = nodes[b, children[parents[j, 0]]]
                else:
                    _siblings(width, q[b, j], family, uniforms[b], nodes[b])
    return nodes


@njit(nogil=True, cache=True)
def _siblings(width: int, q: np.ndarray, family: np.ndarray, uniforms: np.ndarray, nodes: np.ndarray) -> None:
    """The tokens of a ``family`` of nodes, drawn from ``q[V]`` without replacement; the chain's is known."""
    remaining = q.astype(np.float64)
    for k in range(len(family)):
        node = family[k]
        if node >= width:
            nodes[node] = inverse_cdf(remaining, uniforms[node]) if np.any(remaining > 0) else NONE
        if k + 1 < len(family):
            remove_token(remaining, nodes[node])


@njit(nogil=True, cache=True)
def remove_token(row: np.ndarray, x: int) -> None:
    """``row`` without the token x, normalised: :func:`simlab.arrays.without`."""
    if x != NONE:
        row[x] = 0.0
    mass = total(row)
    for y in range(len(row)):
        row[y] = row[y] / mass if mass > 0 else 0.0


@njit(nogil=True, cache=True)
def _step(
    candidates: Candidates, renewal: Renewal, window: Window, rule: CompiledRule, rows: np.ndarray, windows: Windows
) -> np.ndarray:
    """One call with ``rows[B, M+1, V]``, after the prefix and after every node; returns the drafts accepted ``[B]``."""
    return advance_windows(renewal, window, rule, rows, windows, _verify_all(candidates, rule, rows, windows))


@njit(nogil=True, cache=True)
def _verify_all(candidates: Candidates, rule: CompiledRule, rows: np.ndarray, windows: Windows) -> Outcomes:
    """Every window verified; apart from :func:`_step`, which is compiled for each renewal."""
    return verify_windows(_verify, candidates, rule, rows, windows)


@njit(inline="always")
def _verify(
    candidates: Candidates, rule: CompiledRule, windows: Windows, b: int, rows: np.ndarray, x: np.ndarray
) -> tuple[int, int, bool]:
    """As :func:`verify_windows` asks: down the tree, and then along the chain, which goes on below it."""
    children, depth, nodes, turns = candidates.children, candidates.depth, candidates.nodes[b], candidates.turns[b]
    q, coins, noise, width, siblings = windows.q[b], windows.coins[b], windows.noise[b], len(x), children.shape[1]

    # down the tree while a candidate is accepted
    row, count, after, rejected = 0, 0, rows[0].astype(np.float64), False
    while count < depth and children[row, 0] != NONE:
        mine = turns[count * siblings : (count + 1) * siblings]
        chosen, after = verify_candidates(rule, rows[row], q[count], nodes[children[row]], mine)
        rejected = chosen == NONE
        if rejected:
            break
        x[count] = nodes[children[row, chosen]]
        row, count = children[row, chosen] + 1, count + 1

    # the chain goes on below the tree
    if not rejected and row == depth and count == depth < width:
        more = scan(rule, rows, q, x, coins, depth, width)
        count, rejected = depth + more, more < width - depth
        token = next_token(rule, rows, q, x, count, width, noise[count])
    elif rejected:
        token = inverse_cdf(after, noise[count])
    else:
        token = inverse_cdf(rows[row], noise[count])
    return count, token, not rejected


@njit(nogil=True, cache=True)
def verify_candidates(
    rule: CompiledRule, p: np.ndarray, q: np.ndarray, candidates: np.ndarray, coins: np.ndarray
) -> tuple[int, np.ndarray]:
    """Verify the ``candidates[K]`` of a node in turn: the accepted one, or NONE, and the last residual."""
    target, declared = p.astype(np.float64), q.astype(np.float64)
    for k in range(len(candidates)):
        x = candidates[k]
        if x == NONE:
            continue
        if coins[k] < accept(rule, target, declared, x):
            return k, target
        target = residual(rule, target, declared, x)
        remove_token(declared, x)
    return NONE, target
