"""The exact multinomial test, for counts too small for any approximation.

The statistic is G, rounded to a lattice. Its law under any multinomial is computed by adding up probabilities, outcome
after outcome: counts that are Poisson, given their sum, are multinomial, and only numbers >= 0 are added, so the tail
is right in relative terms however far out. The rounding costs nothing in level: the p-value is that of the rounded
statistic.

What it detects holds whatever the shape: where TV(w, p) = d, some event A has w(A) = p(A) + d, merging outcomes
can only lower G, so G >= 2 n kl(x(A)/n || p(A)), and x(A) is binomial with rate p(A) + d. The least over all rates
p(A) is taken.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
import scipy

from simlab.checks import check_at_least
from simlab.statistics.laws import Law, as_p_values, observations
from simlab.statistics.power import Planned, check_share

BINS = 1024
FARTHEST = 1e-18  # where the chi-square law puts the last bin; a p-value is never below that of the last bin
NEGLIGIBLE = 1e-60  # a count of that probability adds nothing to a p-value that is a double
WORK = 1 << 34  # additions: some ten seconds


class ExactG(Planned):
    """Whether counts follow ``law``; its level is never exceeded, and is met but for the steps of a discrete law.

    Raises ``ValueError`` where outcomes times n^2 is too large to add up; the G-test is for that.
    """

    def __init__(self, law: Any) -> None:
        self.law = Law.of(law)
        self._tail = lru_cache(maxsize=None)(self._computed_tail)

    def p_value(self, counts: Any) -> Any:
        """Of counts ``[..., V]`` (a float for one row) or a mapping; 0 if something was seen that the law excludes."""
        seen, excluded = self.law.counts(counts)
        n = observations(seen, excluded)
        places = np.minimum(sum(self._places(n, k)[seen[..., k]] for k in range(len(self.law.mass))), BINS - 1)
        return as_p_values(np.where(excluded > 0, 0.0, self._tail(n)[places]))

    def power_against(self, n: int, level: float, wrong: Any) -> float:
        """The probability of a p-value of at most ``level`` where outcomes follow ``wrong``; exact."""
        check_share("level", level)
        inside, outside = self.law.masses(wrong)
        if outside >= 1:
            return 1.0
        missed = (1 - outside) ** n
        return 1 - missed * (1 - float(self._added_up(n, inside / (1 - outside))[self._edge(n, level) :].sum()))

    def _power(self, n: int, level: float, deviation: float) -> float:
        """A lower bound, against any law that far in TV."""
        if len(self.law.mass) == 1:
            return 1 - (1 - deviation) ** n
        return event_power(n, self._critical(n, level), deviation)

    def _step(self, n: int) -> float:
        """The width of a bin: the last one begins at the largest G there is, or where a p-value is small enough."""
        largest = -2 * n * float(np.log(self.law.mass.min()))
        return max(min(largest, 1.5 * float(scipy.stats.chi2.isf(FARTHEST, len(self.law.mass) - 1))), 1e-9) / (BINS - 1)

    def _places(self, n: int, k: int) -> np.ndarray:
        """What each count 0 to n of outcome k adds to the statistic, in bins; the sum over outcomes is G."""
        count, expected = np.arange(n + 1), n * self.law.mass[k]
        added = 2 * (scipy.special.xlogy(count, count / expected) - count + expected)
        return np.minimum(np.rint(added / self._step(n)), BINS - 1).astype(np.int64)

    def _edge(self, n: int, level: float) -> int:
        """The first bin whose p-value is at most ``level``; ``BINS`` if there is none."""
        return int(np.searchsorted(-self._tail(n), -level))

    def _critical(self, n: int, level: float) -> float:
        """A G that surely raises the alarm, however it is rounded; infinite if there is none."""
        edge = self._edge(n, level)
        return (edge + len(self.law.mass) / 2) * self._step(n) if edge < BINS else inf

    def _computed_tail(self, n: int) -> np.ndarray:
        """P(statistic >= bin), ``[BINS]``."""
        return np.minimum(1.0, self._added_up(n, self.law.mass)[::-1].cumsum()[::-1])

    def _added_up(self, n: int, mass: np.ndarray) -> np.ndarray:
        """The law ``[BINS]`` of the statistic where outcomes have probabilities ``mass[K]``."""
        n = check_at_least("n", n, 1)
        if len(mass) * n * n * BINS / 2 > WORK:
            raise ValueError(f"n is {n} with {len(mass)} outcomes; expected less: the G-test is for as many as these")
        law = np.zeros((n + 1, BINS))  # of the number counted so far, and of the statistic
        law[0, 0] = 1
        for k, expected in enumerate(n * mass):
            longer = np.zeros_like(law)
            chances = scipy.stats.poisson.pmf(np.arange(n + 1), expected)
            for count, (place, chance) in enumerate(zip(self._places(n, k), chances, strict=True)):
                if chance > NEGLIGIBLE:
                    before = law[: n + 1 - count]
                    longer[count:, place:] += chance * before[:, : BINS - place]
                    longer[count:, -1] += chance * before[:, BINS - place :].sum(axis=1)
            law = longer
        return law[n] / scipy.stats.poisson.pmf(n, n)


def event_power(n: int, critical: float, deviation: float) -> float:
    """The least, over rates a, of P(2 n kl(x/n || a) >= critical, x > n a) for x binomial with rate a + deviation.

    Between the rates at which the least x that is enough goes up, the probability rises: only those are looked at.
    """
    counts = np.arange(n + 1) / n  # at the rate rates[i], and above it, i is no longer enough
    low, high = np.zeros(n + 1), counts.copy()
    for _ in range(60):
        middle = (low + high) / 2
        enough = (
            2 * n * (scipy.special.rel_entr(counts, middle) + scipy.special.rel_entr(1 - counts, 1 - middle))
            >= critical
        )
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    rates = np.concatenate([[0.0], low])  # from rates[i] on, i is the least number that is enough; n + 1 never is
    needed = np.arange(n + 2)
    reached = rates + deviation <= 1
    return float(np.min(scipy.stats.binom.sf(needed[reached] - 1, n, rates[reached] + deviation)))
