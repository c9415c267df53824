"""How a callable is certified.

1. Each case of the contract's battery is called a few times: does it answer, and validly? Are arguments changed, is
   there hidden state?
2. Where its randomness is uniforms that can be given, coins are put at their ends, and small cases are enumerated.
3. All cases are called again and again with the real generator, evenly, and sequential tests look at the counts after
   every batch, until one of them fails or the time is up.
4. What failed is explained by the known bugs, and brought back to the smallest case that still fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import Any

import numpy as np

from simlab.certify.base import Case, Function
from simlab.certify.certificate import Certificate, Failure, Line, listed, plain
from simlab.certify.contracts import Contract, contract_named
from simlab.certify.evidence import FALSE_ALARMS, Evidence, Finding, recognised
from simlab.certify.exact import ROUNDING, Exact
from simlab.certify.shrink import Smallest, smallest_fault, smallest_wrong, tv
from simlab.certify.tasks import Conduct, Counts, Edges, Enumerate, Fault, Impossible, Sample, Task
from simlab.certify.workers import Bench
from simlab.checks import check_at_least, check_number
from simlab.statistics.planned import check_share

FIRST_LOOK = 64  # calls of each case before any is called more often
TURN = 0.15  # seconds of a batch
LARGEST = 1 << 15  # calls of a batch
EXPLAINING = 2.0  # seconds of calls after a finding, to tell known bugs apart
LIMIT = 10.0  # seconds of a call
MOST_TOLD = 9999.0  # of an exponent: what the target excludes has none
TOLD = 12  # outcomes that are listed in text: those off by most
TELLING = 8  # enumerated cases that tell known bugs apart

Progress = Callable[[str, float], None]


def certify(
    function: Function,
    contract: str = "verify",
    *,
    budget: float = 60.0,
    epsilon: float = 0.03,
    confidence: float = 0.999,
    seed: int = 0,
    calls: int | None = None,
    processes: int = 2,
    limit: float = LIMIT,
    subject: str | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Whether what ``function`` emits follows the target's law.

    Parameters
    ----------
    function
        Any callable that keeps the contract's signature (:data:`simlab.certify.CONTRACTS`).
    budget
        Seconds. A fault ends it earlier; a pass uses it. Shrinking a failure may take some seconds more.
    epsilon, confidence
        A pass is ``lossless`` if, at this confidence, TV from the target is at most epsilon in every case.
    seed
        Of what is drawn in the cases.
    calls
        Calls of each case instead of a budget: the same certificate again, whatever the machine.
    processes
        How many processes call it; 0 calls it in this one, where hangs and crashes are not caught.
    limit
        Seconds after which a call counts as hung; the first call of a process has three times as long.
    subject
        What it is called in the certificate; its module and name, unless given.
    progress
        Is told what is being done, and which share of the budget is spent.

    Raises ``ValueError`` for an unknown contract and for numbers that are out of range. Whatever ``function`` does is
    reported, not raised.
    """
    if not callable(function):
        raise ValueError(f"function is {function!r}; expected something that can be called")
    check_number("budget", budget)
    check_share("epsilon", epsilon)
    check_share("confidence", confidence)
    check_at_least("seed", seed, 0)
    check_at_least("processes", processes, 0)
    check_number("limit", limit)
    if calls is not None:
        check_at_least("calls", calls, 1)
    run = _Run(function, contract_named(contract), budget, epsilon, confidence, seed, calls, processes, limit, progress)
    return run.certificate(subject or named(function))


def assert_lossless(function: Function, contract: str = "verify", **options: Any) -> Certificate:
    """The certificate of ``function``; raises ``AssertionError`` that tells what is wrong unless it is lossless.

    ``options`` are those of :func:`certify`; with ``calls`` the same calls are made on every machine. An inconclusive
    certificate passes unless ``epsilon`` is given: no deviation was found then either.
    """
    certificate = certify(function, contract, **options)
    fine = ("lossless",) if "epsilon" in options else ("lossless", "inconclusive")
    if certificate.verdict not in fine:
        raise AssertionError(told(certificate))
    return certificate


def told(certificate: Certificate) -> str:
    """A certificate in a few lines of text: what fails, what comes out of it, and how to see it."""
    lines = [f"{certificate.subject} is {certificate.verdict}: {certificate.summary}"]
    failure = certificate.failure
    if failure:
        lines += [f"  {name} = {value}" for name, value in failure.arguments.items()]
        off = sorted(failure.outcomes, key=_off)[:TOLD]
        for row in (row for row in failure.outcomes if row in off):
            numbers = (f"{name} {row[name]:.6g}" for name in ("target", "measured", "exact") if row[name] is not None)
            lines.append(f"  tokens {row['outcome']}: {', '.join(numbers)}")
    lines += [f"  note: {note}" for note in certificate.notes]
    if failure and failure.script and certificate.subject.rpartition(":")[2].isidentifier():
        lines += ["  to see it, run:", *(f"    {line}" for line in failure.script.splitlines())]
    return "\n".join(lines)


