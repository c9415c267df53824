"""SJD with block verification of its window compiled: :mod:`simlab.decoders.sjd_block`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from simlab.arrays_compiled import total
from simlab.decoders.compiled.base import copy, forward
from simlab.decoders.compiled.block import coin, weights
from simlab.decoders.compiled.joint import after_prefix, longest_prefix
from simlab.decoders.compiled.sjd import SjdKernel, Window, Windows, advance_window
from simlab.decoders.sjd import SjdState
from simlab.decoders.sjd_block import LOSSLESS, SjdBlock
from simlab.processes import Process
from simlab.randomness import Purpose
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule
from simlab.rules.compiled.dispatch import compiled


class SjdBlockKernel(SjdKernel, of=(SjdBlock,)):
    """SJD whose window is verified as a block, drafts behind by coins of their own."""

    def __init__(self, decoder: Any, process: Process, rule: CompiledRule, draft: Process | None) -> None:
        super().__init__(decoder, process, compiled(LOSSLESS), draft)
        self.wide = True

    def step(self, state: SjdState, uniforms: Uniforms) -> np.ndarray:
        width = self.window.width
        p = forward(self.process, state.tokens, state.length, width + 1)
        again = uniforms.row(state.length, width, Purpose.ACCEPT, lane=1)
        return _step(self.window, self.rule, p, self.windows(state, uniforms), again)


@njit(nogil=True, cache=True)
def _step(window: Window, rule: CompiledRule, p: np.ndarray, windows: Windows, again: np.ndarray) -> np.ndarray:
    """One call with the rows ``p[B, W+1, V]`` and coins for drafts behind ``[B, W]``; returns the drafts accepted."""
    width, tokens, length = window.width, windows.tokens, windows.length
    counts = np.empty(len(p), np.int64)
    for b in range(len(p)):
        x, q, coins = tokens[b, length[b] : length[b] + width].copy(), windows.q[b], windows.coins[b]
        w = weights(p[b], q, x)
        count = longest_prefix(coin, w, w[width], p[b], q, coins)
        after = after_prefix(w, p[b], q, count, windows.noise[b, count])
        for j in range(count + 1, width):  # what drafts behind follow, and are verified as
            follow(w[j], p[b, j], q[j])
        copy(again[b], coins)
        advance_window(window, rule, windows, b, p[b], x, count, after, count == width)
        counts[b] = count
    return counts


@njit(nogil=True, cache=True)
def follow(w: float, p: np.ndarray, q: np.ndarray) -> None:
    """q becomes [q - w p]+, scaled up; it stays where that is empty."""
    left = np.maximum(q - w * p.astype(np.float64), 0.0)
    mass = total(left)
    if mass > 0:
        copy(left / mass, q)
