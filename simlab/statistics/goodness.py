"""Goodness of fit against a law that is known: the G-test over pooled outcomes.

G = 2 sum_i x_i log(x_i / (n p_i)) over cells, with Williams' correction (Biometrika 63, 1976), is as good as chi-square
down to levels of 1e-9 (:mod:`simlab.statistics.cells` has the figures). The cell that rare outcomes share may itself be
rare. Its count is binomial, and given that count the G of the others is as good as chi-square, so the p-value is a sum
over the count. With two cells the binomial test takes the place of all that, and its level is never exceeded.

Under another law w, G has noncentrality 2 n KL(w || p), by Pinsker's inequality at least 4 n TV(w, p)^2: hence the
smallest TV that is detected whatever its shape.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from simlab.checks import check_at_least, check_number
from simlab.statistics.cells import LEAST, Cells
from simlab.statistics.laws import Law, as_p_values, observations
from simlab.statistics.power import Planned, check_share
from simlab.statistics.proportions import binomial_p_value, binomial_power, either_way

NUMBERS = 1 << 22  # held at a time


class GTest(Planned):
    """Whether counts follow ``law``, a :class:`~simlab.statistics.laws.Law` or what makes one.

    ``least`` is how often a cell must be expected. Where n is so small that one cell is left, nothing but an outcome
    the law excludes raises an alarm, and nothing is said to be detectable: see :class:`ExactG`.
    """

    def __init__(self, law: Any, least: float = LEAST) -> None:
        check_number("least", least)
        self.law, self.least = Law.of(law), least
        self._edge = lru_cache(maxsize=None)(self._critical)

    def cells(self, n: int) -> Cells:
        return Cells.of(self.law, n, self.least)

    def p_value(self, counts: Any) -> Any:
        """Of counts ``[..., V]`` (a float for one row) or a mapping; 0 if something was seen that the law excludes."""
        seen, excluded = self.law.counts(counts)
        n = observations(seen, excluded)
        cells = self.cells(n)
        totals = cells.totals(seen)
        if cells.freedom == 0:
            fitting = np.ones(np.shape(excluded))
        elif cells.freedom == 1:
            fitting = binomial_p_value(totals[..., 0], n, cells.mass[0])
        else:
            fitting = g_tail(g_statistic(totals, n * cells.mass), n, cells, self.least)
        return as_p_values(np.where(excluded > 0, 0.0, fitting))

    def power_against(self, n: int, level: float, wrong: Any) -> float:
        """The probability of a p-value of at most ``level`` where outcomes follow ``wrong``."""
        check_at_least("n", n, 1)
        check_share("level", level)
        inside, outside = self.law.masses(wrong)
        cells, missed = self.cells(n), (1 - outside) ** n
        if outside >= 1 or cells.freedom == 0:
            return 1 - missed
        masses = cells.totals(inside) / (1 - outside)
        if cells.freedom == 1:
            reached = binomial_power(n, level, cells.mass[0], masses[0])
        elif is_rare(cells, n, self.least):
            reached = _reached_beside(n, cells, self._edge(n, level), masses)
        else:
            excess = 2 * n * float(scipy.special.rel_entr(masses, cells.mass).sum())
            reached = float(scipy.stats.ncx2.sf(self._edge(n, level), cells.freedom, excess))
        return 1 - missed * (1 - reached)

    def _power(self, n: int, level: float, deviation: float) -> float:
        """Against any law that far in TV, up to the approximation by the noncentral chi-square.

        What a rare cell adds to G by chance is left out.
        """
        cells = self.cells(n)
        if cells.freedom == 0:  # a law of one outcome: all that deviates is excluded by it
            return 0.0 if cells.shared > 1 else 1 - (1 - deviation) ** n
        left = max(0.0, deviation - cells.hidden)
        if cells.freedom == 1:
            return either_way(n, level, float(cells.mass[0]), left)
        freedom = cells.freedom - is_rare(cells, n, self.least)
        return float(scipy.stats.ncx2.sf(self._edge(n, level), freedom, 4 * n * left**2))

    def _critical(self, n: int, level: float) -> float:
        """The corrected G from which on p-values are at most ``level``."""
        cells = self.cells(n)
        most = float(scipy.stats.chi2.isf(level, cells.freedom))
        if not is_rare(cells, n, self.least):
            return most
        return float(
            scipy.optimize.brentq(
                lambda g: float(g_tail(np.array(g), n, cells, self.least)) - level, 0, 2 * most + 10 * self.least
            )
        )


def g_statistic(seen: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """2 sum x log(x / e) over the last axis."""
    return 2 * scipy.special.xlogy(seen, seen / expected).sum(axis=-1)


def williams(n: int, mass: np.ndarray) -> float:
    """What G is divided by, so that its mean is that of the chi-square law to order 1/n."""
    return 1 + float((1 / mass).sum() - 1) / (6 * n * (len(mass) - 1))


def is_rare(cells: Cells, n: int, least: float) -> bool:
    """Whether the cell that rare outcomes share is rare itself."""
    return cells.shared > 0 and n * cells.mass[0] < least


def g_tail(g: np.ndarray, n: int, cells: Cells, least: float) -> np.ndarray:
    """The probability, under the law, of a G of at least ``g[...]`` over three cells or more."""
    if not is_rare(cells, n, least):
        return scipy.stats.chi2.sf(g / williams(n, cells.mass), cells.freedom)
    rate, rest = float(cells.mass[0]), cells.mass[1:] / cells.mass[1:].sum()
    last = min(n - 1, int(least + 14 * least**0.5 + 40))  # more than that is rarer than 1e-40, and summed at once
    counts = np.arange(last + 1)
    chance, part = scipy.stats.binom.pmf(counts, n, rate), _part(counts, n, rate)
    corrected = williams(1, rest) - 1
    flat, tail = np.ravel(g), np.empty(np.size(g))
    for some in np.array_split(np.arange(len(flat)), len(flat) * len(counts) // NUMBERS + 1):
        left = np.maximum(flat[some, None] - part, 0) / (1 + corrected / (n - counts))
        tail[some] = scipy.stats.chi2.sf(left, cells.freedom - 1) @ chance
    return np.minimum(tail + scipy.stats.binom.sf(last, n, rate), 1.0).reshape(np.shape(g))


def _reached_beside(n: int, cells: Cells, edge: float, masses: np.ndarray) -> float:
    """The probability of a G of at least ``edge`` where cells have ``masses``, by the count of the rare cell."""
    rate, true = float(cells.mass[0]), float(masses[0])
    if true >= 1:
        return float(_part(np.array(n), n, rate) >= edge)
    counts = np.arange(min(n, int(8 * n * rate + edge) + 1))  # beyond, that count alone is enough
    excess = 2 * (n - counts) * scipy.special.rel_entr(masses[1:] / (1 - true), cells.mass[1:] / (1 - rate)).sum()
    given = scipy.stats.ncx2.sf(np.maximum(edge - _part(counts, n, rate), 0), cells.freedom - 1, excess)
    return float(given @ scipy.stats.binom.pmf(counts, n, true) + scipy.stats.binom.sf(len(counts) - 1, n, true))


def _part(counts: np.ndarray, n: int, rate: float) -> np.ndarray:
    """What a cell's count, against all others, has of G."""
    return 2 * n * (scipy.special.rel_entr(counts / n, rate) + scipy.special.rel_entr(1 - counts / n, 1 - rate))
