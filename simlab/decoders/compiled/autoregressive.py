"""Autoregressive decoding compiled: :mod:`simlab.decoders.autoregressive`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.decoders.autoregressive import Autoregressive, AutoregressiveState
from simlab.decoders.compiled.base import Kernel, forward
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms


class AutoregressiveKernel(Kernel[AutoregressiveState], of=(Autoregressive,)):
    """One token a call."""

    rows = 1

    def step(self, state: AutoregressiveState, uniforms: Uniforms) -> np.ndarray:
        tokens, length = state
        p = forward(self.process, tokens, length, 1)
        return _draw_next(p, uniforms.row(length, 1, Purpose.TARGET), tokens, length)


@njit(nogil=True, cache=True)
def _draw_next(p: np.ndarray, uniforms: np.ndarray, tokens: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Commit a token drawn from each of the rows ``p[B, 1, V]``; returns the drafts accepted, of which there are none.

    Lengths are counted here too: an operation of NumPy on a few numbers takes longer than drawing.
    """
    for b in range(len(p)):
        tokens[b, length[b]] = inverse_cdf(p[b, 0], uniforms[b, 0])
        length[b] += 1
    return np.zeros(len(p), np.int64)
