"""Evidence from counts: sequential tests of every case, and which known bug explains them.

Each kind of events of each case has one :class:`~simlab.statistics.Sequential`, which half bets on the known bugs. All
together raise a false alarm with probability at most ``FALSE_ALARMS``, however long one goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.certify.contracts.base import Case
from simlab.certify.contracts.events import Every
from simlab.certify.engine.exact import ROUNDING, Exact
from simlab.certify.engine.periodic import Periodic
from simlab.certify.engine.tasks import Counts
from simlab.statistics import Sequential
from simlab.statistics.lattice import FINENESS, tails
from simlab.statistics.tv_bounds import mean_bound

FALSE_ALARMS = 1e-6  # of a whole certificate
BY_SAMPLING = 0.45  # the part of them that fixed cases may raise, as drawn shapes; enumeration far less than the rest
ALIKE = 1e-9  # TV up to which two laws are one
MOST_CALLS = 1 << 24  # beyond which no power is computed
NEAR = 500  # calls after which a case that does not fail counts as one in which nothing is wrong
FITS = 1e-3  # a bug explains the counts unless they would be rarer than this under it


@dataclass(frozen=True)
class Finding:
    """The counts of one kind of events of one case that no lossless callable gives.

    Or ``added`` ones, of many drawn cases together, of which it is one.
    """

    case: int
    events: int
    log_e: float
    counts: Array
    added: bool = False


class Evidence:
    """Counts of all cases, and what they are evidence of."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.tests = [
            [
                Periodic(events.of.law, events.period)
                if isinstance(events, Every)
                else Sequential(events.law, partial(_alternatives, case) if k == 0 and case.explained else ())
                for k, events in enumerate(case.events)
            ]
            for case in cases
        ]
        self.level = BY_SAMPLING * FALSE_ALARMS / max(1, sum(map(len, self.tests)))
        self.counts = [[np.zeros(len(events.law), np.int64) for events in case.events] for case in cases]
        self.laws: dict[int, Exact] = {}  # of cases by number, where they were enumerated
        self.calls = np.zeros(len(cases), np.int64)
        self.seconds = np.zeros(len(cases))
        self.kept = np.zeros(len(cases))

    def add(self, found: Counts) -> None:
        """Take in the counts of a batch."""
        self.add_counts(found.task.case, found.counts, found.calls)
        self.seconds[found.task.case] += found.seconds
        self.kept[found.task.case] += found.kept

    def add_counts(self, i: int, counts: Sequence[Array], calls: int) -> None:
        """Take in counts of every kind of events of case i."""
        for k, seen in enumerate(counts):
            self.counts[i][k] += seen
            if seen.any():
                self.tests[i][k] = self.tests[i][k].update(seen)
        self.calls[i] += calls

    @property
    def finding(self) -> Finding | None:
        """The strongest of the findings; ``None`` where there is none."""
        strength = [
            (float(test.highest), i, k) for i, row in enumerate(self.tests) for k, test in enumerate(row) if test.n
        ]
        log_e, i, k = max(strength, default=(0.0, 0, 0))
        return Finding(i, k, log_e, self.counts[i][k].copy()) if log_e >= -np.log(self.level) else None

    @property
    def fails(self) -> dict[int, bool]:
        """Which cases fail, of those that do or were called often enough to be near their law."""
        strongest = {i: max(float(test.highest) for test in row) for i, row in enumerate(self.tests)}
        return {
            i: log_e >= -np.log(self.level)
            for i, log_e in strongest.items()
            if log_e >= -np.log(self.level) or self.calls[i] >= NEAR
        }

    def diagnosis(self) -> Diagnosis:
        """The known bugs that explain all counts."""
        seen = {i: self.counts[i][0] for i, case in enumerate(self.cases) if self.calls[i] and case.known_laws}
        return diagnosed(self.cases, seen)

    # What a pass is worth ------------------------------------------------------------------------------------

    def bounds(self, confidence: float) -> list[list[float]]:
        """For every kind of events, how far in TV they can still be from the target, all at once with confidence.

        Where the law of a case is known it bounds all of its events, if that is less.
        """
        return [self.bounds_of(i, confidence) for i in range(len(self.cases))]

    def bounds_of(self, i: int, confidence: float) -> list[float]:
        """Those of case i."""
        each, tv = self.each(confidence), self.exact_tv(i, 0)
        known = 1.0 if tv is None else self.laws[i].tv_upper(tv, each)
        return [min(known, self._bound(i, k, each)) for k in range(len(self.tests[i]))]

    def _bound(self, i: int, k: int, confidence: float) -> float:
        """That of one kind of events by what was counted; of several sequences of a call, the mean counts as one."""
        test, events = self.tests[i][k], self.cases[i].events[k]
        if not test.n:
            return 1.0
        sequences = len(events.groups)
        return (
            test.tv_upper(confidence)
            if sequences == 1
            else mean_bound(events.law, self.counts[i][k] / sequences, confidence)
        )

    def each(self, confidence: float) -> float:
        """The confidence of each of the bounds, where all hold at once with this one."""
        return 1 - (1 - confidence) / (len(self.cases) + sum(map(len, self.tests)))

    def exact_tv(self, i: int, k: int) -> float | None:
        """TV of the law of case i, where it is known; of its first events."""
        known = i in self.laws and k == 0
        return float(total_variation(self.laws[i].law, self.cases[i].events[0].law)) if known else None

    def detectable(self) -> list[list[float]]:
        """For every kind of events, the smallest TV that raises an alarm with power 0.999; infinite if none does."""
        found: dict[tuple[int, int, bool, bool], float] = {}  # it depends on no more than this

        def smallest(test: Sequential | Periodic, sequences: int) -> float:
            n = test.n // sequences  # calls, whose sequences may depend on each other
            if not n:
                return inf
            one = test.whole if isinstance(test, Periodic) else test
            kind = len(one.law.mass), n, one.feared, one is test
            if kind not in found:
                found[kind] = test.detectable(n, self.level)
            return found[kind]

        return [
            [smallest(test, len(events.groups)) for test, events in zip(row, case.events, strict=True)]
            for row, case in zip(self.tests, self.cases, strict=True)
        ]


