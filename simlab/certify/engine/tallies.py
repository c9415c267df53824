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
    """Counts of one kind of events, and a test of them, which is made again when there are noticeably more.

    Those of each place have a test for every place, of which there are ``parts``.
    """

    def __init__(self, name: str, size: int, parts: int = PLACES, again: float = 1.0) -> None:
        self.test, self.again = Sequential(law_of(name, classes(size))), again
        self.counts = np.zeros((*((parts,) if name == EACH else ()), self.test.law.size), np.int64)
        self.tested = self.counts.copy()

    def add(self, seen: Array) -> bool:
        """Take in counts, of as many places as there are; whether the test was made again."""
        self.counts.reshape(-1)[: seen.size] += seen
        again = bool(self.counts.sum() >= max(1, self.again * self.tested.sum()))
        if again:
            self.test = self.test.update(self.counts - self.tested)
            self.tested = self.counts.copy()
        return again

    @property
    def log_e(self) -> float:
        """The log of the largest e-value so far; of the places, as many as there are, the mean counts."""
        return float(self.test.highest.max() - log(self.test.highest.size))

    @property
    def log_e_now(self) -> float:
        """The same of the e-value as it is."""
        return float(self.test.log_e_value.max() - log(self.test.highest.size))

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
        seen, mass = self.test.seen, self.test.law.mass
        if self.test.excluded.any() or len(mass) == 1:
            return 1.0 - float(self.test.excluded.any())
        expected = seen.sum(axis=-1, keepdims=True) * mass
        ratio = 2 * scipy.special.xlogy(seen, seen / np.maximum(expected, 1e-300)).sum(axis=-1)
        return float(min(1.0, ratio.size * scipy.stats.chi2.sf(ratio, len(mass) - 1).min()))


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
    odd: float = 1.0  # that one's p-value
    together: float = 1.0  # the p-value of all of them
    means: Array | float = 0.0  # shares of each outcome among those of a call, summed over calls
    calls: int = 0

    def detectable(self, level: float) -> float:
        """The smallest TV, in the mean over the outcomes of a call, that the calls the last test knew of would show."""
        known = self.calls * self.tally.test.n // max(1, int(self.tally.counts.sum()))
        return self.tally.test.detectable(known, level) if known else 1.0

    def tv_upper(self, confidence: float) -> float:
        """A bound on that TV."""
        return mean_bound(self.tally.test.law, np.asarray(self.means), confidence)
