"""Small examples to enumerate: rational rows, context-dependent processes, and pairs of rows over a codebook."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import NamedTuple

import numpy as np

from simlab.processes import TableProcess


def random_process(
    seed: int, vocabulary: int, length: int, shape: tuple[int, int] | None = None, zeros: float = 0.25
) -> TableProcess:
    """A table with an independent random row of rationals for every prefix, the same for the same ``seed``.

    ``shape``: rows and columns of a grid; one row by default. ``zeros``: the share of entries that is 0.
    """

    def row(prefix: tuple[int, ...]) -> list[Fraction]:
        random = Random(f"{seed}/{vocabulary}/{prefix}")
        weights = [0 if random.random() < zeros else random.randint(1, 6) for _ in range(vocabulary)]
        if not any(weights):
            weights[random.randrange(vocabulary)] = 1
        return [Fraction(weight, sum(weights)) for weight in weights]

    return TableProcess(vocabulary, length, row, shape)


def random_row(random: Random, size: int, least: int = 0) -> tuple[Fraction, ...]:
    """A rational pmf over ``size`` tokens; ``least``: with 0 about a third of the entries is 0, with 1 none."""
    weights = [random.choice([least, random.randint(1, 9), random.randint(1, 9)]) for _ in range(size)]
    if not any(weights):
        weights[random.randrange(size)] = 1
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def point_mass(token: int, size: int) -> tuple[Fraction, ...]:
    """The rational point mass on ``token``."""
    return tuple(Fraction(int(other == token)) for other in range(size))


def sticky_process(stay: Fraction, vocabulary: int, length: int) -> TableProcess:
    """A Markov chain over at least 2 tokens: the next repeats the last with probability ``stay``, or is any other, each
    equally likely; the first is uniform.
    """

    def row(prefix: tuple[int, ...]) -> list[Fraction]:
        if not prefix:
            return [Fraction(1, vocabulary)] * vocabulary
        other = (1 - stay) / (vocabulary - 1)
        return [stay if token == prefix[-1] else other for token in range(vocabulary)]

    return TableProcess(vocabulary, length, row)


def greedy_process(choices: dict[tuple[int, ...], int], vocabulary: int, length: int) -> TableProcess:
    """A deterministic process, of one-hot rows; ``choices``: the token after each prefix."""
    return TableProcess(vocabulary, length, lambda prefix: [int(t == choices[prefix]) for t in range(vocabulary)])


class CodebookPairs(NamedTuple):
    """Pairs of rows over one codebook, in which near tokens have similar probabilities."""

    codebook: np.ndarray  # [V, dimensions]
    p: np.ndarray  # [n, V]
    q: np.ndarray  # [n, V]


def codebook_pairs(
    seed: int,
    count: int,
    vocabulary: int = 64,
    dimensions: int = 3,
    sharpness: float = 1.5,
    roughness: float = 0.8,
    error: float = 0.4,
) -> CodebookPairs:
    """So many target and draft rows imitating an image model's over a random codebook; ``seed``: of both.

    ``sharpness``: scale of the inner product of a token's vector with a content vector. ``roughness``: of the
    independent noise added to each logit. ``error``: standard deviation of the draft's content vector from the
    target's. Which of several near tokens is likely is random, as LANTERN finds in image models (section 2.2); the
    draft's noise is independent of the target's.
    """
    random = np.random.default_rng(seed)
    codebook = random.normal(size=(vocabulary, dimensions))
    content = random.normal(size=(count, dimensions))
    guess = content + error * random.normal(size=(count, dimensions))
    rows = []
    for seen in (content, guess):
        logits = sharpness * seen @ codebook.T + roughness * random.normal(size=(count, vocabulary))
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        rows.append(weights / weights.sum(axis=1, keepdims=True))
    return CodebookPairs(codebook, *rows)
