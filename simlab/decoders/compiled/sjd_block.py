"""SJD with block verification of its window compiled: :mod:`simlab.decoders.sjd_block`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy, total
from simlab.decoders.compiled.base import forward
from simlab.decoders.compiled.block import coin, weights
from simlab.decoders.compiled.joint import after_prefix, longest_prefix
from simlab.decoders.compiled.renewal import Renewal
from simlab.decoders.compiled.sjd import SjdKernel, Window, Windows, advance_windows, verify_windows
from simlab.decoders.sjd import SjdState
from simlab.decoders.sjd_block import SjdBlock
from simlab.randomness import Purpose
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule


class SjdBlockKernel(SjdKernel, of=(SjdBlock,)):
    """SJD whose window is verified as a block, drafts behind by coins of their own."""

    lossless = True

    def step(self, state: SjdState, uniforms: Uniforms) -> np.ndarray:
        width = self.window.width
        p = forward(self.process, state.tokens, state.length, width + 1)
        again = uniforms.row(state.length, width, Purpose.ACCEPT, lane=1)
        return _step(self.renewal, self.window, self.rule, p, self.windows(state, uniforms), again)


@njit(nogil=True, cache=True)
def _step(
    renewal: Renewal, window: Window, rule: CompiledRule, p: np.ndarray, windows: Windows, again: np.ndarray
) -> np.ndarray:
    """One call with the rows ``p[B, W+1, V]`` and coins for drafts behind ``[B, W]``; returns the drafts accepted."""
    return advance_windows(renewal, window, rule, p, windows, verify_windows(_verify, again, rule, p, windows))


@njit(nogil=True, cache=True)
def _verify(
    again: np.ndarray, rule: CompiledRule, windows: Windows, b: int, p: np.ndarray, x: np.ndarray
) -> tuple[int, int, bool]:
    """As :func:`verify_windows` asks; the q and the coins of drafts behind become those they are verified with."""
    q, coins, width = windows.q[b], windows.coins[b], len(x)
    w = weights(p, q, x)
    count = longest_prefix(coin, w, w[width], p, q, coins)
    after = after_prefix(w, p, q, count, windows.noise[b, count])
    for j in range(count + 1, width):
        follow(w[j], p[j], q[j])
    copy(again[b], coins)
    return count, after, count == width


@njit(nogil=True, cache=True)
def follow(w: float, p: np.ndarray, q: np.ndarray) -> None:
    """q becomes [q - w p]+, scaled up; it stays where that is empty."""
    left = np.maximum(q - w * p.astype(np.float64), 0.0)
    mass = total(left)
    if mass > 0:
        copy(left / mass, q)
