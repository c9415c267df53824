"""SJD with block verification and siblings of the first draft compiled: :mod:`simlab.decoders.sjd_block_tree`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy
from simlab.decoders.compiled.block import coin, weights
from simlab.decoders.compiled.joint import after_prefix, longest_prefix
from simlab.decoders.compiled.renewal import Renewal
from simlab.decoders.compiled.sjd import Window, Windows, advance_windows, verify_windows
from simlab.decoders.compiled.sjd_block import follow
from simlab.decoders.compiled.sjd_tree import TreeKernel, verify_candidates
from simlab.decoders.sjd import SjdState
from simlab.decoders.sjd_block_tree import SjdBlockTree
from simlab.decoders.tree import NONE
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule

NEVER = 2.0  # a coin that does not come up


class Siblings(NamedTuple):
    """The drafts of the first position, and the coins that decide on them and on drafts behind."""

    nodes: np.ndarray  # int64[B, M]: the tokens of the tree
    children: np.ndarray  # int64[M + 1, K]
    turns: np.ndarray  # [B, K]
    again: np.ndarray  # [B, W]


class SjdBlockTreeKernel(TreeKernel, of=(SjdBlockTree,)):
    """The chain as a block, then its siblings, then drafts behind by coins of their own."""

    lossless = True

    def step(self, state: SjdState, uniforms: Uniforms) -> np.ndarray:
        rows, drawn = self.called(state, uniforms)
        turns = uniforms.of(state.length, self.places, self.turns, Purpose.ACCEPT)
        again = uniforms.row(state.length, self.window.width, Purpose.ACCEPT, lane=1)
        windows = self.windows(state, uniforms)
        return _step(Siblings(drawn, self.children, turns, again), self.renewal, self.window, self.rule, rows, windows)


@njit(nogil=True, cache=True)
def _step(
    siblings: Siblings, renewal: Renewal, window: Window, rule: CompiledRule, rows: np.ndarray, windows: Windows
) -> np.ndarray:
    """One call with ``rows[B, M+1, V]``, after the prefix and after every node; returns the drafts accepted ``[B]``."""
    outcomes = verify_windows(_verify, siblings, rule, rows, windows)
    return advance_windows(renewal, window, rule, rows, windows, outcomes)


@njit(nogil=True, cache=True)
def _verify(
    siblings: Siblings, rule: CompiledRule, windows: Windows, b: int, rows: np.ndarray, x: np.ndarray
) -> tuple[int, int, bool]:
    """As :func:`verify_windows` asks; the q and the coins of drafts behind become those they are verified with."""
    nodes, children, turns, width = siblings.nodes[b], siblings.children, siblings.turns[b], len(x)
    p, q, coins, noise = rows[: width + 1], windows.q[b], windows.coins[b], windows.noise[b]
    w = weights(p, q, x)
    count = longest_prefix(coin, w, w[width], p, q, coins)
    whole = count == width
    if count > 0:
        after = after_prefix(w, p, q, count, noise[count])
    else:
        turns[0] = NEVER  # the chain's own draft, of which the block has decided
        chosen, left = verify_candidates(rule, p[0], q[0], nodes[children[0]], turns)
        if chosen == NONE:
            after = inverse_cdf(left, noise[0])
        else:
            count, whole = 1, True
            x[0] = nodes[children[0, chosen]]
            after = inverse_cdf(rows[children[0, chosen] + 1], noise[1])
    for j in range(count, width):  # what drafts behind follow, and are verified as
        follow(w[j], p[j], q[j])
    copy(siblings.again[b], coins)
    return count, after, whole
