"""The public functions of the certifier, and the steps of a certificate.

1. Each case of the contract's battery is called a few times: does it answer, and validly? Are arguments changed, is
   there hidden state?
2. Where its chance is uniforms that can be given, coins are put at their ends, and small cases are enumerated. A
   fault that only shows at the end of a coin ends nothing: the rest goes on, to tell whether that is all.
3. All cases are called again and again with the real generator, evenly, and shapes are drawn and called beside them.
   Sequential tests judge the counts after every batch, until one of them fails or the time is up.
4. What failed is explained by the known bugs, and reduced to the smallest case that still fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.certify.certificate import Certificate, Failure, Line, counted
from simlab.certify.contracts.base import Case, Function
from simlab.certify.engine.acceptance import acceptance
from simlab.certify.engine.asking import TOO_SLOW
from simlab.certify.engine.evidence import FALSE_ALARMS, Evidence, Finding
from simlab.certify.engine.exact import SURE, Exact
from simlab.certify.engine.failing import Failing
from simlab.certify.engine.mapping import mapped
from simlab.certify.engine.planning import Plan
from simlab.certify.engine.region import GLANCE, Region
from simlab.certify.engine.tasks import HIDDEN, Conduct, Counts, Edges, Enumerate, Fault, Impossible, Sample, Task
from simlab.certify.engine.workers import WorkerPool, check_processes
from simlab.certify.registry import Contract, contract_named, makes
from simlab.certify.shapes.drawing import Drawing, cells
from simlab.certify.shapes.ranges import MOST, limits, parsed
from simlab.checks import check_at_least, check_number
from simlab.messages import GIVEN_ARRAYS, TENSORS, of_tensors
from simlab.statistics.power import check_share

FIRST_CALLS = 64  # calls of each case before any is called more often
TURN = 0.15  # seconds of a batch
LARGEST = 1 << 15  # calls of a batch
EXPLAINING = 2.0  # seconds of calls after a finding, to tell known bugs apart
MORE = 1000  # calls of a drawn case after a finding in it
NAMING = 4.0  # seconds of enumeration once a law is sure, for the same
LIMIT = 10.0  # seconds of a call
LARGEST_EXPONENT = 9999.0  # of an exponent: what the target excludes has none
BY_SHAPES = 0.45  # the part of false alarms that drawn shapes may raise
FEW_CALLS = 4  # times what is missing that is said to be, at most, where bounds are of few calls
SHARE = 0.3  # of the time of calls that drawn shapes get
LARGE_SHARE = 0.75  # until each range of them was seen, while one looks odd, where fixed cases need no more or too much
FAR_TOO_MUCH = 2.0  # times the time that is left
GLANCE_SECONDS = 0.25  # of a range that is looked at for the first time
DISTINGUISHING = 8  # enumerated cases that tell known bugs apart

Progress = Callable[[str, float], None]


def certify(
    function: Function,
    contract: str = "verify",
    *,
    arrays: str | None = None,
    budget: float = 60.0,
    epsilon: float = 0.03,
    confidence: float = 0.999,
    seed: int = 0,
    calls: int | None = None,
    processes: int = 2,
    limit: float = LIMIT,
    shapes: Sequence[str] = (),
    at_most: str = "",
    strict: bool = False,
    subject: str | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Whether what ``function`` emits follows the target's law.

    Parameters
    ----------
    function
        Any callable with the contract's signature (:data:`simlab.certify.CONTRACTS`).
    contract
        How it is called: a name in :data:`simlab.certify.CONTRACTS`.
    arrays
        For contracts of operators that receive their coins, which arrays they are given: ``numpy``, ``torch`` or
        ``cuda``, followed by ``.float32`` (the usual one), ``.float64``, ``.float16`` or ``.bfloat16``. On CUDA all
        calls are made in this process.
    budget
        Seconds. A fault ends it earlier; a pass uses it. Shrinking a failure may take some seconds more.
    epsilon, confidence
        A pass is ``lossless`` if, at this confidence, TV from the target is at most epsilon in the principal cases of
        the contract, and at most 0.4 in every other: of all tokens together in small ones, of windows and of classes of
        tokens in long and large ones.
    seed
        Of what is drawn in the cases.
    calls
        Calls of each case instead of a budget: the same calls and the same verdict on every machine.
    processes
        How many processes call it, at most one where the rows of ``shapes`` are large; 0 calls it in this one, where
        hangs and crashes are not caught.
    limit
        Seconds after which a call counts as hung; the first call of a process has three times as long.
    shapes
        Shapes that come first and get half of the time of drawn ones: sizes such as ``V=151936,gamma=7,batch=1..32``,
        of which those that are missing are drawn, or the name of a preset
        (:data:`simlab.certify.shapes.ranges.PRESETS`). For operators ``dtype=bfloat16`` as well.
    at_most
        The largest shapes that it takes, such as ``V=65536,gamma=16``: beyond them none is drawn.
    strict
        Whether what shows only where a coin is 0 or the largest float below 1 is a failure.
    subject
        What it is called in the certificate; its module and name, unless given.
    progress
        Called with the current step and the share of the budget that is spent.

    Returns
    -------
    Certificate
        The verdict and its grounds; with a failure, the smallest case found that fails.

    Raises
    ------
    ValueError
        For an unknown contract, what cannot be called, a number out of range, or a shape that there is not. Whatever
        ``function`` does is reported, not raised.
    """
    if not callable(function):
        raise ValueError(f"function is {function!r}; expected something that can be called")
    check_number("budget", budget)
    check_share("epsilon", epsilon)
    check_share("confidence", confidence)
    check_at_least("seed", seed, 0)
    check_processes("processes", processes)
    check_number("limit", limit)
    if calls is not None:
        check_at_least("calls", calls, 1)
    named_contract = contract_named(contract, arrays)
    if arrays is not None and arrays.startswith("cuda"):  # a device does not survive a fork
        processes = 0
    drawing = _drawing(named_contract, arrays, shapes, at_most, seed)
    large = [one.name for one in drawing.ranges if one.least(named_contract.axes) > MOST]
    if large:
        processes = min(processes, 1)
    run = _Run(
        function, named_contract, drawing, budget, epsilon, confidence, seed, calls, processes, limit, strict, progress
    )
    run.notes += [f"one process made all calls: two with rows of {name} would not fit 2 GiB" for name in large]
    with np.errstate(all="ignore"):  # whatever is set where this is called
        return run.certificate(subject or named(function))


