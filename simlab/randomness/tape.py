"""A tape: random choices sampled with a counter-based generator.

Key = the 64-bit seed; counter = (replicate, iteration, position, purpose and lane). Every choice has its own
uniform, whatever the batch, the order, the number of threads or the library: same seed, same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from simlab.arrays import Array, Constant, device, grid, how_many_first, indices, namespace, slots
from simlab.checks import check_at_least
from simlab.randomness.base import Choices, Lane, Purpose, Randomness
from simlab.randomness.exponentials import TOKENS, exponentials, winner
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
        self.iteration: int | Array = check_at_least("iteration", iteration, 0)
        self._words = Constant(self.replicates)

    def at(self, iteration: int | Array) -> Tape:
        """The tape of another iteration, same seed and replicates.

        ``iteration``: the step, >= 0; or ``int64[1]``, or ``int64[B]`` for each sequence its own, where it is counted
        on a device: the numbers are the same.
        """
        moved = copy(self)
        moved.iteration = iteration
        return moved

    def subset(self, rows: np.ndarray) -> Tape:
        """The tape of some of the sequences, same seed and iteration.

        ``rows``: ``int[n]``: which of them, by batch row.
        """
        fewer = copy(self)
        fewer.replicates = self.replicates[rows]
        fewer._words = Constant(fewer.replicates)
        return fewer

    def ahead(self, start: Array, choices: Choices) -> Tape:
        """The same tape, with the uniforms of ``choices`` computed in one go."""
        return _Prepared(self, start, choices)

    def uniform(self, position: Array, purpose: Purpose | Array, lane: Lane = 0, iteration: int | None = None) -> Array:
        """The uniforms of the choices at ``position``.

        Returns ``float64[B, M]``, in [0, 1).

        Parameters
        ----------
        position
            ``int[B, M]``.
        purpose
            What the choices are for; ``int[M]`` where that differs.
        lane
            One number, or M of them: tells choices at one position apart.
        iteration
            The tape's own by default.
        """
        if isinstance(lane, tuple):
            lane = _table(lane).beside(position)
        replicate = self._words.beside(position)[:, None]
        step = self.iteration if iteration is None else iteration
        step = step if isinstance(step, int) else step[:, None]
        high, low, _, _ = philox4x32(
            replicate, step, position & MASK, (purpose << 24) | lane, self.seed & MASK, self.seed >> 32
        )
        return unit(high, low)

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        return self.uniform(grid(position, probability.shape[1]), Purpose.ACCEPT, lane) < probability

    def accept_first(self, probability: Array, position: Array) -> Array:
        count = probability.shape[1]
        places = position[:, None] + 0 * indices(count, position)
        return how_many_first(~(self.uniform(places, Purpose.ACCEPT, tuple(range(count))) < probability))

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        return how_many_first(self.uniform(grid(position, probability.shape[1]), Purpose.ACCEPT) < probability)

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: Lane = 0) -> Array:
        places = position if position.ndim == 2 else grid(position, pmf.shape[1])
        return inverse_cdf(pmf, self.uniform(places, purpose, lane))

    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        noise = self.uniform(grid(position, pmf.shape[1]), Purpose.NOISE, iteration=0)
        return inverse_cdf(pmf, noise), interval

    def unseen(self, batch: int, count: int, uniform: Array) -> Array:
        xp = namespace(uniform)
        return xp.zeros((batch, count, 0), dtype=xp.float64, device=device(uniform))

    def draw_raced(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        return winner(pmf, self.times(grid(position, pmf.shape[1]), pmf.shape[2])), known

    def times(self, position: Array, size: int) -> Array:
        """The times of ``size`` tokens in the races at ``position``, the same in all iterations.

        ``position``: ``int[B, M]``. ``size``: V, at most 2^25. Returns ``float64[B, M, V]``, each exponential with mean
        1.
        """
        if size > TOKENS:
            raise ValueError(f"a race has {size} tokens; expected at most {TOKENS}: the tape has no more numbers")
        replicate = self._words.beside(position)[:, None, None]
        pair = indices((size + 1) // 2, position)
        place = (position & MASK)[..., None] + 0 * pair
        kind = (int(Purpose.RACE) << 24) | pair
        words = philox4x32(replicate + 0 * place, 0 * place, place, kind + 0 * place, self.seed & MASK, self.seed >> 32)
        return exponentials(words)[..., :size]


class _Prepared(Tape):
    """A tape whose uniforms for some choices of a step are there already: looked up where it is asked for them."""

    def __init__(self, tape: Tape, start: Array, choices: Choices) -> None:
        self.seed, self.replicates, self.iteration, self._words = (
            tape.seed,
            tape.replicates,
            tape.iteration,
            tape._words,
        )
        self._tape, self._start, self._choices = tape, start, choices
        purposes, lanes, offsets = (table.beside(start) for table in (choices.purposes, choices.lanes, choices.offsets))
        self._uniforms = tape.uniform(start[:, None] + offsets, purposes, lanes)

    def uniform(self, position: Array, purpose: Purpose | Array, lane: Lane = 0, iteration: int | None = None) -> Array:
        column = self._column(purpose, lane) if iteration is None else None
        if column is None:
            return self._tape.uniform(position, purpose, lane, iteration)
        column = _table(column).beside(position) if isinstance(column, tuple) else column
        place = position + (column - self._start[:, None])
        return slots(self._uniforms, namespace(place).clip(place, 0, self._uniforms.shape[1] - 1))

    def _column(self, purpose: Purpose | Array, lane: Lane) -> int | tuple[int, ...] | None:
        """Where the choices are at the start of the step, one number or M; None where they are not all there."""
        if not isinstance(purpose, Purpose) or not isinstance(lane, int | tuple):
            return None
        if isinstance(lane, int):
            return self._choices.column(purpose, lane)
        found = tuple(self._choices.column(purpose, each) for each in lane)
        return None if None in found else found  # type: ignore[return-value]


_TABLES: dict[tuple[int, ...], Constant] = {}


def _table(numbers: tuple[int, ...]) -> Constant:
    """The numbers as a table, the same at every call."""
    if numbers not in _TABLES:
        _TABLES[numbers] = Constant(np.array(numbers, dtype=np.int64))
    return _TABLES[numbers]


def check_tape(tape: Any) -> None:
    """Raise ``ValueError`` unless ``tape`` is one."""
    if not isinstance(tape, Tape):
        raise ValueError(f"tape is {tape!r}; expected a Tape, as Tape(seed, sequences)")


def _replicate_numbers(replicates: Any) -> list[int]:
    if isinstance(replicates, int | np.integer):
        return list(range(check_at_least("replicates", replicates, 1)))
    if isinstance(replicates, str) or not isinstance(replicates, Sequence | np.ndarray) or np.ndim(replicates) != 1:
        raise ValueError(f"replicates is {replicates!r}; expected how many sequences, or the number of each")
    numbers = [check_at_least("replicate", number, 0) for number in replicates]
    if not numbers or max(numbers) > MASK:
        raise ValueError(f"replicates is {replicates!r}; expected at least one, all below 2^32")
    return numbers
