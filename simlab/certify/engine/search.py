"""The steps of a certificate.

1. Each case of the contract's battery is called a few times: does it answer, and validly? Are arguments changed, is
   there hidden state?
2. Where its chance is uniforms that can be given, coins are put at their ends, and small cases are enumerated. A
   fault that only shows at the end of a coin ends nothing: the rest goes on, to tell whether that is all.
3. All cases are called again and again with the real generator, evenly, and shapes are drawn and called beside them.
   Sequential tests judge the counts after every batch, until one of them fails or the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.certify.contracts.base import Case, Function
from simlab.certify.engine.asking import TOO_SLOW
from simlab.certify.engine.evidence import FALSE_ALARMS, Evidence, Finding
from simlab.certify.engine.exact import SURE, Exact
from simlab.certify.engine.planning import Plan
from simlab.certify.engine.region import GLANCE, Region
from simlab.certify.engine.tasks import HIDDEN, Conduct, Counts, Edges, Enumerate, Fault, Impossible, Sample, Task
from simlab.certify.engine.workers import WorkerPool
from simlab.certify.registry import Contract
from simlab.certify.shapes.drawing import Drawing

FIRST_CALLS = 64  # calls of each case before any is called more often
TURN = 0.15  # seconds of a batch
LARGEST = 1 << 15  # calls of a batch
EXPLAINING = 2.0  # seconds of calls after a finding, to tell known bugs apart
MORE = 1000  # calls of a drawn case after a finding in it
NAMING = 4.0  # seconds of enumeration once a law is sure, for the same
BY_SHAPES = 0.45  # the part of false alarms that drawn shapes may raise
SHARE = 0.3  # of the time of calls that drawn shapes get
LARGE_SHARE = 0.75  # until each range of them was seen, while one looks odd, and where fixed cases need too much
MOST = 0.9  # where they need no more
FAR_TOO_MUCH = 1.5  # times the time that is left
GLANCE_SECONDS, FIRST_SECONDS = 0.25, 0.4  # of a range that is looked at for the first time, and of a drawn case
DISTINGUISHING = 8  # enumerated cases that tell known bugs apart
ROUNDS = 10  # enumerations, with a number of calls, that make sure of a law: as many as the least TV may need

Progress = Callable[[str, float], None]


@dataclass
class Search:
    """Steps of a certificate, one after the other, and what they have found.

    The first attributes are parameters of :func:`simlab.certify.certify`.
    """

    function: Function
    contract: Contract
    drawing: Drawing
    budget: float
    epsilon: float
    confidence: float
    seed: int
    calls: int | None
    processes: int
    limit: float
    progress: Progress | None
    explain: bool = True
    notes: list[str] = field(default_factory=list)
    laws: dict[int, Exact] = field(default_factory=dict)
    exact: str = "not reached"
    forced: str = "not reached"
    startup: float = 0.0
    found_after: float | None = None
    found_calls: int | None = None

    def __post_init__(self) -> None:
        self.edges = tuple(self.contract.both_ends())
        self.cases = tuple(self.drawing)[: -len(self.edges) or None]
        self.evidence = Evidence(self.cases)
        self.plan = Plan(self.evidence, self.contract.principal, self.epsilon, self.confidence)
        self.region = Region(self.drawing, BY_SHAPES * FALSE_ALARMS, self.confidence, self.limit / 4)
        self.start = time.monotonic()

    @property
    def unsure(self) -> str:
        """What an enumeration, or odd counts, say that there was no time to make sure of; with it nothing passes."""
        found = max(self._deviating, key=self._off, default=None)
        if found is None or self._sure:
            return self.region.doubt
        but = "it was not made sure of" if self.calls else "there was no time to make sure of it"
        return (
            f"enumerated, TV from the target is {self._off(found):.2g} in a case ({self._case(found).name}), but {but}"
        )

    def found(self) -> tuple[Fault | Finding | Exact | None, Fault | None]:
        """What is wrong, and what shows at the ends of coins only."""
        edge = None
        with self.pool(self.drawing, self.processes) as pool:
            for step in (self._checked, self._forced, self._enumerated, self._sampled):
                found = step(pool)
                if found is not None:
                    self.found_after = time.monotonic() - self.start
                    self.found_calls = int(self.evidence.calls.sum())
                    if not (isinstance(found, Fault) and found.at_the_ends):
                        break
                    edge, found = edge or found, None
            if self.explain and isinstance(found, Finding):
                self.report("explaining")
                self._explained(pool)
                found = self._counted_on(found, pool)
        return found, edge

    def pool(self, cases: Sequence[Case], processes: int) -> WorkerPool:
        """Processes that call the function with these cases."""
        return WorkerPool(self.function, cases, self.seed, processes, self.limit)

    def _checked(self, pool: WorkerPool) -> Fault | None:
        """A few calls of every case; the budget begins once the first ones have ended."""
        self.report("first calls")
        tasks = (Conduct(i, self._part(0.02)) for i in range(len(self.cases)))
        for found in pool.run(self._until(0.3, tasks)):
            if not self.startup:
                self.startup = time.monotonic() - self.start
                self.start += self.startup
            if isinstance(found, Fault):
                return found
            self.notes += found
        if HIDDEN in self.notes:
            self.exact = self.forced = "not possible: hidden state"
            pool.keep_one()
        return None

    def _enumerated(self, pool: WorkerPool) -> Fault | Exact | None:
        """The exact law of small cases, where chance can be given; the one that is farthest from the target."""
        self.report("enumerating")
        tasks = (
            Enumerate(i, self._part(0.1)) for i in self.plan.small_in_turn(self._small, (*self.cases, *self.edges))
        )
        sure_since, edge = 0.0, None
        for found in pool.run(self._until(0.3, tasks)):
            if isinstance(found, Fault):
                if not found.at_the_ends:
                    return found
                edge = edge or found  # a law says more
                continue
            if isinstance(found, Impossible):
                self.exact = f"not possible: {found.reason}" if not self.laws else self.exact
                if not self.laws and found.reason != TOO_SLOW:
                    return edge
                continue
            self._learned(found)
            if found.edge and not edge:
                kind, message, inputs, uniforms = found.edge
                edge = Fault(Enumerate(found.case), kind, message, 0, inputs, uniforms, rare=True)
            if self._deviating and self._sure:
                sure_since = sure_since or time.monotonic()
                late = self.calls is None and (time.monotonic() - sure_since > NAMING or self._spent() > 0.2)
                if late or not self.explain or len(self.laws) >= DISTINGUISHING:
                    break
        return self._made_sure(pool) or edge

    def _learned(self, found: Exact) -> None:
        """Take in a law; what was tried of it before counts as well."""
        before = self.laws.get(found.case)
        self.laws[found.case] = replace(found, predicted=found.predicted + (before.predicted if before else 0.0))
        if found.case < len(self.cases):
            self.evidence.laws[found.case] = self.laws[found.case]
        self.exact = f"{len(self.laws)} of {len(self._small)} cases"

    def _made_sure(self, pool: WorkerPool) -> Fault | Exact | None:
        """The law that is farthest from the target, once it is sure that there is one that is not the target's.

        ``None`` where it cannot be made sure of: counts may show more elsewhere.
        """
        farthest = max(self._deviating, key=self._off, default=None)
        for numbers, part in self._rounds():
            if farthest is None or self._sure:
                break
            self.report("making sure of a law")
            for found in pool.run(Enumerate(farthest.case, part, number) for number in numbers):
                if not isinstance(found, Exact):
                    return found if isinstance(found, Fault) else None  # it is not what it was
                self._learned(found)
        return farthest if self._sure else None

    def _rounds(self) -> Iterator[tuple[range, float]]:
        """Numbers of enumerations that may make sure of a law, and the seconds of each.

        As long as there is time, and it will do by what was gained so far; with a number of calls no time matters, and
        every round is of one enumeration, however many processes there are.
        """
        if self.calls:
            yield from ((range(number, number + 1), inf) for number in range(1, ROUNDS))
            return
        start, before, first, many = time.monotonic(), self._sureness, 1, max(1, self.processes)
        while self._spent() < 1:
            yield range(first, first + many), min((1 - self._spent()) * self.budget, self._part(0.1))
            first += many
            gained = (self._sureness - before) / (time.monotonic() - start)
            if self._sureness + gained * (1 - self._spent()) * self.budget < SURE:
                return

    @property
    def _deviating(self) -> list[Exact]:
        return [found for found in self.laws.values() if found.deviates]

    @property
    def _sure(self) -> bool:
        """Whether what was tried of laws that deviate is enough, if none of them did, to have shown it."""
        return self._sureness >= SURE

    @property
    def _sureness(self) -> float:
        """How much that is."""
        return sum(found.sureness(self._off(found)) for found in self._deviating)

    def _forced(self, pool: WorkerPool) -> Fault | None:
        """Coins at their ends, where chance can be given."""
        self.report("coins at their ends")
        tasks = (Edges(i, self._part(0.1)) for i in self._small)
        for before, found in enumerate(pool.run(self._until(0.2, tasks))):
            if isinstance(found, Impossible):
                self.forced = f"not possible: {found.reason}" if before == 0 else self.forced
                return None
            self.forced = f"{before + 1} of {len(self._small)} cases"
            if isinstance(found, Fault):
                return found
        return None

    def _sampled(self, pool: WorkerPool) -> Fault | Finding | None:
        found = self._taken_in(pool, self._batches())
        if found or not self.calls:
            return found
        for drawn in self.region.rounds(self.calls):
            found = self._taken_in(pool, (Sample(*asked) for asked in drawn))
            if found:
                return found
        return None

    def _taken_in(self, pool: WorkerPool, tasks: Iterator[Sample]) -> Fault | Finding | None:
        """What comes of tasks as evidence, until something is found."""
        for found in pool.run(tasks):
            drawn = found.task.case >= len(self.drawing)
            if isinstance(found, Fault):
                if not (drawn and found.kind == "declines"):
                    return found
                if not self.region.left_out(found):
                    return replace(found, message=f"{found.message}, in a shape that it has answered before")
                continue
            (self.region if drawn else self.evidence).add(found)
            self.report("sampling")
            finding = self.region.finding or self.evidence.finding
            if finding:
                return finding
        return None

    @property
    def _small(self) -> list[int]:
        """The cases whose coins are given, if what comes out depends on nothing else."""
        if HIDDEN in self.notes:
            return []
        return [i for i, case in enumerate((*self.cases, *self.edges)) if case.branches]

    def _case(self, found: Exact) -> Case:
        return (*self.cases, *self.edges)[found.case]

    def _off(self, found: Exact) -> float:
        return float(total_variation(found.law, self._case(found).events[0].law))

    def _batches(self) -> Iterator[Sample]:
        """Batches of the case that the plan is for, until the time is up, or all have been called enough."""
        planned = np.zeros(len(self.cases), np.int64)
        numbers = np.zeros(len(self.cases), np.int64)
        while (planned.min() < self.calls) if self.calls else (self._spent() < 1):
            if not self.calls and planned.all() and self._turn_of_shapes(planned):
                drawn = self.region.next_case()
                if drawn:
                    yield Sample(*drawn, self._seconds(*drawn))
                    continue
            i = int(planned.argmin()) if self.calls else self.plan.next_case(planned)
            turn = FIRST_CALLS if planned[i] == 0 else min(int(planned[i]), LARGEST)
            turn = min(turn, self.calls - int(planned[i])) if self.calls else self._turn(i, turn)
            yield Sample(i, int(numbers[i]), turn, self._part(0.05))
            planned[i] += turn
            numbers[i] += 1

    def _seconds(self, case: int, number: int, calls: int) -> float:
        """Seconds that the calls of a drawn case may take: little before it looks odd."""
        return GLANCE_SECONDS if calls == GLANCE else FIRST_SECONDS if number == 0 else self._part(0.02)

    def _turn_of_shapes(self, planned: Array) -> bool:
        """Whether drawn shapes have had less than their share of the time."""
        drawn, needed = float(self.region.seconds.sum()), self.plan.seconds_needed(planned)
        left = (1 - self._spent()) * self.budget * max(1, self.processes)
        large = self.region.unseen or self.region.suspicious or needed >= FAR_TOO_MUCH * left
        share = MOST if needed == 0 else LARGE_SHARE if large else SHARE
        return drawn <= share * (drawn + float(self.evidence.seconds.sum()))

    def _turn(self, i: int, turn: int) -> int:
        """How many calls of a case are made in turn, of at most so many; more of those that belong together."""
        each = max(1e-6, float(self.evidence.seconds[i] / max(1, self.evidence.calls[i])))
        return max(min(turn, int(TURN / each)), min(self.cases[i].at_once, int(self._part(0.02) / each)), 8)

    def _explained(self, pool: WorkerPool) -> None:
        """More calls of the cases whose law is known under known bugs, so that these can be distinguished."""
        distinguishing = [i for i, case in enumerate(self.cases) if case.known_laws]
        end = time.monotonic() + EXPLAINING
        turns = 1 if self.calls else 8  # the same ones on every machine, or as many as there is time for
        batches = (Sample(i, 1 << 20 | turn, 500, self._part(0.02)) for turn in range(turns) for i in distinguishing)
        for found in pool.run(batch for batch in batches if self.calls or time.monotonic() < end):
            if isinstance(found, Counts):
                self.evidence.add(found)

    def _counted_on(self, found: Finding, pool: WorkerPool) -> Finding:
        """A finding with more calls of its drawn case: of few, what is told of it would be chance as well."""
        if found.case < len(self.drawing):
            return found
        parts = self.drawing[found.case].events[found.events].parts
        here = found.counts.reshape(parts, -1).any(axis=1, keepdims=True)  # places that it is about
        calls = min(MORE, self.calls or MORE)
        for more in pool.run(iter([Sample(found.case, 1 << 20, calls, self._part(0.05))])):
            if isinstance(more, Counts):
                seen = more.counts[found.events].reshape(parts, -1) * here
                return replace(found, counts=found.counts + seen.ravel())
        return found

    # Time ----------------------------------------------------------------------------------------------------

    def _spent(self) -> float:
        return (time.monotonic() - self.start) / self.budget if self.budget else 1.0

    def _part(self, share: float) -> float:
        """Seconds that one task may take: a share of the budget, but a second at least."""
        return inf if self.calls else max(1.0, share * self.budget)

    def _until(self, share: float, tasks: Iterator[Task]) -> Iterator[Task]:
        for task in tasks:
            if self.calls is None and self._spent() > share:
                return
            yield task

    def report(self, what: str) -> None:
        if self.progress:
            self.progress(what, min(1.0, self._spent()))