def rounded(calls: int) -> int:
    """A number of calls with one digit that matters, upwards."""
    digit = 10 ** max(0, len(str(calls)) - 1)
    return -(-calls // digit) * digit


def _lasting(seconds: float) -> str:
    """A time for people, upwards."""
    return f"{max(1, ceil(seconds / 5) * 5)} s" if seconds < 100 else f"{ceil(seconds / 60)} minutes"


def named(function: Function) -> str:
    """Module and name of a callable."""
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"


def _drawing(contract: Contract, arrays: str | None, shapes: Sequence[str], at_most: str, seed: int) -> Drawing:
    """The cases of a contract, with what is drawn beside them."""
    most = limits(at_most, contract.axes) if at_most else {}
    own = [parsed(text, contract.axes) for text in shapes]
    within = [one.within(contract.axes, most) for one in own]
    for one, found in zip(own, within, strict=True):
        if found is None:
            raise ValueError(f"shape {one.name!r} is beyond at-most {at_most!r}, or does not fit memory")
    ranges = (*(one for one in within if one is not None), *cells(contract.axes, most))
    make = {dtype: makes(contract.name, arrays, dtype) for dtype in {one.dtype for one in ranges}}
    fixed = [case for case in contract.cases() if all(case.sizes.get(name, 0) <= size for name, size in most.items())]
    if not fixed:
        least = min(contract.cases(), key=lambda case: sum(case.sizes.values())).sizes
        sizes = ", ".join(f"{name} = {size}" for name, size in least.items())
        raise ValueError(f"at-most {at_most!r} leaves no case of {contract.name}; the smallest has {sizes}")
    return Drawing((*fixed, *contract.both_ends()), contract.axes, lambda one: make[one.dtype], ranges, seed)


@dataclass
class _Run:
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
    strict: bool
    progress: Progress | None
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

    # The steps -----------------------------------------------------------------------------------------------

    def certificate(self, subject: str) -> Certificate:
        failure, edge = self._failure(subject)
        seconds = time.monotonic() - self.start
        shapes = mapped(self.region)
        bounds, detectable = self.evidence.bounds(self.confidence), self.evidence.detectable()
        passed, missing = self._passed(bounds), self.plan.missing(bounds)
        more = self._more(missing, bounds, seconds) if missing and failure is None else ""
        unseen = [one.text for one in shapes.own if not one.seen]
        if failure is None:
            short = missing or self._unsure or unseen or shapes.region is None
            verdict = "inconclusive" if short else "lossless"
            asked = f"{self.epsilon:g} was asked for" if missing else ""
            own = f"too little was seen of {' and of '.join(unseen)}, which was asked for" if unseen else ""
            also = f"with an edge: {edge.told}" if edge else ""
            summary = "; ".join(filter(None, (self._unsure, passed, shapes.told, asked, own, more, also)))
        else:
            verdict = "lossy" if failure.kind in ("law", "edge") else "breaks"
            only = f"otherwise {passed}; {shapes.told}" if failure.at_the_ends and self.evidence.calls.all() else ""
            summary = "; ".join(filter(None, (failure.told, failure.diagnosis, only)))
        return Certificate(
            subject=subject,
            contract=self.contract.name,
            verdict=verdict,
            summary=summary,
            epsilon=self.epsilon,
            confidence=self.confidence,
            false_alarms=FALSE_ALARMS,
            seed=self.seed,
            seconds=seconds,
            calls=int(self.evidence.calls.sum()),
            seconds_to_finding=self.found_after,
            calls_to_finding=self.found_calls,
            lines=tuple(
                Line(
                    case.name,
                    counted(events),
                    int(self.evidence.calls[i]),
                    bounds[i][k],
                    detectable[i][k],
                    min(LARGEST_EXPONENT, float(self.evidence.tests[i][k].highest) / np.log(10)),
                    bool(self.evidence.tests[i][k].highest >= -np.log(self.evidence.level)),
                    self.evidence.exact_tv(i, k),
                    i in self.plan.principal,
                )
                for i, case in enumerate(self.cases)
                for k, events in enumerate(case.events)
            ),
            failure=failure,
            notes=tuple(dict.fromkeys(self.notes)),
            exact=self.exact,
            forced=self.forced,
            startup=self.startup,
            more=more,
            unsure=failure is None and bool(self._unsure),
            acceptance=None if failure else acceptance(self.cases, self.laws, self.evidence.kept, self.evidence.calls),
            edge=edge,
            shapes=shapes,
        )

    def _passed(self, bounds: list[list[float]]) -> str:
        """What a pass says: one bound where it is what was asked for in all cases, else two."""
        first = max(max(bounds[i]) for i in self.plan.principal)
        worst = max(map(max, bounds))
        each = f"{worst:.3g} in each"
        if worst > self.epsilon and len(self.plan.principal) < len(bounds):
            each = f"{first:.3g} in the {len(self.plan.principal)} principal ones and {worst:.3g} in each of the others"
        return (
            f"no deviation found in {len(self.cases)} cases: TV from the target, of what is counted, is at most "
            f"{each}, at confidence {self.confidence:g}"
        )

    def _more(self, missing: dict[int, int], bounds: list[list[float]], seconds: float) -> str:
        """What would be enough, where so many calls of some cases are missing."""
        if self.calls:
            return f"calls={rounded(max(int(self.evidence.calls[i]) + calls for i, calls in missing.items()))} may do"
        if not self.evidence.calls.all():
            return "some cases were never called: a larger budget is needed"
        each = self.evidence.seconds / self.evidence.calls
        both = float(self.evidence.seconds.sum() + self.region.seconds.sum())
        lost = seconds / max(1e-9, (1 - SHARE) * both)  # seconds that pass for one of calls, with enough of them
        least = lost * sum(float(each[i]) * calls for i, calls in missing.items())
        # four times the time halves a bound, once there are many calls: of few it is worse than that by far
        longer = seconds * (max(max(bounds[i]) / self.plan.goal(i) for i in missing) ** 2 - 1)
        return f"about {_lasting(max(least, min(longer, FEW_CALLS * least)))} more may do"

    @property
    def _unsure(self) -> str:
        """What an enumeration, or odd counts, say that there was no time to make sure of; with it nothing passes."""
        found = max(self._deviating, key=self._off, default=None)
        if found is None or self._sure:
            return self.region.doubt
        return (
            f"enumerated, TV from the target is {self._off(found):.2g} in a case ({self._case(found).name}), but there "
            "was no time to make sure of it"
        )

    def _failure(self, subject: str) -> tuple[Failure | None, Failure | None]:
        """What is wrong, and what shows at the ends of coins only, which with ``strict`` is wrong as well."""
        edge = None
        with WorkerPool(self.function, self.drawing, self.seed, self.processes, self.limit) as pool:
            for step in (self._checked, self._forced, self._enumerated, self._sampled):
                found = step(pool)
                if found is not None:
                    self.found_after = time.monotonic() - self.start
                    self.found_calls = int(self.evidence.calls.sum())
                    if not (isinstance(found, Fault) and found.at_the_ends):
                        break
                    edge, found = edge or found, None
            if isinstance(found, Finding):
                self._report("explaining")
                self._explained(pool)
                found = self._counted_on(found, pool)
        self._report("shrinking")
        failing = Failing(
            self.contract,
            self.drawing,
            self.function,
            self.seed,
            self.limit,
            self.processes,
            subject,
            self.evidence,
            self.laws,
        )
        at_edge = failing.of_fault(edge) if edge else None
        if isinstance(found, Fault):
            if of_tensors(found.message):
                self.notes.append(TENSORS if "rng" in self.contract.signature else GIVEN_ARRAYS)
            if "positional argument" in found.message:
                self.notes.append(f"it is called as {self.contract.signature}; --contract chooses another call")
            return failing.of_fault(found), at_edge
        if found is not None:
            return failing.of_law(found), at_edge
        return (at_edge, at_edge) if self.strict else (None, at_edge)

    def _checked(self, pool: WorkerPool) -> Fault | None:
        """A few calls of every case; the budget begins once the first ones have ended."""
        self._report("first calls")
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
        self._report("enumerating")
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
                    return None
                continue
            self._learned(found)
            if found.edge and not edge:
                kind, message, inputs, uniforms = found.edge
                edge = Fault(Enumerate(found.case), kind, message, 0, inputs, uniforms, rare=True)
            if self._deviating and self._sure:
                sure_since = sure_since or time.monotonic()
                explained = self.calls is None and time.monotonic() - sure_since > NAMING
                if explained or len(self.laws) >= DISTINGUISHING or self._spent() > 0.2:
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

        ``None`` as soon as the time that is left will not do: counts may show more elsewhere.
        """
        farthest, number = max(self._deviating, key=self._off, default=None), 1
        start, before = time.monotonic(), self._sureness
        while farthest and not self._sure and self._spent() < 1:
            self._report("making sure of a law")
            left = (1 - self._spent()) * self.budget
            part = min(left, max(1.0, 0.1 * self.budget))
            for found in pool.run(Enumerate(farthest.case, part, number + k) for k in range(max(1, self.processes))):
                if not isinstance(found, Exact):
                    return found if isinstance(found, Fault) else None  # it is not what it was
                self._learned(found)
            number += max(1, self.processes)
            gained = (self._sureness - before) / (time.monotonic() - start)
            if self._sureness + gained * (1 - self._spent()) * self.budget < SURE:
                return None
        return farthest if self._sure else None

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
        self._report("coins at their ends")
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
            self._report("sampling")
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
                    yield Sample(*drawn, GLANCE_SECONDS if drawn[-1] == GLANCE else self._part(0.02))
                    continue
            i = int(planned.argmin()) if self.calls else self.plan.next_case(planned)
            turn = FIRST_CALLS if planned[i] == 0 else min(int(planned[i]), LARGEST)
            turn = min(turn, self.calls - int(planned[i])) if self.calls else self._turn(i, turn)
            yield Sample(i, int(numbers[i]), turn, self._part(0.05))
            planned[i] += turn
            numbers[i] += 1

    def _turn_of_shapes(self, planned: Array) -> bool:
        """Whether drawn shapes have had less than their share of the time."""
        drawn, needed = float(self.region.seconds.sum()), self.plan.seconds_needed(planned)
        left = (1 - self._spent()) * self.budget * max(1, self.processes)
        large = self.region.unseen or self.region.suspicious or not 0 < needed < FAR_TOO_MUCH * left
        share = LARGE_SHARE if large else SHARE
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

    def _report(self, what: str) -> None:
        if self.progress:
            self.progress(what, min(1.0, self._spent()))
