"""Autoregressive decoding compiled: :mod:`simlab.decoders.autoregressive`."""

from __future__ import annotations

import numpy as np

from simlab.decoders.autoregressive import AutoregressiveState
from simlab.decoders.compiled.base import Kernel, draw_at, forward
from simlab.randomness import Purpose
from simlab.randomness.tape_compiled import Uniforms


class AutoregressiveKernel(Kernel[AutoregressiveState]):
    """One token a call."""

    rows = 1

    def start(self, uniforms: Uniforms, batch: int) -> AutoregressiveState:
        return AutoregressiveState(np.zeros((batch, self.end + 1), np.int64), np.zeros(batch, np.int64))

    def step(self, state: AutoregressiveState, uniforms: Uniforms) -> np.ndarray:
        tokens, length = state
        p = forward(self.process, tokens, length, 1)
        draw_at(p, uniforms.row(length, 1, Purpose.TARGET), tokens, length)
        length += 1
        return length * 0
