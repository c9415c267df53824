"""SJD whose window is verified phrase by phrase compiled: :mod:`simlab.decoders.phrase`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.decoders.compiled.base import forward, next_token
from simlab.decoders.compiled.renewal import Renewal
from simlab.decoders.compiled.sjd import SjdKernel, Window, Windows, advance_windows, verify_windows
from simlab.decoders.phrase import SjdPv
from simlab.decoders.sjd import SjdState
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule


class Phrases(NamedTuple):
    """How a window is divided, and what of a phrase may be accepted."""

    size: int  # tokens of a phrase
    least: int  # the shortest beginning of a phrase that is tried; the whole phrase always is


class SjdPvKernel(SjdKernel, of=(SjdPv,)):
    """SJD whose window is accepted phrase by phrase."""

    lossless = True

    def step(self, state: SjdState, uniforms: Uniforms) -> np.ndarray:
        p = forward(self.process, state.tokens, state.length, self.window.width + 1)
        size = self.decoder.phrase
        phrases = Phrases(size, 1 if self.decoder.failing == "shorten" else size)
        return _step(phrases, self.renewal, self.window, self.rule, p, self.windows(state, uniforms))


@njit(nogil=True, cache=True)
def _step(
    phrases: Phrases, renewal: Renewal, window: Window, rule: CompiledRule, p: np.ndarray, windows: Windows
) -> np.ndarray:
    """One call with the rows ``p[B, W+1, V]``; returns the drafts accepted ``[B]``."""
    return advance_windows(renewal, window, rule, p, windows, verify_windows(_verify, phrases, rule, p, windows))


@njit(inline="always")
def _verify(
    phrases: Phrases, rule: CompiledRule, windows: Windows, b: int, p: np.ndarray, x: np.ndarray
) -> tuple[int, int, bool]:
    """As :func:`verify_windows` asks: the phrases up to the first that is not accepted whole, and the token after."""
    q = windows.q[b]
    count = _scan_phrases(phrases, p, q, x, windows.coins[b])
    return count, next_token(rule, p, q, x, count, len(x), windows.noise[b, count]), count == len(x)


@njit(nogil=True, cache=True)
def _scan_phrases(phrases: Phrases, p: np.ndarray, q: np.ndarray, x: np.ndarray, coins: np.ndarray) -> int:
    """How many of the drafts ``x[W]`` are accepted; the last phrase may be shorter."""
    count, width = 0, len(x)
    for first in range(0, width, phrases.size):
        stop, ratio = min(first + phrases.size, width), 1.0
        for j in range(first, stop):
            ratio = ratio * np.float64(p[j, x[j]]) / np.float64(q[j, x[j]])
            tried = j + 1 == stop or j + 1 - first >= phrases.least
            if tried and coins[j] < ratio:  # the longest beginning whose coin comes up; every coin is below 1
                count = j + 1
        if count < stop:
            break
    return count
