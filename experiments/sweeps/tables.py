"""Tables that rules need over a codebook ``[V, dimensions]``, by name and options.

=============================================  ====================================================================
in the spec                                    what the rule gets
=============================================  ====================================================================
``neighbours = { count, measure,               :func:`~simlab.rules.codebook_neighbours`: the ``count`` nearest of
normalised, seed }``                           each token by ``measure`` (``l2``, ``cosine``, ``random``)
``labels = { groups, seed }``                  the nearest of ``groups`` tokens that ``seed`` draws, by L2
``distances = "codebook"``,                    :func:`~simlab.rules.codebook_distances`: L2, of raw vectors or of
``distances = { normalised }``                 vectors scaled to unit length
=============================================  ====================================================================

Only ``count`` and ``groups`` have no default. Anything else under these keys goes to the rule as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, get_args

import numpy as np
from scipy.spatial.distance import cdist

from simlab.checks import check_at_least, check_choice, check_flag
from simlab.registry import make
from simlab.rules import codebook_distances, codebook_neighbours
from simlab.rules.neighbourhood import Measure


class Table(Hashable, Protocol):
    """A table to be made from a codebook."""

    smallest: ClassVar[Any]  # a table of the kind, to see what a rule says of its other parameters

    def check(self, vocabulary: int) -> None:
        """Raise ``ValueError`` where a codebook of this size cannot give the table."""

    def of(self, codebook: np.ndarray) -> np.ndarray:
        """The table."""


@dataclass(frozen=True)
class NeighbourTable:
    """``int[V, count]``: the nearest tokens of each token."""

    count: int
    measure: Measure = "l2"
    normalised: bool = False
    seed: int = 0
    smallest: ClassVar[Any] = [[1], [0]]

    def __post_init__(self) -> None:
        check_at_least("count", self.count, 1)
        check_choice("measure", self.measure, get_args(Measure))
        check_flag("normalised", self.normalised)
        check_at_least("seed", self.seed, 0)

    def check(self, vocabulary: int) -> None:
        if self.count >= vocabulary:
            raise ValueError(f"count is {self.count}; expected at most {vocabulary - 1}, the other tokens")

    def of(self, codebook: np.ndarray) -> np.ndarray:
        return codebook_neighbours(codebook, self.count, self.measure, self.normalised, self.seed)


@dataclass(frozen=True)
class GroupTable:
    """``int[V]``: the group of each token, which is that of the nearest of ``groups`` tokens drawn at random."""

    groups: int
    seed: int = 0
    smallest: ClassVar[Any] = [0, 1]

    def __post_init__(self) -> None:
        check_at_least("groups", self.groups, 1)
        check_at_least("seed", self.seed, 0)

    def check(self, vocabulary: int) -> None:
        if self.groups > vocabulary:
            raise ValueError(f"groups is {self.groups}; expected at most {vocabulary}, the vocabulary")

    def of(self, codebook: np.ndarray) -> np.ndarray:
        vectors = np.asarray(codebook, dtype=np.float64)
        centres = np.random.default_rng(self.seed).choice(len(vectors), self.groups, replace=False)
        return cdist(vectors, vectors[centres]).argmin(axis=1)


@dataclass(frozen=True)
class DistanceTable:
    """``float64[V, V]``: the distances between tokens."""

    normalised: bool = False
    smallest: ClassVar[Any] = [[0.0, 1.0], [1.0, 0.0]]

    def __post_init__(self) -> None:
        check_flag("normalised", self.normalised)

    def check(self, vocabulary: int) -> None:
        pass  # any codebook has distances

    def of(self, codebook: np.ndarray) -> np.ndarray:
        return codebook_distances(codebook, self.normalised)


TABLES: dict[str, Callable[..., Table]] = {
    "neighbours": NeighbourTable,
    "labels": GroupTable,
    "distances": DistanceTable,
}


def tables(parameters: dict[str, Any]) -> dict[str, Table]:
    """The parameters of a rule that are to be made from a codebook.

    Raises ``ValueError`` for an unknown option, a missing one or a bad value, naming the parameter.
    """
    found = {}
    for key, value in parameters.items():
        if key in TABLES and (isinstance(value, dict) or value == "codebook"):
            try:
                found[key] = make("table", TABLES, key, value if isinstance(value, dict) else {})
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
    return found
