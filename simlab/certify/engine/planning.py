"""What a pass needs, which case is called next for it, and how much is missing.

A pass bounds TV by what was asked for in the *principal* cases, which are few, so that code that takes a millisecond
gets there in a minute; in every other case it must exclude :data:`LOOSE` at least. Time goes to these needs first, and
then to all cases alike: quick code is bounded in all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Case
from simlab.certify.contracts.events import Every
from simlab.certify.engine.evidence import Evidence

LOOSE = 0.4  # TV that is excluded in every case of a pass
CLOSE = 0.97  # of what was asked for, so that a bound is not a hair above it
AGAIN = 1.1  # times as many calls after which a bound is worked out again
FIRST_NEEDS, PRINCIPAL_NEEDS = 0.4, 0.8  # shares of the time of calls that these may take
SPREAD, SURENESS = 0.4, 3.0  # a bound is about (SPREAD sqrt(K) + SURENESS) / sqrt(n) with n calls, K events
LITTLE = 0.3  # a bound above which it says little about how many calls more halve it


def enough(case: Case, goal: float) -> int:
    """About how many calls bound the TV of a case that follows its law by ``goal``."""
    kinds = (events.of if isinstance(events, Every) else events for events in case.events)
    most = max(len(events.law) for events in kinds)  # events of the kind that has most
    groups = max(events.calls for events in case.events)
    return groups * ceil(((SPREAD * most**0.5 + SURENESS) / goal) ** 2)


def calls_for(case: Case, goal: float, calls: int, bound: float) -> int:
    """The same where so many calls bound it by ``bound``: four times as many halve that, once there are many."""
    whole = enough(case, goal)
    by_bound = ceil(min(max(calls, 1) * (bound / goal) ** 2, 1.5 * whole))
    return max(by_bound, whole) if bound > LITTLE else by_bound


class Plan:
    """Needs of a pass, of evidence that is being gathered."""

    def __init__(self, evidence: Evidence, principal: Collection[str], epsilon: float, confidence: float) -> None:
        self.evidence, self.epsilon, self.confidence = evidence, epsilon, confidence
        names = [case.name for case in evidence.cases]
        self.principal = [i for i, name in enumerate(names) if name in principal] or list(range(len(names)))
        self._found: dict[int, tuple[int, float]] = {}  # bounds of cases, after so many calls
        self._excluding: set[int] = set()  # cases in which a large TV is excluded

    def goal(self, i: int) -> float:
        """What the bound of a case has to be."""
        return self.epsilon if i in self.principal else max(LOOSE, self.epsilon)

    def small_in_turn(self, small: Sequence[int], cases: Sequence[Case]) -> list[int]:
        """In which turn ``small`` ones of all cases are enumerated: principal ones, then those of few inputs.

        Time may not suffice for all, and those for coins at their ends have few.
        """
        return sorted(small, key=lambda i: (i not in self.principal, len(cases[i].branches)))

    def next_case(self, planned: Array) -> int:
        """The case to call next, where so many calls of each are planned already."""
        seconds, calls = self.evidence.seconds, np.maximum(1, self.evidence.calls)
        each = np.maximum(seconds / calls, 1e-6)
        total = max(1e-9, float(seconds.sum()))
        uncalled = np.flatnonzero(planned == 0)
        if len(uncalled):
            return int(uncalled[0])
        loose, wanting = self._loose(planned), self._wanting
        if loose and float(seconds[loose].sum()) < FIRST_NEEDS * total:
            return min(loose, key=lambda i: planned[i])
        if wanting and float(seconds[self.principal].sum()) < PRINCIPAL_NEEDS * total:
            return min(wanting, key=lambda i: planned[i])
        return int((planned * each**0.5).argmin())

    def seconds_needed(self, planned: Array) -> float:
        """About how many seconds of calls are needed yet, where so many of each case are planned; 0 if all is met."""
        each = self.evidence.seconds / np.maximum(1, self.evidence.calls)
        enough = {i: self._loosely(i) for i in self._loose(planned)} | {i: self._closely(i) for i in self._wanting}
        return float(sum(each[i] * max(calls - planned[i], 1) for i, calls in enough.items()))

    def _loose(self, planned: Array) -> list[int]:
        """The cases in which not even a large TV is excluded."""
        return [i for i in range(len(planned)) if i not in self.evidence.laws and planned[i] < self._loosely(i)]

    @property
    def _wanting(self) -> list[int]:
        """The principal cases whose bound is not what was asked for."""
        return [i for i in self.principal if self._bound(i) > CLOSE * self.epsilon]

    def _loosely(self, i: int) -> int:
        """Calls that exclude ``LOOSE`` in a case that follows its law, or more where by chance these have not."""
        case, calls, goal = self.evidence.cases[i], int(self.evidence.calls[i]), max(LOOSE, self.epsilon)
        first = enough(case, LOOSE)
        if calls < first or i in self._excluding:
            return first
        bound = self._bound(i)
        if bound <= goal:
            self._excluding.add(i)
            return first
        return max(calls + 1, calls_for(case, CLOSE * goal, calls, bound))

    def _closely(self, i: int) -> int:
        """Calls after which the bound of a principal case will be what was asked for, by what it is now."""
        calls, bound = self._found.get(i, (0, 1.0))
        if bound == 1:
            return enough(self.evidence.cases[i], self.epsilon)
        return ceil(calls * (bound / (CLOSE * self.epsilon)) ** 2)

    def _bound(self, i: int) -> float:
        """The bound of a case: its last one, until it was called noticeably more often."""
        n, bound = self._found.get(i, (0, 1.0))
        calls = int(self.evidence.calls[i])
        if calls > AGAIN * n or (calls and not n):
            self._found[i] = calls, bound = calls, max(self.evidence.bounds_of(i, self.confidence))
        return bound

    # What is missing -----------------------------------------------------------------------------------------

    def missing(self, bounds: list[list[float]]) -> dict[int, int]:
        """By case, about how many calls more would make its bounds what a pass needs, where they are not."""
        found = {}
        for i, row in enumerate(bounds):
            if max(row) > self.goal(i):
                calls = max(int(self.evidence.calls[i]), 1)
                wanted = calls_for(self.evidence.cases[i], self.goal(i), calls, max(row))
                found[i] = max(wanted - calls, calls // 10, 1)
        return found
