"""Numerical noise: the rows of a process, slightly different in every call.

The logits of a real model depend in their last bits on the sizes and the order in which they are computed, so that two
calls do not give the same row for one prefix. Here every logit has independent noise for every position that a
window can start from. So a row depends on the call, and sequences have no single law. The same call
always gives the same rows.
"""

from __future__ import annotations

import numpy as np

from simlab.arrays import Array, grid
from simlab.checks import check_number
from simlab.processes.base import Process, places
from simlab.processes.compiled import integers
from simlab.processes.wrapped import Wrapped
from simlab.randomness.philox import MASK

LARGEST = 100.0  # noise whose exponential is far from overflow, in float64
KIND = 0x4A << 24  # keeps these numbers apart from those of a tape with the same seed


class Jittered(Wrapped):
    """``process`` with uniform noise on each logit, which depends on the call.

    ``jitter``: the standard deviation of the noise, 0 to 100, or to 50 for float32 rows; ``ValueError`` for another.
    ``seed``, ``stream``: the noise is that of (seed, start of the call, position, token), and of ``stream``, which
    tells a target from its draft.
    """

    def __init__(self, process: Process, jitter: float, seed: int, stream: int = 0) -> None:
        super().__init__(process)
        check_number("jitter", jitter, 0, LARGEST / 2 if self.uniform.dtype == np.float32 else LARGEST)
        self.jitter, self.seed, self.kind = float(jitter), seed, KIND | stream

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        return self._noisy(super().forward(tokens, start, count), start, grid(start, count))

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        return self._noisy(super().forward_tree(tokens, start, nodes, paths), start, places(start, paths))

    def _noisy(self, rows: np.ndarray, start: np.ndarray, position: np.ndarray) -> np.ndarray:
        """The rows at ``position[B, M]`` with noise; those past the end are without."""
        from simlab.processes.jittered_compiled import add_noise

        found = np.ascontiguousarray(rows).copy()
        key = self.seed & MASK, self.seed >> 32
        add_noise(found, integers(start), integers(position), self.length, self.jitter, key, self.kind)
        return found
