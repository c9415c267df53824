"""Means of bounded numbers, such as steps or kept shares, and paired differences.

For numbers within known bounds the empirical Bernstein inequality holds at any n and level (Maurer and Pontil,
"Empirical Bernstein bounds and sample variance penalization", COLT 2009, Theorem 4): with R their range, V their sample
variance and L = log(4 / a), the mean is off by at most sqrt(2 V L / n) + 7 R L / (3 (n - 1)), with probability 1 - a.
For a few dozen images that says little: Student's interval, which :class:`Estimate` has, is far narrower, but only a
large n, or numbers that are nearly normal, justify it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from simlab.checks import check_number
from simlab.statistics.laws import as_floats
from simlab.statistics.power import Planned, check_share


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error.

    Attributes
    ----------
    mean
        The sample mean.
    error
        Its standard error, in the unit of the mean.
    n
        How many numbers it is of.
    """

    mean: float
    error: float
    n: int

    def interval(self, confidence: float) -> tuple[float, float]:
        """Student's interval; its coverage is asymptotic.

        ``confidence``: wanted coverage, between 0 and 1. Returns the ends. Raises ``ValueError`` unless 0 < confidence
        < 1.
        """
        confidence = check_share("confidence", confidence)
        half = float(scipy.stats.t.isf((1 - confidence) / 2, self.n - 1)) * self.error
        return self.mean - half, self.mean + half

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.error:.2g} (n = {self.n:,})"


def estimate(values: Any) -> Estimate:
    """The mean of numbers, with its standard error.

    Parameters
    ----------
    values
        ``float[n]``, finite, n >= 2.

    Returns
    -------
    Estimate
        Mean, standard error and n.

    Raises
    ------
    ValueError
        If the shape is another, or a number is not finite.
    """
    numbers = _numbers(values)
    return Estimate(float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(len(numbers))), len(numbers))


def paired(first: Any, second: Any) -> Estimate:
    """The mean of first - second, image by image: what both share does not widen it.

    Parameters
    ----------
    first, second
        ``float[n]`` in the same order, finite, n >= 2.

    Returns
    -------
    Estimate
        Mean of the differences, its standard error and n.

    Raises
    ------
    ValueError
        If lengths differ, n is below 2, or a number is not finite.
    """
    one, other = _numbers(first), _numbers(second)
    if one.shape != other.shape:
        raise ValueError(f"there are {len(one)} and {len(other)} numbers; expected pairs")
    return estimate(one - other)


def clustered(clusters: Any, values: Any) -> Estimate:
    """The mean of numbers that hang together in clusters, such as drafts in images: a ratio of means over clusters.

    Parameters
    ----------
    clusters
        ``[n]``: which cluster each of the numbers is of.
    values
        ``float[n]``, finite.

    Returns
    -------
    Estimate
        The mean of all numbers, its standard error, NaN for a single cluster, and how many clusters there are.

    Raises
    ------
    ValueError
        If there are not as many clusters as numbers, none of either, or a number is not finite.

    References
    ----------
    Cochran, "Sampling techniques", 1977, section 9A.2, whose ratio of sums is here that of sums and sizes.
    """
    numbers = _numbers(values, fewest=1)
    if np.shape(clusters) != numbers.shape:
        raise ValueError(f"clusters have shape {np.shape(clusters)}; expected that of the values, {numbers.shape}")
    each = np.unique(clusters, return_inverse=True)[1]
    sums, sizes = np.bincount(each, numbers), np.bincount(each)
    mean = sums.sum() / sizes.sum()
    if len(sums) < 2:
        return Estimate(float(mean), float("nan"), 1)
    spread = (sums - mean * sizes).std(ddof=1) / sizes.mean()
    return Estimate(float(mean), float(spread / np.sqrt(len(sums))), len(sums))


