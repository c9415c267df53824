"""Numerical noise: the rows of a process, slightly different in every call.

The logits of a real model depend in their last bits on the sizes and the order in which they are computed, so that two
calls do not give the same row for one prefix. Here every logit has independent noise for every position that a
window can start from. So a row depends on the call, and sequences have no single law. The same call
always gives the same rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.arrays import Array, grid
from simlab.checks import check_number
from simlab.processes.base import Process
from simlab.processes.compiled import exponential, integers, normalise
from simlab.randomness.philox import MASK
from simlab.randomness.philox_compiled import philox4x32

LARGEST = 100.0  # noise whose exponential is far from overflow
STEP = 2.0**-32
WIDTH = np.sqrt(12.0)  # of the uniform law with standard deviation 1
KIND = 0x4A << 24  # keeps these numbers apart from those of a tape with the same seed


class Jittered(Process):
    """``process`` with uniform noise of standard deviation ``jitter`` on each logit.

    The noise is that of (seed, start of the call, position, token), and of ``stream``, which tells a target from
    its draft. Raises ``ValueError`` for noise below 0 or above 100.
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
        found = np.ascontiguousarray(rows).copy()
        key = self.seed & MASK, self.seed >> 32
        _add_noise(found, integers(start), integers(position), self.length, self.jitter, key, self.kind)
        return found


@njit(nogil=True, cache=True)
def _add_noise(
    rows: np.ndarray,
    start: np.ndarray,
    position: np.ndarray,
    length: int,
    jitter: float,
    key: tuple[int, int],
    kind: int,
) -> None:
    """Noise on the logits of ``rows[B, M, V]`` before the end, in place."""
    size = rows.shape[2]
    first, second, third, fourth = np.empty((4, -(-size // 4)), np.int64)
    noise = np.empty(4 * len(first))
    for b in range(rows.shape[0]):
        for m in range(rows.shape[1]):
            if position[b, m] >= length:
                continue
            row = rows[b, m]
            for k in range(len(first)):  # separate loops, so that several tokens are computed at a time
                first[k], second[k], third[k], fourth[k] = philox4x32(
                    4 * k, start[b], position[b, m], kind, key[0], key[1]
                )
            for k in range(len(first)):
                noise[4 * k], noise[4 * k + 1] = first[k], second[k]
                noise[4 * k + 2], noise[4 * k + 3] = third[k], fourth[k]
            for v in range(size):
                row[v] *= exponential(jitter * WIDTH * (noise[v] * STEP - 0.5))
            normalise(row)
