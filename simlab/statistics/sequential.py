"""A test that may be looked at whenever one likes, and stopped whenever one likes.

Its evidence is a product of likelihood ratios w_t(x_t) / p(x_t), where w_t is fixed before x_t is seen: under p its
expectation stays 1, so it ever reaches 1 / level with probability at most ``level`` (Ville's inequality; Ramdas et al.,
"Game-theoretic statistics and safe anytime-valid inference", Statist. Sci. 38, 2023). The bets are Bayes' own: with a
Dirichlet prior of weight k around p, w_t(i) = (k p_i + x_i) / (k + t) for the counts x so far, and the product has a
closed form in the counts, however they came in batches. Weights from K to 4^9 K are mixed, for deviations of TV from
0.4 to 0.001; laws that are feared can be named, and get half the stake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy

from simlab.statistics.laws import Law, as_p_values
from simlab.statistics.power import Planned, check_share
from simlab.statistics.tv_bounds import always, event_bound

WEIGHTS = 4.0 ** np.arange(10)  # of the priors, in observations an outcome
MOST = 1 << 44  # observations: there the log of an e-value is off by a tenth, at 2^53 by fifty
ASKED = 12.0  # the log likelihood ratio, beyond what fitting makes of it, at which laws that are feared are asked for
LOGS = np.linspace(-14, 5, 400)  # of expected counts


class Sequential(Planned):
    """Whether batches of counts follow ``law``, after every batch.

    :meth:`update` gives the test after a batch; it is never changed itself.

    Parameters
    ----------
    law
        The null hypothesis: a ``Law``, a mapping to probabilities or a row ``[V]``.
    towards
        Laws that are feared; together they get half the stake. A callable is asked for them once what was seen is e^12
        times as likely under some law as under the null hypothesis, not counting what the law of largest likelihood has
        by chance, in the mean; until then their half counts as lost.

    Attributes
    ----------
    seen
        ``int64[..., K]``, counts so far of the outcomes with a probability above 0.
    excluded
        ``int64[...]``, how often an outcome was seen that the law excludes.
    highest
        ``float64[...]``, the largest log e-value so far.

    Raises
    ------
    ValueError
        If a law is no pmf, or a row of ``towards`` is of another length.

    Notes
    -----
    In plans, n is how many observations there are in all: an alarm by then.

    References
    ----------
    Ramdas et al., "Game-theoretic statistics and safe anytime-valid inference", Statist. Sci. 38, 2023.

    Examples
    --------
    >>> test = Sequential([0.5, 0.5])
    >>> test = test.update([6, 4]).update([5, 5])
    >>> test.rejects(1e-6), test.n
    (False, 20)
    """

    def __init__(self, law: Any, towards: Sequence[Any] | Callable[[], Sequence[Any]] = ()) -> None:
        self.law = Law.of(law)
        self.feared = callable(towards) or len(towards) > 0
        if callable(towards):
            self._asked = towards
        else:
            self.towards = self._masses(towards)
        self.seen = np.zeros(len(self.law.mass), np.int64)  # [..., K]
        self.excluded = np.zeros((), np.int64)
        self.highest = np.zeros(())  # of the log e-values so far

    @cached_property
    def towards(self) -> list[np.ndarray]:
        """The laws that are feared."""
        return self._masses(self._asked())

    def _masses(self, laws: Sequence[Any]) -> list[np.ndarray]:
        """Their probabilities; over one together, as rounding may leave them, they would be won for nothing."""
        parted = (self.law.masses(other, "towards") for other in laws)
        return [inside / max(1.0, float(inside.sum()) + outside) for inside, outside in parted]

    @property
    def n(self) -> int:
        """How many observations there have been; of the first row, where there are many."""
        return int((self.seen.sum(axis=-1) + self.excluded).ravel()[0])

    def update(self, counts: Any) -> Sequential:
        """The test after one batch more.

        ``counts``: ``int[..., V]`` of the new batch alone, zeros in rows of which nothing was seen, or a mapping from
        outcomes to counts. Returns a new test; this one stays as it is. Raises ``ValueError`` if counts are negative,
        not whole, all zero, or their length is not the law's, or there are more than 2^44 in all.
        """
        seen, excluded = self.law.counts_of_some(counts)
        later = copy(self)
        later.seen, later.excluded = self.seen + seen, self.excluded + excluded
        total = np.max(1.0 * (self.seen.sum(axis=-1) + self.excluded) + (seen.sum(axis=-1) + excluded))
        if total > MOST:
            raise ValueError(f"counts sum to {total:.4g}; expected at most 2^44 observations, by all batches")
        later.highest = np.maximum(self.highest, later.log_e_value)
        return later

    @property
    def log_e_value(self) -> np.ndarray:
        """The log of the product so far; infinite once something was seen that the law excludes."""
        n, mass = self.seen.sum(axis=-1), self.law.mass
        stakes = [
            scipy.special.gammaln(weight)
            - scipy.special.gammaln(weight + n)
            + _rising(weight * mass, self.seen)
            - scipy.special.xlogy(self.seen, mass).sum(-1)
            for weight in WEIGHTS * len(mass)
        ]
        mixed = np.logaddexp.reduce(stakes) - np.log(len(stakes)) - np.log(2) * self.feared
        if self.feared and self._may_matter and self.towards:
            ratios = [
                (scipy.special.xlogy(self.seen, other) - scipy.special.xlogy(self.seen, mass)).sum(axis=-1)
                for other in self.towards
            ]
            mixed = np.logaddexp(mixed, np.logaddexp.reduce(ratios) - np.log(2 * len(ratios)))
        return np.where(self.excluded > 0, np.inf, mixed)

    @property
    def _may_matter(self) -> bool:
        """Whether the laws that are feared are known, or what was seen in some row is likelier under some law than by
        chance: then they are asked for, once, and all rows are held against them."""
        if "towards" in vars(self):
            return True
        n = self.seen.sum(axis=-1, keepdims=True)
        shares = self.seen / np.maximum(1, n)
        best = scipy.special.xlogy(self.seen, np.where(self.seen > 0, shares, 1) / self.law.mass).sum(axis=-1)
        return bool((best - _by_chance(n * self.law.mass) > ASKED).any())

    @property
    def e_value(self) -> Any:
        """The product so far; a float for one row of counts."""
        with np.errstate(over="ignore"):
            return as_p_values(np.exp(self.log_e_value))

    @property
    def p_value(self) -> Any:
        """One over the largest product so far: at most a level a, ever, with probability at most a."""
        return as_p_values(np.exp(-self.highest))

    def rejects(self, level: float) -> Any:
        """Whether the product has ever reached 1 / level; true once, it stays true.

        ``level``: bound on the probability of ever a false alarm, between 0 and 1. Returns a bool for one row of
        counts, else ``bool[...]``. Raises ``ValueError`` unless 0 < level < 1.
        """
        reached = self.highest >= -np.log(check_share("level", level))
        return reached if np.ndim(reached) else bool(reached)

    def tv_upper(self, confidence: float) -> float:
        """How far a pass has got: an upper limit on TV from the law, whenever one looks.

        ``confidence``: probability with which the limit holds at all times, between 0 and 1. Returns the limit, at most
        1. Raises ``ValueError`` unless 0 < confidence < 1, or if the test holds more than one row of counts.
        """
        return event_bound(self.law, self.seen, self.excluded, always(confidence))

    def _power(self, n: int, level: float, deviation: float) -> float:
        """Of an alarm after n observations looked at once; by the noncentral chi-square, all outcomes being frequent.

        For counts near their expectation a prior of weight k gives (X^2 n / (n + k) - (K - 1) log(1 + n / k)) / 2.
        """
        freedom = len(self.law.mass) - 1
        if freedom == 0:
            return 1 - (1 - deviation) ** n
        share = n / (WEIGHTS * len(self.law.mass))
        stakes = len(WEIGHTS) * (2 if self.feared else 1)
        needed = ((2 * np.log(stakes / level) + freedom * np.log1p(share)) * (1 + 1 / share)).min()
        return float(scipy.stats.ncx2.sf(needed, freedom, 4 * n * deviation**2))


def _by_chance(expected: np.ndarray) -> np.ndarray:
    """About how much the log likelihood of counts gains, in the mean, by their own shares in place of the law.

    ``expected``: ``float[..., K]``, what the law makes of each outcome. That of a count x of Poisson's law is
    E[x log(x / expected)], one half where many are expected, and little where none are; all shares sum to one.
    """
    return np.asarray(np.interp(np.log(np.maximum(expected, np.exp(LOGS[0]))), LOGS, _gains()).sum(axis=-1) - 0.5)


@cache
def _gains() -> np.ndarray:
    """The gains of one count, by the logarithm of what is expected."""
    count, expected = np.arange(1, 400), np.exp(LOGS)[:, None]
    return np.asarray((scipy.stats.poisson.pmf(count, expected) * count * np.log(count / expected)).sum(axis=1))


def _rising(start: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Sum over outcomes of log(start (start + 1) ... (start + seen - 1))."""
    return (scipy.special.gammaln(start + seen) - scipy.special.gammaln(start)).sum(axis=-1)