def mean_interval(values: Any, confidence: float, least: float, most: float) -> tuple[float, float]:
    """An interval that holds the mean of bounded numbers with at least the wanted confidence.

    Parameters
    ----------
    values
        ``float[n]``, n >= 2.
    confidence
        Least coverage, between 0 and 1.
    least, most
        Bounds of the numbers, known beforehand.

    Returns
    -------
    low, high : float
        The ends, within ``least`` and ``most``.

    Raises
    ------
    ValueError
        If confidence is out of range, n is below 2, a number is out of bounds, or ``most`` is not above ``least``.

    References
    ----------
    Maurer and Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009, Theorem 4.
    """
    log = np.log(4 / (1 - check_share("confidence", confidence)))
    least, most = _bounds(least, most)
    numbers = _numbers(values, least, most)
    spread, n = float(numbers.std(ddof=1)), len(numbers)
    half = spread * np.sqrt(2 * log / n) + 7 * (most - least) * log / (3 * (n - 1))
    mean = float(numbers.mean())
    return max(least, mean - half), min(most, mean + half)


class MeanTest(Planned):
    """Whether bounded numbers have this mean; its level is never exceeded, nor nearly met.

    Parameters
    ----------
    mean
        The mean under the null hypothesis, from ``least`` to ``most``.
    least, most
        Bounds of the numbers.
    spread
        The standard deviation that plans suppose; the largest possible, half the range, unless given.

    Raises
    ------
    ValueError
        If ``mean`` is out of bounds, ``most`` is not above ``least``, or ``spread`` is not from 0 to half the range.

    References
    ----------
    Maurer and Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009, Theorems 4 and 10.
    """

    unit = "mean"

    def __init__(self, mean: float, least: float, most: float, spread: float | None = None) -> None:
        least, most = _bounds(least, most)
        check_number("mean", mean, least, most)
        mean = float(mean)
        self.mean, self.bounds, self.range = mean, (least, most), most - least
        self.spread = self.range / 2 if spread is None else spread
        check_number("spread", self.spread, most=self.range / 2)
        self.spread = float(self.spread)
        self.most = max(mean - least, most - mean)

    def p_value(self, values: Any) -> float:
        """The p-value of numbers.

        ``values``: ``float[n]``, n >= 2, within the bounds. Returns an upper bound that holds at any n. Raises
        ``ValueError`` if n is below 2, or a number is out of bounds.
        """
        numbers = _numbers(values, *self.bounds)
        n, spread = len(numbers), float(numbers.std(ddof=1))
        log = _solved(7 * self.range / (3 * (n - 1)), spread * np.sqrt(2 / n), abs(float(numbers.mean()) - self.mean))
        return float(min(1.0, 4 * np.exp(-log)))

    def _power(self, n: int, level: float, deviation: float) -> float:
        """A lower bound: Bernstein's inequality for the mean, Maurer and Pontil's Theorem 10 for the variance."""
        if n < 2:
            return 0.0
        log = np.log(4 / level)
        certain = self.spread * np.sqrt(2 * log / n) + 7 * self.range * log / (3 * (n - 1))
        slope = self.range * np.sqrt(2 / (n - 1)) * np.sqrt(2 * log / n) + self.spread * np.sqrt(2 / n)
        left = _solved(self.range / (3 * n), slope, max(0.0, deviation - certain))
        return float(max(0.0, 1 - 2 * np.exp(-left)))


def _solved(square: float, linear: float, total: float) -> float:
    """x^2 for the x >= 0 with square x^2 + linear x = total, where square > 0."""
    return float((2 * total / (linear + np.sqrt(linear**2 + 4 * square * total))) ** 2) if total > 0 else 0.0


def _bounds(least: Any, most: Any) -> tuple[float, float]:
    for name, bound in (("least", least), ("most", most)):
        check_number(name, bound, -np.inf)
    if most <= least:
        raise ValueError(f"most is {most}; expected more than least = {least}")
    if not np.isfinite(float(most) - float(least)):
        raise ValueError(f"most is {most} and least {least}; expected a difference that a float holds")
    return float(least), float(most)


def _numbers(values: Any, least: float = -np.inf, most: float = np.inf, fewest: int = 2) -> np.ndarray:
    numbers = as_floats(values, "values")
    if numbers.ndim != 1 or len(numbers) < fewest:
        raise ValueError(f"values have shape {numbers.shape}; expected [n] with n >= {fewest}")
    outside = numbers[~((numbers >= least) & (numbers <= most) & np.isfinite(numbers))]
    if len(outside):
        raise ValueError(f"values hold {outside[0]}; expected finite numbers from {least} to {most}")
    return numbers