def _off(row: dict[str, Any]) -> float:
    found = row["measured"] if row["exact"] is None else row["exact"]
    return 0.0 if found is None else -abs(found - row["target"])


def named(function: Function) -> str:
    """Module and name of a callable."""
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"


@dataclass
class _Run:
    function: Function
    contract: Contract
    budget: float
    epsilon: float
    confidence: float
    seed: int
    calls: int | None
    processes: int
    limit: float
    progress: Progress | None
    notes: list[str] = field(default_factory=list)
    laws: dict[int, Exact] = field(default_factory=dict)
    exact: str = "not reached"
    forced: str = "not reached"
    found_after: float | None = None
    found_calls: int | None = None

    def __post_init__(self) -> None:
        self.cases = tuple(self.contract.cases())
        self.edges = tuple(self.contract.both_ends())
        self.evidence = Evidence(self.cases)
        self.start = time.monotonic()

    # The steps -----------------------------------------------------------------------------------------------

    def certificate(self, subject: str) -> Certificate:
        failure = self._failure(subject)
        seconds = time.monotonic() - self.start
        bounds, detectable = self.evidence.bounds(self.confidence), self.evidence.detectable()
        worst = max(map(max, bounds))
        if failure:
            verdict = "lossy" if failure.kind in ("law", "edge") else "breaks"
            summary = "; ".join(filter(None, (failure.told, failure.diagnosis)))
        else:
            verdict = "lossless" if worst <= self.epsilon else "inconclusive"
            summary = (
                f"no deviation found in {len(self.cases)} cases: TV from the target is at most {worst:.3g} in each, at "
                f"confidence {self.confidence:g}"
            )
            if verdict == "inconclusive":
                summary += f"; {self.epsilon:g} was asked for"
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
                    events.name,
                    int(self.evidence.calls[i]),
                    bounds[i][k],
                    detectable[i][k],
                    min(MOST_TOLD, float(self.evidence.tests[i][k].highest) / np.log(10)),
                    bool(self.evidence.tests[i][k].highest >= -np.log(self.evidence.level)),
                )
                for i, case in enumerate(self.cases)
                for k, events in enumerate(case.events)
            ),
            failure=failure,
            notes=tuple(dict.fromkeys(self.notes)),
            exact=self.exact,
            forced=self.forced,
        )

    def _failure(self, subject: str) -> Failure | None:
        with Bench(self.function, (*self.cases, *self.edges), self.seed, self.processes, self.limit) as bench:
            for step in (self._looked_at, self._enumerated, self._forced, self._sampled):
                fault = step(bench)
                if fault is not None:
                    break
            if fault is not None:
                self.found_after = time.monotonic() - self.start
                self.found_calls = int(self.evidence.calls.sum())
            if isinstance(fault, Finding):
                self._tell("explaining")
                self._explained(bench)
        if fault is None:
            return None
        self._tell("shrinking")
        return self._faulty(fault, subject) if isinstance(fault, Fault) else self._wrong(fault, subject)

    def _looked_at(self, bench: Bench) -> Fault | None:
        """A few calls of every case."""
        self._tell("first calls")
        looks = (Conduct(i, self._part(0.02)) for i in range(len(self.cases)))
        for found in bench.run(self._until(0.3, looks)):
            if isinstance(found, Fault):
                return found
            self.notes += found
        return None

    def _enumerated(self, bench: Bench) -> Fault | Exact | None:
        """The exact law of small cases, where randomness can be given; the one that is farthest from the target."""
        self._tell("enumerating")
        tasks = (Enumerate(i, self._part(0.2)) for i in self._small)
        for found in bench.run(self._until(0.5, tasks)):
            if isinstance(found, Fault):
                return found
            if isinstance(found, Impossible):
                self.exact = f"{len(self.laws)} cases; {found.reason}" if self.laws else f"not possible: {found.reason}"
                break
            self.laws[found.case] = found
            self.exact = f"{len(self.laws)} cases"
            if len(self.laws) >= TELLING and any(law.deviates for law in self.laws.values()):
                break
        for found in self.laws.values():
            if self._off(found) > ROUNDING and not found.deviates:
                self.notes.append(
                    f"enumerated, TV is {self._off(found):.2g} in a case: too little to be sure of in time"
                )
        off = [found for found in self.laws.values() if found.deviates]
        return max(off, key=self._off, default=None)

    def _forced(self, bench: Bench) -> Fault | None:
        """Coins at their ends, where randomness can be given."""
        self._tell("coins at their ends")
        tasks = (Edges(i, self._part(0.1)) for i in self._small)
        for fine, found in enumerate(bench.run(self._until(0.6, tasks))):
            if isinstance(found, Fault):
                return found
            if isinstance(found, Impossible):
                self.forced = f"{fine} cases; {found.reason}" if fine else f"not possible: {found.reason}"
                return None
            self.forced = f"{fine + 1} cases"
        return None

    def _sampled(self, bench: Bench) -> Fault | Finding | None:
        for found in bench.run(self._batches()):
            if isinstance(found, Fault):
                return found
            self.evidence.add(found)
            self._tell("sampling")
            finding = self.evidence.finding
            if finding:
                return finding
        return None

    @property
    def _small(self) -> list[int]:
        return [i for i, case in enumerate((*self.cases, *self.edges)) if case.branches]

    def _off(self, found: Exact) -> float:
        return tv(found.law, (*self.cases, *self.edges)[found.case].events[0].law)

    def _batches(self) -> Iterator[Sample]:
        """Batches of the case that has been called least, until the time is up, or all have been called enough."""
        planned = np.zeros(len(self.cases), np.int64)
        numbers = np.zeros(len(self.cases), np.int64)
        most = self.calls or LARGEST << 20
        while planned.min() < most and (self.calls or self._spent() < 1):
            i = int(planned.argmin())
            each = self.evidence.seconds[i] / max(1, self.evidence.calls[i])
            turn = FIRST_LOOK if planned[i] == 0 else int(min(planned[i], LARGEST, max(8, TURN / max(each, 1e-7))))
            if self.calls:
                turn = int(min(FIRST_LOOK if planned[i] == 0 else planned[i], LARGEST, most - planned[i]))
            yield Sample(i, int(numbers[i]), turn, self._part(0.05))
            planned[i] += turn
            numbers[i] += 1

    def _explained(self, bench: Bench) -> None:
        """More calls of the cases whose law is known under known bugs, so that these can be told apart."""
        telling = [i for i, case in enumerate(self.cases) if case.suspects]
        end = time.monotonic() + EXPLAINING
        sizes = (Sample(i, 1 << 20 | turn, 500, self._part(0.02)) for turn in range(8) for i in telling)
        for found in bench.run(task for task in sizes if self.calls or time.monotonic() < end):
            if isinstance(found, Counts):
                self.evidence.add(found)

    # What is said of a failure -------------------------------------------------------------------------------

    def _wrong(self, found: Finding | Exact, subject: str) -> Failure:
        case = (*self.cases, *self.edges)[found.case]
        if isinstance(found, Exact):
            laws = {i: exact.law for i, exact in self.laws.items() if i < len(self.cases)}
            diagnosis, first = recognised(self.cases, laws), Smallest(case, 0, None, found.law)
        else:
            diagnosis = self.evidence.diagnosis()
            counts = found.counts if found.events == 0 else None
            first = Smallest(case, int(found.counts.sum()), counts, None)
        simple = chain(self.contract.simplest(), (case for case in self.cases if case.branches))
        small = smallest_wrong(simple, self.function, self.seed, self.limit, bool(self.laws), diagnosis) or first
        target = small.case.events[0].law
        measured = None if small.counts is None else tv(small.counts / small.counts.sum(), target)
        exact = None if small.law is None else tv(small.law, target)
        size = f"{exact:.4g}" if exact is not None else f"about {measured:.2g}" if measured is not None else "not 0"
        return Failure(
            kind="law",
            found_in=case.name,
            told=f"TV from the target is {size} in the smallest case that fails ({small.case.name})",
            case=small.case.name,
            arguments=self._arguments(small.case),
            calls=small.calls,
            tv_measured=measured,
            tv_exact=exact,
            outcomes=listed(small.case, small.counts, small.law),
            diagnosis=diagnosis.told(),
            known=diagnosis.names,
            script=self._script(subject, small),
        )

    def _faulty(self, fault: Fault, subject: str) -> Failure:
        cases = (*self.cases, *self.edges)
        where = cases[fault.task.case]
        small = Smallest(where, fault.call + 1, None, None, fault)
        if fault.kind in ("broken", "raises", "edge"):
            small = smallest_fault(iter(self.contract.simplest()), self.function, self.seed, self.limit, fault) or small
        shown = small.fault or fault
        inputs = shown.inputs if shown.inputs is not None else shown.task.inputs(small.case, self.seed)
        arguments = plain(small.case.shown(inputs, shown.task.place(shown.call))) if inputs is not None else {}
        if shown.uniforms:
            arguments["uniforms"] = [float(u) for u in shown.uniforms]
        at = " where coins are 0 or the largest float below 1" if isinstance(shown.task, Edges) else ""
        return Failure(
            kind=fault.kind,
            found_in=where.name,
            told=f"it {shown.message}{at}, in {small.case.name}",
            case=small.case.name,
            arguments=arguments,
            calls=small.calls,
            tv_measured=None,
            tv_exact=None,
            outcomes=[],
            diagnosis="",
            known=(),
            script=None,
        )

    def _arguments(self, case: Case) -> dict[str, Any]:
        inputs = case.inputs(1, np.random.default_rng(self.seed))
        return plain(case.shown(inputs, 0))

    def _script(self, subject: str, small: Smallest) -> str | None:
        where, _, name = subject.partition(":")
        return small.case.script(where, name or self.contract.name, small.calls)

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

    def _tell(self, what: str) -> None:
        if self.progress:
            self.progress(what, min(1.0, self._spent()))


__all__ = ["Progress", "assert_lossless", "certify", "named", "told"]
