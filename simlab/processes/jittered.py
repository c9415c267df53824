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
from simlab.processes.base import Process
from simlab.processes.compiled import integers
from simlab.randomness.philox import MASK

LARGEST = 100.0  # noise whose exponential is far from overflow
KIND = 0x4A << 24  # keeps these numbers apart from those of a tape with the same seed


class Jittered(Process):
    """``process`` with uniform noise on each logit, which depends on the call.

    Raises ``ValueError`` for a ``jitter`` outside its range.

    Parameters
    ----------
    process
        The model.
    jitter
        The standard deviation of the noise, 0 to 100.
    seed, stream
        The noise is that of (seed, start of the call, position, token), and of ``stream``, which tells a target from
        its draft.
    """

    def __init__(self, process: Process, jitter: float, seed: int, stream: int = 0) -> None:
        check_number("jitter", jitter, 0, LARGEST)
        self.process, self.jitter, self.seed, self.kind = process, float(jitter), seed, KIND | stream
        self.vocabulary, self.length, self.shape = process.vocabulary, process.length, process.shape
        self.uniform = process.uniform

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        return self._noisy(self.process.forward(tokens, start, count), start, grid(start, count))

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        deep = np.concatenate([[0], (paths >= 0).sum(axis=1)])
        rows = self.process.forward_tree(tokens, start, nodes, paths)
        return self._noisy(rows, start, start[:, None] + deep)

    def _ended(self, rows: Array, position: Array) -> Array:
        """As they are: those past the end are those of ``process``, without noise."""
        return rows

    def _noisy(self, rows: np.ndarray, start: np.ndarray, position: np.ndarray) -> np.ndarray:
        from simlab.processes.jittered_compiled import add_noise

        found = np.ascontiguousarray(rows).copy()
        key = self.seed & MASK, self.seed >> 32
        add_noise(found, integers(start), integers(position), self.length, self.jitter, key, self.kind)
        return found
