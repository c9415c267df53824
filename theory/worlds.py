"""Small rational processes to enumerate: context-dependent tables, with zeros, reproducible by a seed."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from simlab.processes import TableProcess


def random_world(
    seed: int, vocabulary: int, length: int, shape: tuple[int, int] | None = None, zeros: float = 0.25
) -> TableProcess:
    """A table with an own random row for every prefix; a share ``zeros`` of its entries is 0."""

    def row(prefix: tuple[int, ...]) -> list[Fraction]:
        random = Random(f"{seed}/{vocabulary}/{prefix}")
        weights = [0 if random.random() < zeros else random.randint(1, 6) for _ in range(vocabulary)]
        if not any(weights):
            weights[random.randrange(vocabulary)] = 1
        return [Fraction(weight, sum(weights)) for weight in weights]

    return TableProcess(vocabulary, length, row, shape)


def random_row(random: Random, size: int, least: int = 0) -> tuple[Fraction, ...]:
    """A rational pmf; with ``least`` = 0 a third of its entries is 0, with 1 none."""
    weights = [random.choice([least, random.randint(1, 9), random.randint(1, 9)]) for _ in range(size)]
    if not any(weights):
        weights[random.randrange(size)] = 1
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def sticky_world(stay: Fraction, vocabulary: int, length: int) -> TableProcess:
    """An image-like Markov chain: the next token repeats the last one with probability ``stay``."""

    def row(prefix: tuple[int, ...]) -> list[Fraction]:
        if not prefix:
            return [Fraction(1, vocabulary)] * vocabulary
        other = (1 - stay) / (vocabulary - 1)
        return [stay if token == prefix[-1] else other for token in range(vocabulary)]

    return TableProcess(vocabulary, length, row)


def greedy_world(choices: dict[tuple[int, ...], int], vocabulary: int, length: int) -> TableProcess:
    """A top-1 process: after each prefix one token, surely."""
    return TableProcess(vocabulary, length, lambda prefix: [int(t == choices[prefix]) for t in range(vocabulary)])
