"""Jacobi decoding under sampling compiled: :mod:`simlab.decoders.jacobi`."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.decoders.compiled.base import Kernel, forward
from simlab.decoders.jacobi import Jacobi, JacobiState
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms


class JacobiKernel(Kernel[JacobiState], of=(Jacobi,)):
    """A window whose tokens are drawn again at every call, until they stop changing."""

    @property
    def rows(self) -> int:
        return int(self.decoder.window)

    def start(self, uniforms: Uniforms, batch: int) -> JacobiState:
        width = self.decoder.window
        tokens = np.zeros((batch, self.end + width + 1), np.int64)
        length = np.zeros(batch, np.int64)
        noise = uniforms.row(length, width, Purpose.DRAFT)
        for b in range(batch):
            _start(tokens[b], 0, width, self.end, self.process.uniform, noise[b])
        return JacobiState(tokens, length, np.zeros((batch, 0)))

    def step(self, state: JacobiState, uniforms: Uniforms) -> np.ndarray:
        tokens, length, _ = state
        width = self.decoder.window
        p = forward(self.process, tokens, length, width)
        noise = (
            uniforms.fixed(length, width)
            if self.decoder.noise == "fixed"
            else uniforms.row(length, width, Purpose.TARGET)
        )
        fresh = uniforms.row(length + width, width, Purpose.DRAFT)
        return _iterate(p, tokens, length, noise, fresh, self.process.uniform, self.end)


@njit(nogil=True, cache=True)
def _iterate(
    p: np.ndarray,
    tokens: np.ndarray,
    length: np.ndarray,
    noise: np.ndarray,
    fresh: np.ndarray,
    uniform: np.ndarray,
    end: int,
) -> np.ndarray:
    """One iteration of windows with the rows ``p[B, W, V]``; returns the drafts ``[B]`` that did not change."""
    width = p.shape[1]
    counts = np.empty(len(p), np.int64)
    for b in range(len(p)):
        first, same, changed = length[b], 0, False
        for j in range(width):
            y = inverse_cdf(p[b, j], noise[b, j])
            changed |= y != tokens[b, first + j]
            same += not changed
            tokens[b, first + j] = y
        counts[b] = min(same, width - 1)
        _start(tokens[b], first + width, first + counts[b] + 1 + width, end, uniform, fresh[b])
        length[b] = min(first + counts[b] + 1, end)
    return counts


@njit(nogil=True, cache=True)
def _start(tokens: np.ndarray, first: int, stop: int, end: int, uniform: np.ndarray, noise: np.ndarray) -> None:
    """Uniform tokens from position ``first`` to ``stop``, and token 0 from the end of the sequence on."""
    for position in range(first, min(stop, len(tokens))):
        tokens[position] = inverse_cdf(uniform, noise[position - first]) if position < end else 0
