"""Interleaved benchmarks; report the fastest run.

A machine is shared and changes its clock, so only what was measured together is compared: contenders take turns, in
another order every round, until nobody gets faster or time is up. What disturbs a turn makes it longer, never shorter;
so the fastest turn is what a contender takes, and the ratio of two fastest turns is what is reported.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

TURN = 0.005  # seconds: what is over sooner is done again within the turn
STILL = 12  # rounds without a new fastest turn that end a race
LEAST = 3  # rounds
GAIN = 0.01  # a turn is a new fastest one if it takes this much less


class Contender(NamedTuple):
    """Something to measure: what a call does is given in ``work``, by unit."""

    name: str
    run: Callable[[], object]
    work: dict[str, float]


class Time(NamedTuple):
    """What a contender took: seconds of every turn, and the cores that were busy meanwhile."""

    benchmark: str
    what: str
    contender: str
    work: dict[str, float]
    fastest: float  # seconds for `work`
    cores: float | None  # None where they are not counted
    seconds: list[float]

    def speed(self, unit: str) -> float:
        """Units of work a second."""
        return self.work[unit] / self.fastest


class Finding(NamedTuple):
    """A number without a unit of time: a ratio, a share, an exponent."""

    benchmark: str
    what: str
    contender: str
    against: str
    kind: str  # "times", "share", "exponent" or "GiB"
    per: str  # the work that is compared
    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the value is as wanted; None where nothing is."""
        if self.at_least is None and self.at_most is None:
            return None
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )


def race(benchmark: str, what: str, contenders: Sequence[Contender], seconds: float) -> dict[str, Time]:
    """The times of all contenders, by name; about ``seconds``, after one turn each that does not count."""
    for contender in contenders:
        contender.run()
    turns: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    used: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    stop, rounds, still = time.perf_counter() + seconds, 0, 0
    with _undisturbed():
        while rounds < LEAST or (still < STILL and time.perf_counter() < stop):
            still += 1
            for k in range(len(contenders)):
                contender = contenders[(k + rounds) % len(contenders)]
                took, cores = _turn(contender.run)
                mine = turns[contender.name]
                if not mine or took < (1 - GAIN) * min(mine):
                    still = 0
                mine.append(took)
                used[contender.name].append(cores)
            rounds += 1
    return {
        name: Time(benchmark, what, name, work, min(turns[name]), sum(used[name]) / rounds, turns[name])
        for name, _, work in contenders
    }


def _turn(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the fastest of as many calls as fit a turn, and the cores that were busy."""
    calls: list[float] = []
    cpu, begin = time.process_time(), time.perf_counter()
    end = begin
    while end - begin < TURN:
        start = end
        run()
        end = time.perf_counter()
        calls.append(end - start)
    return min(calls), (time.process_time() - cpu) / (end - begin)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No collection of garbage meanwhile."""
    on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def ratio(
    times: Mapping[str, Time],
    contender: str,
    against: str,
    per: str,
    at_least: float | None = None,
    kind: str = "times",
) -> Finding:
    """How fast a contender is, measured in the speed of another."""
    mine, other = times[contender], times[against]
    value = mine.speed(per) / other.speed(per)
    return Finding(mine.benchmark, mine.what, contender, against, kind, per, value, at_least)


class Watch(Protocol):
    """Is told what is measured, and what was found of it where that is known before the end of the benchmark."""

    def __call__(self, what: str, found: Finding | None = None) -> None: ...


@dataclass(frozen=True)
class Results:
    """What a benchmark leaves."""

    findings: list[Finding] = field(default_factory=list)
    times: list[Time] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was left out, and why

    def add(self, times: Mapping[str, Time], *findings: Finding) -> None:
        """The times of a race, and what follows from them."""
        self.times.extend(times.values())
        self.findings.extend(findings)