@dataclass(frozen=True)
class Diagnosis:
    """Known bugs by name that explain everything that was counted, if ``explains``; else there is none."""

    names: tuple[str, ...]
    explains: bool

    def summary(self) -> str:
        """The diagnosis in plain language."""
        if not self.explains:
            return "no known bug explains it all"
        others = f" (or, which looks the same here: {'; '.join(self.names[1:])})" if len(self.names) > 1 else ""
        return f"looks like: {self.names[0]}{others}"


def diagnosed(cases: Sequence[Case], counts: Mapping[int, Array]) -> Diagnosis:
    """The known bugs that explain all counts of all cases, the likeliest first; no other is named.

    Nor is any where these cases show nothing wrong, as where the deviation was seen in others: by chance alone some bug
    is a little likelier than the target. It has to be so much likelier that counts which follow the target give a name
    with probability at most ``FITS``.
    """
    names = {name for i in counts for name in cases[i].known_laws}
    gains = {
        name: sum(_gain(cases[i], counts[i], cases[i].known_laws.get(name)) for i in counts) for name in sorted(names)
    }
    ranked = sorted((name for name in gains if gains[name] > 0), key=lambda name: -gains[name])
    fitting = [name for name in ranked if _fits(name, cases, counts)]
    if fitting and gains[fitting[0]] >= np.log(len(names) / FITS):
        best = gains[fitting[0]]
        return Diagnosis(tuple(name for name in fitting if gains[name] > best - np.log(1 / FITS)), True)
    return Diagnosis((), False)


