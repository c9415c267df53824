"""Do two samples come from one unknown law? A test that may be looked at, and stopped, whenever one likes.

Observations come in pairs, one of either sample. If the laws are equal, then given the two outcomes {u, v} of a pair
and everything before, it is a fair coin which sample gave which: whoever bets on that coin, with any probability b that
was fixed before, multiplies his stake by 2 b or 2 (1 - b), by 1 in the mean. So the product ever reaches 1 / level with
probability at most ``level`` (Ville's inequality), exactly, whatever the law is and however many outcomes it has
(Ramdas et al., "Game-theoretic statistics and safe anytime-valid inference", Statist. Sci. 38, 2023; Podkopaev and
Ramdas, "Sequential predictive two-sample and independence testing", NeurIPS 2023).

The bet is Bayes' own. With x_u and y_u earlier occurrences of u in either sample and m_u its smoothed share in both,
the odds are r_u : r_v, where r = (k m + x) / (k m + y). Priors of weight k from 2 to 2 4^9 pairs are mixed. Where laws
are d apart it grows by sum d^2 / 4p a pair in the end, which to second order is the most that any test can have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from math import log

import numpy as np
import scipy

from simlab.checks import check_at_least
from simlab.statistics.power import Planned, check_share
from simlab.statistics.tv_bounds import always, between

WEIGHTS = 2 * 4.0 ** np.arange(10)  # of the priors, in pairs


class Paired(Planned):
    """Whether pairs of outcomes, one of either sample, follow one unknown law; after every pair.

    Attributes
    ----------
    first, second
        Counts of either sample so far, by outcome.
    n
        Pairs so far.
    highest
        The largest log e-value so far.

    Notes
    -----
    In plans, n is the number of pairs, and a deviation the TV of the two laws over ``outcomes`` of them.

    Examples
    --------
    >>> test = Paired()
    >>> test.update([("a", "b")] * 40)
    >>> test.rejects(1e-6)
    True
    """

    def __init__(self, outcomes: int = 2) -> None:
        self.outcomes = check_at_least("outcomes", outcomes, 2)
        self.first: Counter[Hashable] = Counter()
        self.second: Counter[Hashable] = Counter()
        self.n = 0
        self.highest = 0.0
        self._stakes = np.zeros(len(WEIGHTS))  # their logs

    def update(self, pairs: Iterable[tuple[Hashable, Hashable]]) -> None:
        """Take in pairs, in an order that does not depend on what they are."""
        for u, v in pairs:
            if u != v:
                odds, against = self._ratio(u), self._ratio(v)
                self._stakes += np.log(2 * odds / (odds + against))
                self.highest = max(self.highest, self.log_e_value)
            self.first[u] += 1
            self.second[v] += 1
            self.n += 1

    def _ratio(self, outcome: Hashable) -> np.ndarray:
        x, y = self.first[outcome], self.second[outcome]
        shared = WEIGHTS * ((x + y + 1) / (2 * self.n + 2))
        return np.asarray((shared + x) / (shared + y))

    @property
    def log_e_value(self) -> float:
        """The log of the product so far."""
        most = float(self._stakes.max())
        return most + log(float(np.exp(self._stakes - most).mean()))

    def rejects(self, level: float) -> bool:
        """Whether the product has ever reached 1 / level: where the laws are equal, with probability at most level."""
        check_share("level", level)
        return self.highest >= -log(level)

    def tv_upper(self, confidence: float) -> float:
        """An upper limit on the TV of the two laws, which holds with this confidence whenever one looks."""
        check_share("confidence", confidence)
        seen = sorted({*self.first, *self.second}, key=repr)
        x, y = (np.array([side[outcome] for outcome in seen], np.int64) for side in (self.first, self.second))
        return between(x, y, always((1 + confidence) / 2))

    @property
    def tv(self) -> float:
        """The TV of the two samples."""
        off = (abs(self.first[outcome] - self.second[outcome]) for outcome in {*self.first, *self.second})
        return sum(off) / (2 * max(1, self.n))

    def _power(self, n: int, level: float, deviation: float) -> float:
        """Of an alarm after n pairs looked at once; by the noncentral chi-square, all outcomes being frequent."""
        freedom = max(1, self.outcomes - 1)
        share = n / WEIGHTS
        needed = ((2 * np.log(len(WEIGHTS) / level) + freedom * np.log1p(share)) * (1 + 1 / share)).min()
        return float(scipy.stats.ncx2.sf(needed, freedom, 2 * n * deviation**2))
