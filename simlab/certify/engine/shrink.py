"""Search for the smallest case that still fails, from the simplest up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.certify.contracts.base import Case
from simlab.certify.engine.evidence import FALSE_ALARMS, Diagnosis
from simlab.certify.engine.exact import Exact
from simlab.certify.engine.search import Search
from simlab.certify.engine.tasks import Counts, Edges, Enumerate, Fault, Sample, Task
from simlab.certify.engine.workers import WorkerPool
from simlab.statistics import Sequential

SECONDS = 6.0  # for a search
AT_ONCE = 25  # cases for which a process is made
SEEN = 0.02  # TV that a known bug must make for a small case to be sampled
CALLS = 20_000  # in a small case
BLIND = 3_000  # where nothing is known of the bug
BATCH = 1_000


@dataclass(frozen=True)
class Smallest:
    """A small case that fails: ``law`` is exact where there is one, ``counts`` are of ``calls`` calls."""

    case: Case
    calls: int
    counts: Array | None
    law: Array | None
    fault: Fault | None = None


def smallest_lossy_case(simplest: Iterator[Case], search: Search, diagnosis: Diagnosis) -> Smallest | None:
    """The first of the cases whose outcomes do not follow the target; ``None`` where none is found in time."""
    enumerable = bool(search.laws)
    known = diagnosis.names[0] if diagnosis.names and not enumerable else None
    end = time.monotonic() + SECONDS
    likely = (case for case in simplest if known is None or _seen(case, known))
    while time.monotonic() < end and (cases := list(islice(likely, AT_ONCE))):
        with search.pool(cases, min(1, search.processes)) as pool:
            for k, case in enumerate(cases):
                enumerated = enumerable and case.branches  # of the others there is no law to be had
                found = _enumerated(pool, k, case) if enumerated else _sampled(pool, k, case, known, end)
                if found or time.monotonic() > end:
                    return found
    return None


def smallest_faulty_case(simplest: Iterator[Case], search: Search, fault: Fault) -> Smallest | None:
    """The first of the cases in which a call goes wrong in the same way."""
    end = time.monotonic() + SECONDS

    def task(k: int) -> Task:
        return Edges(k, SECONDS) if fault.uniforms or fault.kind == "edge" else Sample(k, 0, 200, SECONDS)

    while time.monotonic() < end and (cases := list(islice(simplest, AT_ONCE))):
        with search.pool(cases, min(1, search.processes)) as pool:
            for found in pool.run(task(k) for k in range(len(cases))):
                if isinstance(found, Fault) and found.kind == fault.kind:
                    return Smallest(cases[found.task.case], found.call + 1, None, None, found)
                if time.monotonic() > end:
                    return None
    return None


def _seen(case: Case, known: str) -> bool:
    law = case.law_under(known)
    return law is not None and bool(total_variation(law, case.events[0].law) > SEEN)


def _enumerated(pool: WorkerPool, k: int, case: Case) -> Smallest | None:
    exact = next(pool.run(iter([Enumerate(k, SECONDS)])), None)
    if not isinstance(exact, Exact) or not exact.deviates:
        return None
    counted = next(pool.run(iter([Sample(k, 0, BLIND, SECONDS)])), None)
    counts = counted.counts[0] if isinstance(counted, Counts) else None
    return Smallest(case, BLIND, counts, exact.law)


def _sampled(pool: WorkerPool, k: int, case: Case, known: str | None, end: float) -> Smallest | None:
    law = case.law_under(known) if known else None
    test = Sequential(case.events[0].law, [] if law is None else [law])
    counts = np.zeros(len(case.events[0].law), np.int64)
    for number in range((BLIND if law is None else CALLS) // BATCH):
        counted = next(pool.run(iter([Sample(k, number, BATCH, SECONDS)])), None)
        if not isinstance(counted, Counts) or time.monotonic() > end:
            return None
        counts += counted.counts[0]
        test = test.update(counted.counts[0])
        if test.rejects(FALSE_ALARMS):
            return Smallest(case, test.n, counts, None)
    return None