def recognised(cases: Sequence[Case], laws: Mapping[int, Array]) -> Diagnosis:
    """The known bugs under which these cases have exactly these laws; no other is named.

    Where all of these are the target's, a bug that none of these cases shows would have them as well: it is not named.
    """
    if all(float(total_variation(law, cases[i].events[0].law)) <= ROUNDING for i, law in laws.items()):
        return Diagnosis((), False)
    off = {
        name: max(
            float(total_variation(law, cases[i].known_laws.get(name, cases[i].events[0].law)))
            for i, law in laws.items()
        )
        for name in sorted({name for i in laws for name in cases[i].known_laws})
    }
    same = tuple(name for name, most in off.items() if most <= ROUNDING)
    return Diagnosis(same, bool(same))


def _gain(case: Case, counts: Array, law: Array | None) -> float:
    """The log likelihood under a law, less that under the target."""
    target, some = case.events[0].law, counts > 0
    with np.errstate(divide="ignore"):
        # what a law excludes may come of a slip elsewhere: it costs much, not everything
        ratios = np.maximum(np.log((target if law is None else law)[some]), -50) - np.maximum(np.log(target[some]), -50)
    return float(counts[some] @ ratios)


def _fits(name: str, cases: Sequence[Case], counts: Mapping[int, Array]) -> bool:
    worst = 1.0
    for i, seen in counts.items():
        law = cases[i].known_laws.get(name, cases[i].events[0].law)
        worst = min(worst, float(Sequential(law).update(seen).p_value))
    return worst * len(counts) > FITS


def _alternatives(case: Case) -> list[Array]:
    """The laws of the first of the events under known bugs that differ from the target and from each other."""
    found = [case.events[0].law]
    for law in case.known_laws.values():
        if (total_variation(law, np.stack(found)) > ALIKE).all():
            found.append(law)
    return found[1:]


def divergence(law: Array, target: Array) -> float:
    """KL of a law from the target; what the target excludes counts as a factor of e^20."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.minimum(np.log(law / target), 20.0)
    return float(law[law > 0] @ ratios[law > 0])


def calls_needed(case: Case, wrong: Array, level: float, power: float) -> int | None:
    """How many calls of a case surely raise the alarm where its first events follow ``wrong``, a law that is bet on.

    An alarm by the bet on ``wrong`` alone is counted, so fewer may do. ``None`` where the case cannot see it.
    """
    law = case.events[0].law
    if total_variation(law, wrong) <= ALIKE:
        return None
    edge = float(np.log(2 * max(1, len(_alternatives(case))) / level))
    if edge > MOST_CALLS * divergence(wrong, law):  # not even in the mean
        return None
    return _smallest(lambda n: _reached(law, wrong, n, edge) >= power)


def _reached(law: Array, wrong: Array, n: int, edge: float) -> float:
    """The probability that n outcomes of ``wrong`` have a log likelihood ratio of ``edge``, or one that is excluded."""
    inside = (law > 0) & (wrong > 0)
    outside = float(wrong[law <= 0].sum())
    if not inside.any():
        return 1 - (1 - outside) ** n
    left = wrong[inside] / wrong[inside].sum()
    ratios = np.log(wrong[inside] / law[inside])
    step = max(float(np.sqrt(left @ (ratios - left @ ratios) ** 2)), 1e-6) / FINENESS
    scores = np.rint(ratios / step).astype(np.int64)
    drift = n * float(left @ (ratios - step * scores))  # what rounding takes from n of them; its spread is negligible
    reached = tails(scores, left, n, np.array([int(np.ceil((edge - drift) / step))]))
    return float(1 - (1 - outside) ** n * (1 - reached[0]))


def _smallest(enough: Callable[[int], bool], most: int = MOST_CALLS) -> int | None:
    n = 1
    while not enough(n):
        n *= 2
        if n > most:
            return None
    low = n // 2
    while n - low > max(1, n // 64):
        middle = (low + n) // 2
        low, n = (low, middle) if enough(middle) else (middle, n)
    return n
