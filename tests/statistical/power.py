"""A chi-square test against a law that is known exactly, with its power.

Outcomes expected fewer than ``LEAST`` times share a cell, so that the chi-square law can be trusted in its far
tail. A deviation of TV delta between pooled laws has noncentrality at least 4 n delta^2 (Cauchy-Schwarz: sum d^2/p
>= (sum |d|)^2), which gives the smallest TV that is detected with a wanted power.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

LEAST = 100
POWER = 0.999


@dataclass(frozen=True)
class Cells:
    """The outcomes of a law, pooled for ``count`` observations: a cell number for each, and cell probabilities."""

    number: dict[Any, int]
    mass: np.ndarray
    count: int

    @classmethod
    def of(cls, law: Mapping[Any, Any], count: int) -> Cells:
        """Pool the rarest outcomes until every cell is expected ``LEAST`` times; cell 0 is what is left over."""
        number, mass = {}, [0.0]
        for outcome, probability in sorted(law.items(), key=lambda item: item[1]):
            small = float(probability) * count < LEAST or (mass[0] * count < LEAST and mass[0] > 0)
            number[outcome] = 0 if small else len(mass)
            if small:
                mass[0] += float(probability)
            else:
                mass.append(float(probability))
        return cls(number, np.array(mass), count)

    @property
    def freedom(self) -> int:
        return int((self.mass > 0).sum()) - 1

    def totals(self, weights: Mapping[Any, Any]) -> np.ndarray:
        """``weights`` summed over cells; what the law excludes goes to the end."""
        totals = np.zeros(len(self.mass) + 1)
        for outcome, weight in weights.items():
            totals[self.number.get(outcome, len(self.mass))] += float(weight)
        return totals

    def p_value(self, counts: Mapping[Hashable, int]) -> float:
        """Of the observed counts under the law; 0 if something was seen that cannot happen."""
        *seen, excluded = self.totals(counts)
        if excluded or sum(seen) != self.count:
            return 0.0
        expected, possible = self.mass * self.count, self.mass > 0
        statistic = float((((np.array(seen) - expected) ** 2)[possible] / expected[possible]).sum())
        return float(chi2.sf(statistic, self.freedom))

    def power(self, wrong: Mapping[Any, Any], level: float) -> float:
        """The probability of a p-value below ``level`` where outcomes follow ``wrong``."""
        *masses, excluded = self.totals(wrong)
        if excluded:
            return 1 - (1 - excluded) ** self.count
        possible = self.mass > 0
        excess = ((np.array(masses) - self.mass) ** 2)[possible] / self.mass[possible]
        return float(ncx2.sf(chi2.isf(level, self.freedom), self.freedom, self.count * excess.sum()))

    def detectable(self, level: float) -> float:
        """The smallest TV that is detected with probability ``POWER`` at ``level``, whatever its shape."""
        edge = chi2.isf(level, self.freedom)
        needed = brentq(lambda x: ncx2.sf(edge, self.freedom, x) - POWER, 1e-9, 10 * edge + 1000)
        return float(np.sqrt(needed / (4 * self.count)))


def counted(rows: np.ndarray) -> dict[Any, int]:
    """How often each row, or each number, occurs."""
    values, counts = np.unique(rows, axis=0, return_counts=True)
    keys = map(tuple, values.tolist()) if rows.ndim > 1 else values.tolist()
    return dict(zip(keys, counts.tolist(), strict=True))
