"""Counts of drawn cases: of one by itself, and added up over many.

A kind of events has one law in all of them, as tokens are told apart by their class alone; where tokens of all places
of a call are counted, each place has a test of its own, and the mean of their e-values is one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log

import numpy as np
import scipy

from simlab.arrays import Array
from simlab.certify.shapes.events import EACH, PLACES, law_of
from simlab.certify.shapes.ranges import Shape
from simlab.certify.shapes.rows import classes
from simlab.statistics import Sequential
from simlab.statistics.tv_bounds import mean_bound


class Tally:
    """Counts of one kind of events, and a test of them.

    Those of each place have a test for every place, of which there are ``parts``. No bet gains more than the law that
    fits the counts best: only where that one would raise an alarm is the test made, which takes longer.
    """

    def __init__(self, name: str, size: int, parts: int = PLACES) -> None:
        self.law = law_of(name, classes(size))
        self.counts = np.zeros((*((parts,) if name == EACH else ()), self.law.size), np.int64)
        self.ratios = np.zeros(self.counts.shape[:-1])  # log of how much likelier they are under the law that fits best
        self._test, self._tested = Sequential(self.law), self.counts.copy()

    def add(self, seen: Array) -> None:
        """Take in counts, of as many places as there are."""
        self.counts.reshape(-1)[: seen.size] += seen
        expected = self.counts.sum(axis=-1, keepdims=True) * self.law
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(self.counts > 0, self.counts / expected, 1)
        self.ratios = scipy.special.xlogy(self.counts, times).sum(axis=-1)

    @property
    def test(self) -> Sequential:
        """The test, after all counts."""
        new = self.counts - self._tested
        if new.any():
            self._test, self._tested = self._test.update(new), self.counts.copy()
        return self._test

    @property
    def most(self) -> float:
        """No log e-value is larger, as the counts are; of the places, as many as there are, the mean counts."""
        return float(self.ratios.max() - log(self.ratios.size))

    @property
    def log_e(self) -> float:
        """The log of the largest e-value so far, of when the test was made."""
        return float(self.test.highest.max() - log(self.ratios.size))

    @property
    def log_e_now(self) -> float:
        """The same of the e-value as it is."""
        return float(self.test.log_e_value.max() - log(self.ratios.size))

    @property
    def place(self) -> int:
        """The oddest place."""
        return int(self.test.highest.argmax())

    def told_of(self, own: Tally) -> Array:
        """The counts as those of a case with these ``own`` ones: of several places, those of the oddest alone."""
        if self.counts.ndim == 1:
            return self.counts.copy()
        found = np.zeros_like(own.counts)
        found[self.place] = self.counts[self.place]
        return found.ravel()

    @property
    def p_value(self) -> float:
        """Of the likelihood ratio, by its limit; 0 once something was seen that is excluded."""
        freedom = np.count_nonzero(self.law) - 1
        ratio = float(self.ratios.max())
        if freedom == 0 or np.isinf(ratio):
            return float(np.isfinite(ratio))
        return float(min(1.0, self.ratios.size * scipy.special.chdtrc(freedom, 2 * ratio)))


@dataclass
class Visit:
    """A drawn case: the range it is of, its shape, and what was counted in it."""

    index: int
    at: int
    shape: Shape
    rank: int  # among all drawn cases
    calls: int = 0
    batches: int = 0
    suspected: bool = False  # drawn because counts of others looked odd
    widens: bool = False  # drawn because a region would have its range next
    tallies: dict[str, Tally] = field(default_factory=dict)

    @property
    def odd(self) -> float:
        """The p-value of the oddest of its counts, as many kinds as there are."""
        return min(1.0, max(1, len(self.tallies)) * min((one.p_value for one in self.tallies.values()), default=1.0))


@dataclass
class Pool:
    """Counts of many cases, and the case among them that is the oddest by itself.

    Of a range there are two: ``range`` is what is told of it, of the token looked at, ``band`` has cases that were
    drawn since counts looked odd as well. ``means`` and ``calls`` are of the first.
    """

    tally: Tally
    visit: Visit
    level: float  # bound on the probability of a false alarm by it
    odd: float = 1.0  # that one's p-value
    together: float = 1.0  # the p-value of all of them
    means: Array | float = 0.0  # shares of each outcome among those of a call, summed over calls
    calls: int = 0

    def detectable(self, level: float) -> float:
        """The smallest TV, in the mean over the outcomes of a call, that the calls would show."""
        return self.tally.test.detectable(self.calls, level) if self.calls else 1.0

    def tv_upper(self, confidence: float) -> float:
        """A bound on that TV."""
        return mean_bound(self.tally.test.law, np.asarray(self.means), confidence)
