"""The tape compiled: the uniforms of a step, computed before its kernel is called."""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit

from simlab.randomness import Purpose, Tape
from simlab.randomness.exponentials_compiled import Races
from simlab.randomness.philox import MASK
from simlab.randomness.philox_compiled import philox4x32, unit


class Uniforms:
    """The random numbers of a step, for sequences that have each a seed, a replicate and an iteration of its own.

    ``seeds``: ``uint64[B]``. ``replicates``, ``iterations``: ``int64[B]``.
    """

    def __init__(self, seeds: np.ndarray, replicates: np.ndarray, iterations: np.ndarray) -> None:
        self.replicates, self.iterations = replicates, iterations
        self._keys = (seeds & np.uint64(MASK)).astype(np.int64), (seeds >> np.uint64(32)).astype(np.int64)

    @classmethod
    def of_tape(cls, tape: Tape, rows: np.ndarray, iteration: int) -> Uniforms:
        """Those of one iteration for the sequences ``rows`` of a tape."""
        count = len(rows)
        return cls(np.full(count, tape.seed, np.uint64), tape.replicates[rows], np.full(count, iteration))

    def tape(self) -> Tape:
        """The same as a tape, where all have one seed and one iteration."""
        low, high = (int(key[0]) for key in self._keys)
        return Tape(low | high << 32, self.replicates.tolist(), int(self.iterations[0]))

    def advance(self) -> None:
        """On to the next iteration of each."""
        self.iterations += 1

    def row(self, start: np.ndarray, count: int, purpose: Purpose, lane: int = 0) -> np.ndarray:
        """``float64[B, count]`` for the positions from ``start[B]`` on, as :meth:`simlab.randomness.Tape.uniform`."""
        return self.of(start, *_in_a_row(count, lane), purpose)

    def fixed(self, start: np.ndarray, count: int) -> np.ndarray:
        """``float64[B, count]``: the uniform that is fixed for each position in all iterations."""
        first = self.iterations * 0
        return _uniforms(self.replicates, first, start, *_in_a_row(count, 0), int(Purpose.NOISE), *self._keys)

    def races(self) -> Races:
        """Whose races they are, which are the same in all iterations."""
        return Races(self.replicates, *self._keys)

    def of(self, start: np.ndarray, offsets: np.ndarray, lanes: np.ndarray, purpose: Purpose) -> np.ndarray:
        """``float64[B, M]`` for M choices at ``start + offsets[M]`` with lanes ``lanes[M]``."""
        return _uniforms(self.replicates, self.iterations, start, offsets, lanes, int(purpose), *self._keys)


@cache
def _in_a_row(count: int, lane: int) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and lanes of choices that follow one another, all with one lane."""
    return np.arange(count), np.full(count, lane)


@njit(cache=True)  # holds the interpreter's lock: releasing it takes longer than this does
def _uniforms(
    replicates: np.ndarray,
    iterations: np.ndarray,
    start: np.ndarray,
    offsets: np.ndarray,
    lanes: np.ndarray,
    purpose: int,
    low_keys: np.ndarray,
    high_keys: np.ndarray,
) -> np.ndarray:
    found = np.empty((len(replicates), len(offsets)))
    for b in range(len(replicates)):
        for j in range(len(offsets)):
            position, kind = (start[b] + offsets[j]) & MASK, (purpose << 24) | lanes[j]
            high, low, _, _ = philox4x32(replicates[b], iterations[b], position, kind, low_keys[b], high_keys[b])
            found[b, j] = unit(high, low)
    return found
