"""Coins: scalar uniforms for verifiers written as plain code, sampled or enumerated.

A verifier draws a uniform and compares it with a threshold or inverts a CDF with it. It may use one uniform several
times, as some bugs do. :class:`SampledCoins` draws from a generator; :class:`EnumeratedCoins` holds the interval that
each uniform lies in and follows every branch, as an
:class:`~simlab.randomness.enumerator.Enumerator` of one path does, so that :func:`outcomes` is an exact law.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from simlab.arrays import Array
from simlab.randomness.enumerator import Enumerator, Path

Outcome = TypeVar("Outcome", bound=Hashable)


class Coins(ABC):
    """Uniforms in [0, 1), each named by a handle."""

    @abstractmethod
    def uniform(self) -> Any:
        """A new uniform."""

    @abstractmethod
    def below(self, uniform: Any, threshold: float) -> bool:
        """Whether a uniform is below ``threshold``.

        ``uniform``: what :meth:`uniform` returned. ``threshold``: any number; at most 0 is never, and so is NaN, at
        least 1 is always.
        """

    @abstractmethod
    def invert(self, uniform: Any, weights: Array) -> int:
        """The token at which the CDF of ``weights`` exceeds a uniform.

        ``uniform``: what :meth:`uniform` returned. ``weights``: ``float[V]``, not necessarily normalised.
        """

    def coin(self, probability: float) -> bool:
        """True with this probability."""
        return self.below(self.uniform(), probability)

    def draw(self, weights: Array) -> int:
        """A token with probability in proportion to ``weights[V]``."""
        return self.invert(self.uniform(), weights)


class SampledCoins(Coins):
    """Uniforms from a generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def uniform(self) -> float:
        return float(self.rng.random())

    def below(self, uniform: float, threshold: float) -> bool:
        return uniform < threshold

    def invert(self, uniform: float, weights: Array) -> int:
        cumulative = weights.cumsum()
        found = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
        return int(min(found, np.searchsorted(cumulative, cumulative[-1])))


class EnumeratedCoins(Coins):
    """Uniforms of one path of an enumeration: each is the interval ``[low, high]`` it is known to lie in.

    ``enumerator``: one with a single path.
    """

    def __init__(self, enumerator: Enumerator) -> None:
        self.enumerator = enumerator

    def uniform(self) -> list[float]:
        return [0.0, 1.0]

    def below(self, uniform: list[float], threshold: float) -> bool:
        return self._piece(uniform, [0.0, min(threshold, 1.0) if threshold > 0 else 0.0, 1.0]) == 0

    def invert(self, uniform: list[float], weights: Array) -> int:
        edges = np.concatenate([[0.0], weights.cumsum()])
        edges[1:] = edges[1:] / edges[-1] if edges[-1] else 1.0  # token 0 of no weights, as of those that are sampled
        return self._piece(uniform, edges.tolist())

    def _piece(self, uniform: list[float], edges: list[float]) -> int:
        """The piece between two edges that the uniform lies in; from then on it is known to."""
        low, high = uniform
        pieces = [(max(low, a), min(high, b)) for a, b in pairwise(edges)]
        possible = [(k, (b - a) / (high - low)) for k, (a, b) in enumerate(pieces) if b > a]
        (chosen,) = self.enumerator.choose(lambda _: possible)
        uniform[:] = pieces[chosen]
        return int(chosen)


def outcomes(run: Callable[[Coins], Outcome]) -> dict[Outcome, float]:
    """The exact law of what ``run`` returns.

    ``run``: called once for each branch, with the source of its uniforms. Returns outcomes and their probabilities.
    """
    law: dict[Outcome, float] = {}
    waiting = [Path(0, (), 1.0)]
    while waiting:
        enumerator = Enumerator([waiting.pop()])
        outcome = run(EnumeratedCoins(enumerator))
        law[outcome] = law.get(outcome, 0.0) + float(enumerator.done[0].weight)
        waiting += enumerator.untried
    return law
