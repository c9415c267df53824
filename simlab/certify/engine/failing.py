"""Describe a failure: the smallest failing case, its outcomes, and the known bug it resembles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from simlab.arrays import total_variation
from simlab.certify.certificate import Failure, listed, plain
from simlab.certify.contracts.base import Case
from simlab.certify.engine.describing import condition, deviation
from simlab.certify.engine.evidence import Diagnosis, Finding, recognised
from simlab.certify.engine.exact import Exact
from simlab.certify.engine.search import Search
from simlab.certify.engine.shrink import BLIND, Smallest, smallest_faulty_case, smallest_lossy_case
from simlab.certify.engine.tasks import LOST, Edges, Enumerate, Fault

ENDS = "a coin is 0 or the largest float below 1, or next to it (one in 2^24 in single precision, in 2^39 in double)"

WRITTEN = 64  # numbers of an argument that a program may hold


@dataclass(frozen=True)
class Failing:
    """What a search has found out of a callable, which a program imports as ``path``: module and name, or empty."""

    search: Search
    path: str

    def of_law(self, found: Finding | Exact) -> Failure:
        """What comes out does not follow the target."""
        case, evidence = self.search.drawing[found.case], self.search.evidence
        if isinstance(found, Exact):
            laws = {i: exact.law for i, exact in evidence.laws.items()}
            diagnosis, first = recognised(evidence.cases, laws), Smallest(case, 0, None, found.law)
        else:
            diagnosis = evidence.diagnosis()
            calls, own = 0 if found.added else int(found.counts.sum()), found.events == 0 and not found.added
            first = Smallest(case, calls, found.counts if own else None, None)
        simple = chain(self.search.contract.simplest(), (case for case in evidence.cases if case.branches))
        small = (self.search.explain and smallest_lossy_case(simple, self.search, diagnosis)) or first
        target = small.case.events[0].law
        exact = None if small.law is None else float(total_variation(small.law, target))
        measured: float | None = None
        if small.counts is not None:
            measured = float(total_variation(small.counts / small.counts.sum(), target))
        elif isinstance(found, Finding) and small is first:
            measured = self._measured(found)
        size = f"about {measured:.2g}" if exact is None else f"{exact:.4g}"
        which = "the smallest case that fails" if small is not first else "a case that fails"
        added = isinstance(found, Finding) and found.added and small is first
        place = f"many shapes together, such as {case.name}" if added else f"{which} ({small.case.name})"
        return Failure(
            kind="law",
            found_in=case.name,
            told=f"TV from the target is {size} in {place}",
            case=small.case.name,
            arguments=self._arguments(small.case),
            calls=small.calls,
            tv_measured=measured,
            tv_exact=exact,
            outcomes=listed(small.case, small.counts, small.law),
            diagnosis=diagnosis.summary() if diagnosis.explains else self._described(found, case, diagnosis),
            known=diagnosis.names,
            script=self._script(small),
            dtype=self._dtype(found.case) if small is first else "",
        )

    def _dtype(self, i: int) -> str:
        """The precision that was asked for in the shape that case i was drawn from."""
        drawing = self.search.drawing
        return drawing.range_of(i).dtype if i >= len(drawing) else ""

    def _measured(self, found: Finding) -> float:
        """TV of what was counted of the events that were found to deviate."""
        return float(total_variation(*self.search.drawing[found.case].events[found.events].shares(found.counts)))

    def _described(self, found: Finding | Exact, case: Case, diagnosis: Diagnosis) -> str:
        """A deviation that is no known bug: what is off, and in which cases."""
        if isinstance(found, Exact):
            fails = {i: law.deviates for i, law in self.search.laws.items()}
            off = deviation(case, 0, found.law)
        else:
            fails = self.search.evidence.fails
            where = f"shapes such as {case.name}" if found.added else ""
            off = deviation(case, found.events, found.counts, where)
        return "; ".join(filter(None, (diagnosis.summary(), off, condition(list(self.search.drawing), fails))))

    def of_fault(self, fault: Fault) -> Failure:
        """It raises, hangs, ends its process, or returns what it must not."""
        where = self.search.drawing[fault.task.case]
        small = Smallest(where, fault.call + 1, None, None, fault)
        if self.search.explain and fault.kind in ("broken", "raises", "declines", "edge"):
            small = smallest_faulty_case(iter(self.search.contract.simplest()), self.search, fault) or small
        smallest = small.fault or fault
        given = self._given(small.case, smallest)
        coins = {"uniforms": list(smallest.uniforms)} if smallest.uniforms else {}
        at_the_ends = fault.at_the_ends and smallest.at_the_ends
        at = f", but only where {ENDS}" if at_the_ends else ""
        return Failure(
            kind="raises" if fault.kind == "declines" else fault.kind,
            found_in=where.name,
            told=f"it {smallest.message}, in {small.case.name}{at}",
            at_the_ends=at_the_ends,
            case=small.case.name,
            arguments=plain(given, small.case.dtype) | coins,
            calls=small.calls,
            script=None if smallest.kind in LOST else self._once(small.case, given, smallest.uniforms),
            dtype=self._dtype(fault.task.case) if small.case is where else "",
        )

    def _given(self, case: Case, fault: Fault) -> dict[str, Any]:
        """The arguments of the call that went wrong, where it is known which one that was."""
        if not isinstance(fault.task, Edges | Enumerate):
            return case.call_arguments(fault.task.inputs(case, self.search.seed), fault.task.place(fault.call))
        return {} if fault.inputs is None else case.call_arguments(fault.inputs, fault.call)

    def _arguments(self, case: Case) -> dict[str, Any]:
        inputs = case.inputs(1, np.random.default_rng(self.search.seed))
        return plain(case.call_arguments(inputs, 0), case.dtype)

    def _script(self, small: Smallest) -> str | None:
        where, _, name = self.path.partition(":")
        calls = small.calls or BLIND  # of what was enumerated alone there are none
        return small.case.script(where, name, calls) if name else None

    def _once(self, case: Case, given: Mapping[str, Any], uniforms: tuple[float, ...]) -> str | None:
        """A program that calls with these arguments and prints the answer.

        ``None`` if they are too long to write, the case has no such program, or nothing can be imported.
        """
        where, _, name = self.path.partition(":")
        short = all(isinstance(one, np.ndarray) and one.size <= WRITTEN for one in given.values())
        if not (name and given and short):
            return None
        called = case.once(self.search.contract.name, tuple(given), uniforms)
        if not called:
            return None
        scripted = "from simlab.certify.engine.scripted import Scripted  # gives these uniforms"
        lines = [
            "import numpy as np",
            f"from {where} import {name} as {self.search.contract.name}",
            *([scripted] if uniforms else []),
            "",
            *(f"{argument} = np.array({one.tolist()})" for argument, one in given.items()),
            *called,
        ]
        return "\n".join(lines) + "\n"
