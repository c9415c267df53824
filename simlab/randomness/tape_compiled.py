"""The tape compiled: the uniforms of a step, computed before its kernel is called."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.randomness import Purpose, Tape
from simlab.randomness.philox import MASK
from simlab.randomness.philox_compiled import philox4x32, unit


class Uniforms:
    """The random numbers of one iteration for the sequences ``rows`` of a tape."""

    def __init__(self, tape: Tape, rows: np.ndarray, iteration: int) -> None:
        self.replicates = tape.replicates[rows]
        self.iteration = iteration
        self._key = tape.seed & MASK, tape.seed >> 32

    def row(self, start: np.ndarray, count: int, purpose: Purpose, lane: int = 0) -> np.ndarray:
        """``float64[B, count]`` for the positions from ``start[B]`` on, as :meth:`simlab.randomness.Tape.uniform`."""
        return self.of(start, np.arange(count), np.zeros(count, np.int64), purpose, lane)

    def fixed(self, start: np.ndarray, count: int) -> np.ndarray:
        """``float64[B, count]``: the uniform that is fixed for each position in all iterations."""
        return _uniforms(
            self.replicates, 0, start, np.arange(count), np.zeros(count, np.int64), int(Purpose.NOISE), *self._key
        )

    def of(
        self, start: np.ndarray, offsets: np.ndarray, lanes: np.ndarray, purpose: Purpose, lane: int = 0
    ) -> np.ndarray:
        """``float64[B, M]`` for M choices at ``start + offsets[M]`` with lanes ``lanes[M] + lane``."""
        return _uniforms(self.replicates, self.iteration, start, offsets, lanes + lane, int(purpose), *self._key)


@njit(cache=True)  # holds the interpreter's lock: releasing it takes longer than this does
def _uniforms(
    replicates: np.ndarray,
    iteration: int,
    start: np.ndarray,
    offsets: np.ndarray,
    lanes: np.ndarray,
    purpose: int,
    low_key: int,
    high_key: int,
) -> np.ndarray:
    found = np.empty((len(replicates), len(offsets)))
    for b in range(len(replicates)):
        for j in range(len(offsets)):
            position = (start[b] + offsets[j]) & MASK
            high, low, _, _ = philox4x32(
                replicates[b], iteration, position, (purpose << 24) | lanes[j], low_key, high_key
            )
            found[b, j] = unit(high, low)
    return found
