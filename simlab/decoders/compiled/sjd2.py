"""SJD whose new drafts are noise compiled: :mod:`simlab.decoders.sjd2`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy
from simlab.decoders.compiled.base import forward
from simlab.decoders.compiled.renewal import Renewal
from simlab.decoders.compiled.sjd import SjdKernel, Window, Windows, advance_windows, scan_window, verify_windows
from simlab.decoders.sjd import SjdState
from simlab.decoders.sjd2 import Sjd2
from simlab.processes import Process
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule


class Noise(NamedTuple):
    """What noise there is, and how much of it a draft may have."""

    levels: int  # of a new draft
    most: int  # of one that may be accepted


class Sjd2Kernel(SjdKernel, of=(Sjd2,)):
    """SJD over rows that are blurred behind noise."""

    def __init__(self, decoder: Any, process: Process, rule: CompiledRule, draft: Process | None) -> None:
        super().__init__(decoder, process, rule, draft)
        self.noise = Noise(decoder.levels, 0 if decoder.criterion == "clean" else decoder.levels)

    @property
    def rows(self) -> int:
        return super().rows + self.window.width + 1  # the blurred ones

    def start(self, uniforms: Uniforms, batch: int) -> SjdState:
        return super().start(uniforms, batch)._replace(known=np.full((batch, self.window.width, 1), self.noise.levels))

    def step(self, state: SjdState, uniforms: Uniforms) -> np.ndarray:
        p = forward(self.process, state.tokens, state.length, self.window.width + 1)
        return _step(self.noise, self.renewal, self.window, self.rule, p, state.known, self.windows(state, uniforms))


@njit(nogil=True, cache=True)
def _step(
    noise: Noise,
    renewal: Renewal,
    window: Window,
    rule: CompiledRule,
    p: np.ndarray,
    level: np.ndarray,
    windows: Windows,
) -> np.ndarray:
    """One call with ``p[B, W+1, V]``, its drafts of ``level[B, W, 1]``; returns the drafts accepted ``[B]``."""
    blurred, stops = _blurred(noise, p, level, windows.uniform), _before_noise(noise, level)
    outcomes = verify_windows(_verify, stops, rule, blurred, windows)
    counts = advance_windows(renewal, window, rule, blurred, windows, outcomes)
    for b in range(len(p)):
        _denoise(noise, level[b], counts[b] + 1)  # without a bonus, too: of a window accepted whole nothing stays
    return counts


@njit(inline="always")
def _verify(
    stops: np.ndarray, rule: CompiledRule, windows: Windows, b: int, p: np.ndarray, x: np.ndarray
) -> tuple[int, int, bool]:
    """As :func:`verify_windows` asks: a draft that may not be accepted is replaced from its row, as if it were new."""
    return scan_window(rule, windows, b, p, x, stops[b])


@njit(nogil=True, cache=True)
def _before_noise(noise: Noise, level: np.ndarray) -> np.ndarray:
    """``int64[B]``: how many drafts there are before the first that has too much noise to be accepted."""
    found = np.full(len(level), level.shape[1])
    for b in range(len(level)):
        for j in range(level.shape[1]):
            if level[b, j, 0] > noise.most:
                found[b] = j
                break
    return found


@njit(nogil=True, cache=True)
def _blurred(noise: Noise, p: np.ndarray, level: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """``p[B, W+1, V]`` with the row behind each draft blurred by its level; the process's own rows stay as they are."""
    found, kind = np.empty_like(p), p.dtype.type
    for b in range(len(p)):
        copy(p[b, 0], found[b, 0])
        for j in range(level.shape[1]):
            share = kind(level[b, j, 0]) * kind(1 / (noise.levels + 1))
            for v in range(len(uniform)):
                found[b, j + 1, v] = p[b, j + 1, v] + share * (uniform[v] - p[b, j + 1, v])
    return found


@njit(nogil=True, cache=True)
def _denoise(noise: Noise, level: np.ndarray, shift: int) -> None:
    """``level[W, 1]`` of the window that begins ``shift`` positions further on: drafts that stay have one less.

    What stands behind the end of a sequence has some level, too, of which nothing comes.
    """
    for j in range(len(level)):
        level[j, 0] = max(level[j + shift, 0] - 1, 0) if j + shift < len(level) else noise.levels
