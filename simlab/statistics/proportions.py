"""Proportions: the exact binomial test, two-sided by doubling the smaller tail, and its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from simlab.checks import check_at_least, check_number
from simlab.statistics.laws import as_p_values
from simlab.statistics.power import Planned, check_share


def binomial_p_value(successes: Any, n: int, rate: float) -> Any:
    """The two-sided p-values ``float64[...]`` of the exact binomial test at ``rate``; no level is exceeded.

    ``successes``: ``int[...]``, from 0 to n trials. Returns a float for one number.
    """
    tails = np.minimum(
        scipy.stats.binom.cdf(successes, n, rate), scipy.stats.binom.sf(np.asarray(successes) - 1, n, rate)
    )
    return as_p_values(np.minimum(1.0, 2 * tails))


def binomial_power(n: int, level: float, rate: float, true: float) -> float:
    """The probability of a p-value of at most ``level`` where the rate is ``true``."""
    low = scipy.stats.binom.ppf(level / 2, n, rate)  # the smallest number whose lower tail reaches level / 2
    low -= scipy.stats.binom.cdf(low, n, rate) > level / 2
    high = scipy.stats.binom.isf(level / 2, n, rate)  # the smallest beyond which there is no more than level / 2
    return float(scipy.stats.binom.cdf(low, n, true) + scipy.stats.binom.sf(high, n, true))


def proportion_interval(successes: int, n: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a rate, two-sided.

    Parameters
    ----------
    successes
        How many of the trials succeeded, from 0 to n.
    n
        Number of trials, at least 1.
    confidence
        Least probability that the interval holds the rate, between 0 and 1.

    Returns
    -------
    low, high : float
        The ends, within 0 and 1.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    Clopper and Pearson, Biometrika 26, 1934.
    """
    n = check_at_least("n", n, 1)
    successes = check_at_least("successes", successes, 0)
    confidence = check_share("confidence", confidence)
    if successes > n:
        raise ValueError(f"successes is {successes}; expected at most n = {n}")
    tail, failures = (1 - confidence) / 2, n - successes
    low = scipy.stats.beta.ppf(tail, successes, failures + 1) if successes else 0.0
    high = scipy.stats.beta.isf(tail, successes + 1, failures) if failures else 1.0
    return float(low), float(high)


class ProportionTest(Planned):
    """Whether a proportion is ``rate``, by the exact binomial test.

    Parameters
    ----------
    rate
        The proportion under the null hypothesis, from 0 to 1.

    Raises
    ------
    ValueError
        If ``rate`` is not from 0 to 1.

    Notes
    -----
    Two-sided by doubling the smaller tail. A deviation is how far the true rate is from ``rate``, either way.
    """

    unit = "rate"

    def __init__(self, rate: float) -> None:
        check_number("rate", rate, most=1)
        self.rate = float(rate)
        self.most = max(self.rate, 1 - self.rate)

    def p_value(self, successes: Any, n: int) -> Any:
        """The p-value of a number of successes; never below a level more often than that level.

        ``successes``: ``int[...]``, each from 0 to n. ``n``: number of trials, at least 1. Returns a float for one
        number, else ``float64[...]``. Raises ``ValueError`` if n is below 1, or a number of successes is not from 0 to
        n.
        """
        check_at_least("n", n, 1)
        counts = np.asarray(successes)
        if counts.dtype.kind not in "iuf" or not np.all((counts >= 0) & (counts <= n) & (counts == np.rint(counts))):
            raise ValueError(f"successes is {successes!r}; expected whole numbers from 0 to n = {n}")
        return binomial_p_value(successes, n, self.rate)

    def _power(self, n: int, level: float, deviation: float) -> float:
        """The lesser of the two directions, of those that stay within 0 and 1; exact."""
        return either_way(n, level, self.rate, deviation)


def either_way(n: int, level: float, rate: float, deviation: float) -> float:
    """The least power of the binomial test at ``rate`` plus and minus ``deviation``, where that is a rate."""
    sides = [true for true in (rate - deviation, rate + deviation) if 0 <= true <= 1]
    return min((binomial_power(n, level, rate, true) for true in sides), default=1.0)
