"""A tape: random choices sampled with a counter-based generator.

Key = the 64-bit seed; counter = (replicate, iteration, position, purpose and lane). Every choice has its own
uniform, whatever the batch, the order, the number of threads or the library: same seed, same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from simlab.arrays import Array, Constant, grid, namespace
from simlab.checks import check_at_least
from simlab.randomness.base import Purpose, Randomness
from simlab.randomness.inverse_cdf import inverse_cdf
from simlab.randomness.philox import MASK, philox4x32, unit


class Tape(Randomness):
    """The random choices of one iteration for a batch of sequences.

    Parameters
    ----------
    seed
        64-bit seed, 0 to 2^64 - 1.
    replicates
        The number of sequences, or the replicate number of each: whole numbers below 2^32.
    iteration
        The step this tape is for; :meth:`at` moves it.
    """

    def __init__(self, seed: int, replicates: int | Sequence[int], iteration: int = 0) -> None:
        self.seed = check_at_least("seed", seed, 0)
        if self.seed >= 1 << 64:
            raise ValueError(f"seed is {seed}; expected a whole number below 2^64")
        self.replicates = np.array(_replicate_numbers(replicates), dtype=np.int64)
        self.iteration = check_at_least("iteration", iteration, 0)
        self._words = Constant(self.replicates)

    def at(self, iteration: int) -> Tape:
        """The tape of another iteration, same seed and replicates.

        Parameters
        ----------
        iteration
            The step, >= 0.
        """
        moved = copy(self)
        moved.iteration = iteration
        return moved

    def subset(self, rows: np.ndarray) -> Tape:
        """The tape of some of the sequences, same seed and iteration.

        Parameters
        ----------
        rows
            ``int[n]``: which of them, by batch row.
        """
        fewer = copy(self)
        fewer.replicates = self.replicates[rows]
        fewer._words = Constant(fewer.replicates)
        return fewer

    def uniform(self, position: Array, purpose: Purpose, lane: int | Array = 0, iteration: int | None = None) -> Array:
        """The uniforms of the choices at ``position``.

        Parameters
        ----------
        position
            ``int[B, M]``.
        purpose
            What the choices are for.
        lane
            One number, or ``int[M]``: tells choices at one position apart.
        iteration
            The tape's own by default.

        Returns
        -------
        Array
            ``float64[B, M]``, in [0, 1).
        """
        zeros = position * 0
        replicate = zeros + self._words.beside(position)[:, None]
        step = zeros + (self.iteration if iteration is None else iteration)
        kind = zeros + ((int(purpose) << 24) | lane)
        high, low, _, _ = philox4x32(replicate, step, position & MASK, kind, self.seed & MASK, self.seed >> 32)
        return unit(high, low)

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        return self.uniform(grid(position, probability.shape[1]), Purpose.ACCEPT, lane) < probability

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        xp = namespace(probability)
        coins = self.uniform(grid(position, probability.shape[1]), Purpose.ACCEPT)
        accepted = xp.astype(coins < probability, xp.int64)
        return xp.sum(xp.cumulative_prod(accepted, axis=1), axis=1)

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: int | Array = 0) -> Array:
        places = position if position.ndim == 2 else grid(position, pmf.shape[1])
        return inverse_cdf(pmf, self.uniform(places, purpose, lane))

    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        noise = self.uniform(grid(position, pmf.shape[1]), Purpose.NOISE, iteration=0)
        return inverse_cdf(pmf, noise), interval


def _replicate_numbers(replicates: Any) -> list[int]:
    if isinstance(replicates, int | np.integer):
        return list(range(check_at_least("replicates", replicates, 1)))
    if isinstance(replicates, str) or not isinstance(replicates, Sequence | np.ndarray):
        raise ValueError(f"replicates is {replicates!r}; expected how many sequences, or the number of each")
    numbers = [check_at_least("replicate", number, 0) for number in replicates]
    if not numbers or max(numbers) > MASK:
        raise ValueError(f"replicates is {replicates!r}; expected at least one, all below 2^32")
    return numbers
