"""The G-test: do counts of a discrete outcome follow a law that is known?

G = 2 sum_i x_i log(x_i / (n p_i)) over cells, with Williams' correction (Biometrika 63, 1976), follows the chi-square
law down to levels of 1e-9. Outcomes expected fewer than ``LEAST`` times share a cell (:class:`Cells`), which may itself
be rare: its count is binomial, and given that count the G of the other cells is chi-square, so the p-value is a sum
over the count. With two cells the test is the exact binomial one, whose level is never exceeded.

Under another law w, G has noncentrality 2 n KL(w || p), by Pinsker's inequality at least 4 n TV(w, p)^2: hence the
smallest TV that is detected whatever its shape.

**Why 25.** Exact computation (``tests/simlab/statistics/test_statistics_tails.py``) shows, for 4 to 4096 cells expected
25 times each and with the correction, a false-alarm rate within 5 % of the level down to 1e-3, within 10 % at 1e-6 and
within 25 % at 1e-9; down to 1e-6 within a quarter for three, and for two beside a rare one from 0.4 to 2.1 times the
level. Without the correction the rate is 30 % too high at 1e-6 for 64 cells; that of Pearson's statistic is up to six
times too high.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from simlab.checks import check_at_least, check_number
from simlab.statistics.laws import Law, as_p_values, observations
from simlab.statistics.power import Planned, check_share
from simlab.statistics.proportions import binomial_p_value, binomial_power, either_way

LEAST = 25.0  # how often a cell must be expected
NUMBERS = 1 << 22  # held in memory at a time


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a G-test: cell 0 is shared by the rarest outcomes, where there are any; the others stand alone.

    Attributes
    ----------
    order
        ``int[K]``, the places of the law from the rarest to the most frequent.
    shared
        How many places of ``order``, from the first, share cell 0.
    mass
        ``float64[C]``, the probability of each cell, summing to one.
    """

    order: np.ndarray
    shared: int
    mass: np.ndarray  # [C], summing to one

    @classmethod
    def of(cls, law: Law, n: int, least: float = LEAST) -> Cells:
        """All outcomes expected fewer than ``least`` times share a cell, which may itself be rare.

        ``law``: of K outcomes with a probability above 0. ``n``: number of observations. ``least``: how often an
        outcome must be expected to stand alone. Returns at most K cells.
        """
        shared = int(np.searchsorted(law.mass[law.order] * n, least))
        return cls(law.order, shared, pooled(law.mass, law.order, shared))

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Values of outcomes summed over cells.

        ``values``: ``[..., K]``, counts or probabilities. Returns ``[..., C]``.
        """
        return pooled(values, self.order, self.shared)

    @property
    def freedom(self) -> int:
        """Degrees of freedom."""
        return len(self.mass) - 1

    @property
    def hidden(self) -> float:
        """What pooling may take off a deviation's TV: the probability of the shared cell.

        With R the outcomes that share it, TV(w, p) <= TV of the pooled laws + min(w(R), p(R)).
        """
        return float(self.mass[0]) if self.shared > 1 else 0.0


def pooled(values: np.ndarray, order: np.ndarray, shared: int) -> np.ndarray:
    """``values[..., K]`` in this order, the first ``shared`` of them summed."""
    if not shared:
        return values[..., order]
    rest = values[..., order[:shared]].sum(axis=-1, keepdims=True)
    return np.concatenate([rest, values[..., order[shared:]]], axis=-1)


class GTest(Planned):
    """Whether counts follow ``law``, by the G-test with Williams' correction.

    Parameters
    ----------
    law
        A :class:`~simlab.statistics.laws.Law` or what makes one: a mapping to probabilities, or a row ``[V]``.
    least
        How often a cell must be expected; rarer outcomes share one.

    Raises
    ------
    ValueError
        If ``law`` is no pmf, or ``least`` is not a finite number of at least 0.

    Notes
    -----
    Where n is so small that one cell is left, nothing but an outcome the law excludes raises an alarm, and nothing is
    detectable. A deviation is the TV of the true law from ``law``.

    References
    ----------
    Williams, Biometrika 63, 1976, for the correction.
    """

    def __init__(self, law: Any, least: float = LEAST) -> None:
        check_number("least", least)
        self.law, self.least = Law.of(law), least
        self._edge = lru_cache(maxsize=None)(self._critical)

    def cells(self, n: int) -> Cells:
        """The cells that n observations are counted in."""
        return Cells.of(self.law, n, self.least)

    def p_value(self, counts: Any) -> Any:
        """The p-value of counts; 0 if something was seen that the law excludes.

        ``counts``: ``int[..., V]``, all rows of one n, or a mapping from outcomes to counts. Returns a float for one
        row or a mapping, else ``float64[...]``. Raises ``ValueError`` if counts are negative, not whole, sum to 0 or to
        different n, or their length is not the law's.
        """
        seen, excluded = self.law.counts(counts)
        return as_p_values(np.where(excluded > 0, 0.0, self._p_values(seen, observations(seen, excluded))))

    def power_against(self, n: int, level: float, wrong: Any) -> float:
        """The probability of a p-value of at most ``level`` where outcomes follow ``wrong``.

        ``wrong``: a ``Law``, a mapping or a row ``[V]``. Returns the power: exact, but over three cells or more, where
        the noncentral chi-square stands for it. Raises ``ValueError`` if a number is out of range, or
        ``wrong`` is no pmf over as many outcomes.
        """
        check_at_least("n", n, 1)
        level = check_share("level", level)
        inside, outside = self.law.masses(wrong)
        if outside >= 1 or not inside.any():
            return 1.0
        return 1 - (1 - outside) ** n * (1 - self._reached(n, level, inside / inside.sum()))

    def _p_values(self, seen: np.ndarray, n: int) -> Any:
        """P-values ``[...]`` of counts ``seen[..., K]`` of the outcomes that the law does not exclude."""
        cells = self.cells(n)
        totals = cells.totals(seen)
        if cells.freedom == 0:
            return 1.0
        if cells.freedom == 1:
            return binomial_p_value(totals[..., 0], n, cells.mass[0])
        return g_tail(g_statistic(totals, n * cells.mass), n, cells, self.least)

    def _reached(self, n: int, level: float, mass: np.ndarray) -> float:
        """The probability of a p-value of at most ``level`` where those outcomes have ``mass[K]``, summing to one.

        By the noncentral chi-square approximation for three cells or more; exact for two.
        """
        cells = self.cells(n)
        masses = cells.totals(mass)
        if cells.freedom == 0:
            return 0.0
        if cells.freedom == 1:
            return binomial_power(n, level, cells.mass[0], masses[0])
        if is_rare(cells, n, self.least):
            return _reached_beside(n, cells, self._edge(n, level), masses)
        excess = 2 * n * float(scipy.special.rel_entr(masses, cells.mass).sum())
        return float(scipy.stats.ncx2.sf(self._edge(n, level), cells.freedom, excess))

    def _power(self, n: int, level: float, deviation: float) -> float:
        """Against any law that far in TV, up to the approximation by the noncentral chi-square.

        What a rare cell adds to G by chance is left out.
        """
        cells = self.cells(n)
        if cells.freedom == 0:  # a law of one outcome: all that deviates is excluded by it
            return 0.0 if cells.shared > 1 else 1 - (1 - deviation) ** n
        left = max(0.0, deviation - cells.hidden)
        if cells.freedom == 1:  # within the support, or with all that deviates outside of it
            return min(either_way(n, level, float(cells.mass[0]), left), 1 - (1 - deviation) ** n)
        freedom = cells.freedom - is_rare(cells, n, self.least)
        return float(scipy.stats.ncx2.sf(self._edge(n, level), freedom, 4 * n * left**2))

    def _critical(self, n: int, level: float) -> float:
        """The corrected G from which on p-values are at most ``level``; infinite where none is."""
        cells = self.cells(n)
        most = float(scipy.stats.chi2.isf(level, cells.freedom))
        if not is_rare(cells, n, self.least):
            return most

        def excess(g: float) -> float:
            return float(g_tail(np.array(g), n, cells, self.least)) - level

        high = 2 * most + 10 * self.least
        if excess(np.inf) > 0:
            return np.inf
        while excess(high) > 0:  # where cells are hardly expected at all
            high *= 2
        return float(scipy.optimize.brentq(excess, 0, high))


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
    if edge == np.inf:
        return 0.0
    if true >= 1:
        return float(_part(np.array(n), n, rate) >= edge)
    counts = np.arange(min(n, int(8 * n * rate + edge) + 1))  # beyond, that count alone is enough
    excess = 2 * (n - counts) * scipy.special.rel_entr(masses[1:] / (1 - true), cells.mass[1:] / (1 - rate)).sum()
    given = scipy.stats.ncx2.sf(np.maximum(edge - _part(counts, n, rate), 0), cells.freedom - 1, excess)
    return float(given @ scipy.stats.binom.pmf(counts, n, true) + scipy.stats.binom.sf(len(counts) - 1, n, true))


def _part(counts: np.ndarray, n: int, rate: float) -> np.ndarray:
    """What a cell's count, against all others, has of G."""
    return 2 * n * (scipy.special.rel_entr(counts / n, rate) + scipy.special.rel_entr(1 - counts / n, 1 - rate))
