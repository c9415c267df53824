"""The kernel of :mod:`simlab.processes.jittered`: noise on the logits of rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.processes.rows_compiled import exponential, normalise
from simlab.randomness.philox_compiled import philox4x32

STEP = 2.0**-32
WIDTH = np.sqrt(12.0)  # of the uniform law with standard deviation 1


@njit(nogil=True, cache=True)
def add_noise(
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
