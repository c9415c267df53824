"""Goodness of fit against a law that is known: the G-test over pooled outcomes.

G = 2 sum_i x_i log(x_i / (n p_i)) over cells, with Williams' correction (Biometrika 63, 1976), is as good as chi-square
down to levels of 1e-9 (:mod:`simlab.statistics.cells` has the figures). With two cells the binomial test takes its
place, whose level is never exceeded. Under another law w, G has noncentrality 2 n KL(w || p), by Pinsker's inequality
at least 4 n TV(w, p)^2: hence the smallest TV that is detected whatever its shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import rel_entr, xlogy
from scipy.stats import chi2, ncx2

from simlab.checks import check_at_least, check_number
from simlab.statistics.cells import LEAST, Cells
from simlab.statistics.laws import Law, as_p_values, observations
from simlab.statistics.planned import Planned, check_share
from simlab.statistics.proportions import binomial_p_value, binomial_power, either_way


class GTest(Planned):
    """Whether counts follow ``law``, a :class:`~simlab.statistics.laws.Law` or what makes one.

    ``least`` is how often a cell must be expected. Where n is so small that one cell is left, nothing but an outcome
    the law excludes raises an alarm, and nothing is said to be detectable: see :class:`ExactG`.
    """

    def __init__(self, law: Any, least: float = LEAST) -> None:
        check_number("least", least)
        self.law, self.least = Law.of(law), least

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
            fitting = chi2.sf(g_statistic(totals, n * cells.mass) / williams(n, cells.mass), cells.freedom)
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
            return 1 - missed * (1 - binomial_power(n, level, cells.mass[0], masses[0]))
        excess = 2 * n * float(rel_entr(masses, cells.mass).sum())
        return 1 - missed * (1 - _rejected(cells.freedom, level, excess))

    def _power(self, n: int, level: float, deviation: float) -> float:
        """Against any law that far in TV, up to the approximation by the noncentral chi-square."""
        cells = self.cells(n)
        if cells.freedom == 0:  # a law of one outcome: all that deviates is excluded by it
            return 0.0 if cells.shared else 1 - (1 - deviation) ** n
        left = max(0.0, deviation - cells.hidden)
        if cells.freedom == 1:
            return either_way(n, level, float(cells.mass[0]), left)
        return _rejected(cells.freedom, level, 4 * n * left**2)


def g_statistic(seen: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """2 sum x log(x / e) over the last axis."""
    return 2 * xlogy(seen, seen / expected).sum(axis=-1)


def williams(n: int, mass: np.ndarray) -> float:
    """What G is divided by, so that its mean is that of the chi-square law to order 1/n."""
    return 1 + float((1 / mass).sum() - 1) / (6 * n * (len(mass) - 1))


def _rejected(freedom: int, level: float, excess: float) -> float:
    """The power of a chi-square test at noncentrality ``excess``."""
    return float(ncx2.sf(chi2.isf(level, freedom), freedom, excess))
