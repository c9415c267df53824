"""An enumerator: random choices that follow every outcome with its exact probability.

A decoder step is run on a batch of *paths*, each with the outcomes of its choices so far. At a choice beyond those a
path takes the first possible outcome, and every other becomes a new path for the next round. So a step is run once for
every leaf of its probability tree, but the leaves of all states together in a few batches, by the code that also runs
on a tape.

Outcomes that lead to the same are merged: a scan to the first rejection has W + 1 outcomes, not 2^W. Outcomes of
probability zero are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np

from simlab.arrays import Array, Number, is_exact
from simlab.randomness.base import Lane, Purpose, Randomness
from simlab.randomness.simplex import race, unbounded

Result = TypeVar("Result")
Outcome = tuple[Any, Number]  # an answer and its probability


class Path(NamedTuple):
    """What one batch row of an enumeration has come to.

    Attributes
    ----------
    row
        The row the path started from.
    answers
        The outcomes of its choices so far.
    weight
        Their probability.
    """

    row: int
    answers: tuple[Any, ...]
    weight: Number


class Enumerator(Randomness):
    """Choices of one round, a batch row for each path.

    Parameters
    ----------
    paths
        The paths to follow, as far as they are known.

    Attributes
    ----------
    done
        The paths of this round, with all their choices.
    untried
        The new paths, for the next round.
    """

    def __init__(self, paths: list[Path]) -> None:
        self.done = paths
        self.untried: list[Path] = []
        self._asked = 0

    def choose(self, outcomes: Callable[[int], Iterable[Outcome]]) -> list[Any]:
        """One outcome for each row.

        ``outcomes``: ``outcomes(k)`` lists those of row k with their probabilities. Returns the answers, a row each.
        """
        for k, path in enumerate(self.done):
            if self._asked < len(path.answers):
                continue
            possible = [
                Path(path.row, (*path.answers, answer), path.weight * probability)
                for answer, probability in outcomes(k)
                if probability
            ]
            self.done[k], *others = possible
            self.untried += others
        self._asked += 1
        return [path.answers[self._asked - 1] for path in self.done]

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        return np.array(self.choose(lambda k: _coins(probability[k].tolist())), dtype=bool).reshape(probability.shape)

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        return np.array(self.choose(lambda k: _prefixes(probability[k].tolist())), dtype=np.int64)

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: Lane = 0) -> Array:
        return np.array(self.choose(lambda k: _draws(pmf[k].tolist())), dtype=np.int64).reshape(pmf.shape[:2])

    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        def outcomes(k: int) -> Iterator[Outcome]:
            rows = [_overlaps(row, low, high) for row, (low, high) in zip(pmf[k], interval[k], strict=True)]
            for combination in product(*rows):
                yield tuple(c[:3] for c in combination), prod(c[3] for c in combination)

        outcome = np.array(self.choose(outcomes), dtype=object).reshape(*pmf.shape[:2], 3)
        return outcome[..., 0].astype(np.int64), outcome[..., 1:].astype(interval.dtype)

    def unseen(self, batch: int, count: int, uniform: Array) -> Array:
        bounds = unbounded(len(uniform))
        return np.array([[bounds] * count] * batch, dtype=object).reshape(batch, count, len(bounds))

    def draw_raced(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        exact = is_exact(pmf)

        def outcomes(k: int) -> Iterator[Outcome]:
            races = []
            for row, bounds in zip(pmf[k].tolist(), known[k].tolist(), strict=True):
                winners = race(row if exact else [Fraction(mass) for mass in row], tuple(bounds))
                races.append([((token, after), share if exact else float(share)) for token, after, share in winners])
            yield from _combined(races)

        winners = self.choose(outcomes)
        tokens = np.array([[token for token, _ in row] for row in winners], np.int64).reshape(pmf.shape[:2])
        after = np.array([[bounds for _, bounds in row] for row in winners], dtype=object)
        return tokens, after.reshape(known.shape)


def _coins(probability: list[Number]) -> Iterator[Outcome]:
    sides = [[(side, mass) for side, mass in ((True, p), (False, 1 - p)) if mass] for p in probability]
    return _combined(sides)


def _combined(parts: Iterable[list[Outcome]]) -> Iterator[Outcome]:
    """Every combination of an outcome of each part. Factors of 1, which are many, are left out."""
    for combination in product(*parts):
        yield tuple(answer for answer, _ in combination), prod(mass for _, mass in combination if mass != 1)


def _prefixes(probability: list[Number]) -> Iterator[Outcome]:
    reached: Number = 1
    for count, p in enumerate(probability):
        yield count, reached * (1 - p)
        reached = reached * p
    yield len(probability), reached


def _draws(pmf: list[list[Number]]) -> Iterator[Outcome]:
    return _combined(map(_tokens, pmf))


def _tokens(row: Array) -> list[Outcome]:
    """The tokens with mass, and their probabilities; ``row`` need not sum to one."""
    tokens = [(token, mass) for token, mass in enumerate(row) if mass]
    if len(tokens) == 1:
        return [(tokens[0][0], 1)]
    whole = sum(mass for _, mass in tokens)
    return tokens if whole == 1 else [(token, mass / whole) for token, mass in tokens]


def _overlaps(row: Array, low: Number, high: Number) -> list[tuple[int, Number, Number, Number]]:
    """Tokens that inverse CDF gives for a uniform in [low, high): token, its interval, probability."""
    found, reached = [], row[0] * 0
    for token, mass in enumerate(row):
        start, reached = max(low, reached), reached + mass
        stop = min(high, reached)
        if start < stop:
            found.append((token, start, stop, (stop - start) / (high - low)))
    return found


def explore(
    run: Callable[[np.ndarray, Any], Result],
    weights: list[Number],
    source: Callable[[list[Path]], Enumerator] = Enumerator,
) -> Iterator[tuple[Result, list[Path]]]:
    """Every outcome of ``run(rows, enumerator)``, a batch at a time.

    Parameters
    ----------
    run
        Gets the row numbers of the batch and its source of random choices.
    weights
        The probability each row starts with.
    source
        Makes that source from the paths of a round.

    Yields
    ------
    tuple
        What ``run`` returned, and the :class:`Path` of each of its rows.
    """
    waiting = [Path(row, (), weight) for row, weight in enumerate(weights)]
    while waiting:
        randomness = source(waiting)
        result = run(np.array([path.row for path in waiting]), randomness)
        yield result, randomness.done
        waiting = randomness.untried
