"""Every pair of rows with small weights over a few tokens, and every partition of them: what exact checks run over."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from theory.search import Pmf

SIZES = ((2, 3), (3, 2), (4, 1))  # vocabulary and largest weight
COVERED = "every pair of rows with weights up to 3, 2 and 1 over 2, 3 and 4 tokens"
GROUPED = f"{COVERED}, and every partition"


class Pairs(NamedTuple):
    """Pairs of rational rows, ``[n, V]`` each."""

    p: np.ndarray
    q: np.ndarray


@cache
def rows(size: int, largest: int) -> tuple[Pmf, ...]:
    """Every pmf over ``size`` tokens with whole weights up to ``largest``."""
    weights = (w for w in product(range(largest + 1), repeat=size) if any(w))
    return tuple(dict.fromkeys(tuple(Fraction(x, sum(w)) for x in w) for w in weights))


@cache
def pairs(size: int, largest: int) -> Pairs:
    """Every pair of :func:`rows`."""
    found = list(product(rows(size, largest), repeat=2))
    return Pairs(*(np.array(side, dtype=object) for side in zip(*found, strict=True)))


def partitions(size: int) -> list[tuple[int, ...]]:
    """The labels of every partition of ``size`` tokens, groups numbered as they come."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(size):
        found = [(*labels, label) for labels in found for label in range(max(labels, default=-1) + 2)]
    return found


def every_pair() -> Iterator[Pairs]:
    """The pairs of all ``SIZES``."""
    return (pairs(*size) for size in SIZES)


def every_grouping() -> Iterator[tuple[Pairs, tuple[int, ...]]]:
    """The pairs of all ``SIZES``, with every partition."""
    return ((found, labels) for found in every_pair() for labels in partitions(found.p.shape[1]))


def positive(found: Pairs) -> Pairs:
    """The pairs whose draft has full support."""
    full = (found.q > 0).all(axis=1)
    return Pairs(found.p[full], found.q[full])


def group_masses(rows: np.ndarray, labels: tuple[int, ...]) -> np.ndarray:
    """The mass of each group, ``[n, K]``, for ``rows[n, V]``."""
    return np.stack([rows[:, np.array(labels) == label].sum(axis=1) for label in sorted(set(labels))], axis=1)
