"""Randomness for verifiers that are written down here: thrown, or followed along every branch.

A verifier asks for uniforms, and does two things with one: compares it, or inverts a CDF with it. It may do several
with the same one, which is what some bugs are. :class:`SampledCoins` answers from a generator; :class:`EnumeratedCoins`
knows of a uniform only the interval it lies in, takes every branch, and so yields the exact law of what comes out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from simlab.arrays import Array

Outcome = TypeVar("Outcome", bound=Hashable)


class Coins(ABC):
    """Uniforms in [0, 1), each a handle of its own."""

    @abstractmethod
    def uniform(self) -> Any:
        """A new uniform."""

    @abstractmethod
    def below(self, uniform: Any, threshold: float) -> bool:
        """Whether it is below ``threshold``."""

    @abstractmethod
    def invert(self, uniform: Any, weights: Array) -> int:
        """The token at which the CDF of ``weights[V]``, not necessarily normalised, passes it."""

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
        upto = weights.cumsum()
        return int(min(np.searchsorted(upto, uniform * upto[-1], side="right"), np.searchsorted(upto, upto[-1])))


class EnumeratedCoins(Coins):
    """One branch: answers are repeated as they were given; where they end, the first possible one is taken."""

    def __init__(self, answers: tuple[Any, ...]) -> None:
        self.answers = list(answers)
        self.untried: list[tuple[Any, ...]] = []
        self.weight = 1.0
        self._asked = 0

    def uniform(self) -> list[float]:
        return [0.0, 1.0]

    def below(self, uniform: list[float], threshold: float) -> bool:
        edges = [0.0, min(max(threshold, 0.0), 1.0), 1.0]
        return self._piece(uniform, edges) == 0

    def invert(self, uniform: list[float], weights: Array) -> int:
        upto = np.concatenate([[0.0], weights.cumsum()])
        upto[upto == upto[-1]] = upto[-1] or 1.0  # nothing is left for rounding beyond the last token with mass
        return self._piece(uniform, (upto / upto[-1]).tolist())

    def _piece(self, uniform: list[float], edges: list[float]) -> int:
        """In which piece the uniform lies; from then on it is known to."""
        low, high = uniform
        parts = [(max(low, a), min(high, b)) for a, b in pairwise(edges)]
        possible = [k for k, (a, b) in enumerate(parts) if b > a]
        if self._asked == len(self.answers):
            first, *others = possible
            self.untried += [(*self.answers, other) for other in others]
            self.answers.append(first)
        chosen = self.answers[self._asked]
        self._asked += 1
        uniform[:] = parts[chosen]
        self.weight *= (uniform[1] - uniform[0]) / (high - low)
        return int(chosen)


def outcomes(run: Callable[[Coins], Outcome]) -> dict[Outcome, float]:
    """The exact law of what ``run`` returns."""
    law: dict[Outcome, float] = {}
    waiting: list[tuple[Any, ...]] = [()]
    while waiting:
        coins = EnumeratedCoins(waiting.pop())
        outcome = run(coins)
        law[outcome] = law.get(outcome, 0.0) + coins.weight
        waiting += coins.untried
    return law
