"""The public function of the certifier, and what a certificate says of what was found.

The steps are in :mod:`simlab.certify.engine.search`. What failed is explained by the known bugs, and reduced to the
smallest case that still fails.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np

from simlab.certify.certificate import Certificate, Failure, Line, Map, counted
from simlab.certify.contracts.base import Function
from simlab.certify.engine.acceptance import acceptance
from simlab.certify.engine.evidence import FALSE_ALARMS
from simlab.certify.engine.failing import Failing
from simlab.certify.engine.mapping import mapped
from simlab.certify.engine.region import ENOUGH
from simlab.certify.engine.search import SHARE, Progress, Search
from simlab.certify.engine.tasks import Fault
from simlab.certify.engine.workers import check_processes
from simlab.certify.registry import Contract, contract_named, makes
from simlab.certify.shapes.drawing import Drawing, cells
from simlab.certify.shapes.ranges import MOST, limits, parsed
from simlab.checks import check_at_least, check_number
from simlab.messages import GIVEN_ARRAYS, TENSORS, of_tensors
from simlab.statistics.power import check_share

LIMIT = 10.0  # seconds of a call
LARGEST_EXPONENT = 9999.0  # of an exponent: what the target excludes has none
FEW_CALLS = 4  # times what is missing that is said to be, at most, where bounds are of few calls
TWICE = 2  # a range may have shapes of two classes and of seven, of each of which as many calls are needed


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
    explain: bool = True,
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
        Seconds. A fault ends it earlier; a pass uses it. Explaining a failure may take some seconds more.
    epsilon, confidence
        A pass is ``lossless`` if, at this confidence, TV from the target is at most epsilon in the principal cases of
        the contract, and at most 0.4, or epsilon if that is more, in every other: of all tokens together in small
        ones, of windows and of classes of tokens in long and large ones.
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
        The largest shapes that it takes, such as ``V=65536,gamma=16``: beyond them nothing is called.
    strict
        Whether what shows only where a coin is 0 or the largest float below 1 is a failure.
    explain
        Whether a failure is told apart from known bugs and reduced to a smaller case, which takes about as long again
        as finding it. Without, the search ends with the first finding that is sure: known bugs are named by what was
        seen until then, and code that is wrong in two ways may be ``lossy`` where it ``breaks`` with an explanation.
    subject
        What it is called in the certificate; its module and name, unless given. One of the form ``module:name`` is what
        programs import that show a failure; with another, or none, they import the function if it is found by its own.
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
    if isinstance(shapes, str):  # which is a sequence, of letters
        raise ValueError(f"shapes is {shapes!r}; expected a list of such texts")
    named_contract = contract_named(contract, arrays)
    if arrays is not None and arrays.startswith("cuda"):  # a device does not survive a fork
        processes = 0
    most = limits(at_most, named_contract.axes) if at_most else {}
    drawing = _drawing(named_contract, arrays, shapes, most, seed)
    large = [one.name for one in drawing.ranges if one.least(named_contract.axes) > MOST]
    if large:
        processes = min(processes, 1)
    search = Search(
        function,
        named_contract.within(most),
        drawing,
        budget,
        epsilon,
        confidence,
        seed,
        calls,
        processes,
        limit,
        progress,
        explain,
    )
    search.notes += [f"one process made all calls: two with rows of {name} would not fit 2 GiB" for name in large]
    with np.errstate(all="ignore"):  # whatever is set where this is called
        return _certificate(search, subject or named(function), _path(function, subject or ""), strict)


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


def _path(function: Function, subject: str) -> str:
    """By which module and name a program imports it: the subject, if it is of that form; empty where by none."""
    if subject.partition(":")[2].isidentifier():
        return subject
    own = named(function)
    module, _, name = own.partition(":")
    there = module != "__main__" and getattr(sys.modules.get(module), name, None) is function
    return own if there else ""


def _drawing(
    contract: Contract, arrays: str | None, shapes: Sequence[str], most: Mapping[str, int], seed: int
) -> Drawing:
    """The cases of a contract that have at most these sizes, with what is drawn beside them."""
    at_most = ",".join(f"{name}={size}" for name, size in most.items())
    own = [parsed(text, contract.axes) for text in shapes]
    within = [one.within(contract.axes, most) for one in own]
    for one, found in zip(own, within, strict=True):
        if found is None:
            raise ValueError(f"shape {one.name!r} is beyond at-most {at_most!r}, or does not fit memory")
        beyond = [
            f"{name} of at most {most[name]}" for name, (_, high) in one.of.items() if high > most.get(name, high)
        ]
        if beyond:
            raise ValueError(f"shape {one.name!r} reaches beyond at-most {at_most!r}; expected {beyond[0]}")
    ranges = (*(one for one in within if one is not None), *cells(contract.axes, most))
    make = {dtype: makes(contract.name, arrays, dtype) for dtype in {one.dtype for one in ranges}}
    limited = contract.within(most)
    fixed = limited.cases()
    if not fixed:
        least = min(contract.cases(), key=lambda case: sum(case.sizes.values())).sizes
        sizes = ", ".join(f"{name} = {size}" for name, size in least.items())
        raise ValueError(f"at-most {at_most!r} leaves no case of {contract.name}; the smallest has {sizes}")
    return Drawing((*fixed, *limited.both_ends()), contract.axes, lambda one: make[one.dtype], ranges, seed)


def _certificate(search: Search, subject: str, path: str, strict: bool) -> Certificate:
    failure, edge = _failure(search, path, strict)
    seconds = time.monotonic() - search.start
    shapes = mapped(search.region)
    bounds, detectable = search.evidence.bounds(search.confidence), search.evidence.detectable()
    passed, missing = _passed(search, bounds), search.plan.missing(bounds)
    more = _more(search, missing, bounds, seconds, shapes) if failure is None else ""
    unseen = [one.text for one in shapes.own if not one.seen]
    if failure is None:
        short = missing or search.unsure or unseen or shapes.region is None
        verdict = "inconclusive" if short else "lossless"
        asked = f"{search.epsilon:g} was asked for" if missing else ""
        own = f"too little was seen of {' and of '.join(unseen)}, which was asked for" if unseen else ""
        also = f"with an edge: {edge.told}" if edge else ""
        summary = "; ".join(filter(None, (search.unsure, passed, shapes.told, asked, own, more, also)))
    else:
        verdict = "lossy" if failure.kind in ("law", "edge") else "breaks"
        only = f"otherwise {passed}; {shapes.told}" if failure.at_the_ends and search.evidence.calls.all() else ""
        summary = "; ".join(filter(None, (failure.told, failure.diagnosis, only)))
    return Certificate(
        subject=subject,
        contract=search.contract.name,
        verdict=verdict,
        summary=summary,
        epsilon=search.epsilon,
        confidence=search.confidence,
        false_alarms=FALSE_ALARMS,
        seed=search.seed,
        seconds=seconds,
        calls=int(search.evidence.calls.sum()),
        seconds_to_finding=search.found_after,
        calls_to_finding=search.found_calls,
        lines=tuple(
            Line(
                case.name,
                counted(events),
                int(search.evidence.calls[i]),
                bounds[i][k],
                detectable[i][k],
                min(LARGEST_EXPONENT, float(search.evidence.tests[i][k].highest) / np.log(10)),
                bool(search.evidence.tests[i][k].highest >= -np.log(search.evidence.level)),
                search.evidence.exact_tv(i, k),
                i in search.plan.principal,
            )
            for i, case in enumerate(search.cases)
            for k, events in enumerate(case.events)
        ),
        failure=failure,
        notes=tuple(dict.fromkeys(search.notes)),
        exact=search.exact,
        forced=search.forced,
        startup=search.startup,
        more=more,
        unsure=failure is None and bool(search.unsure),
        acceptance=None
        if failure
        else acceptance(search.cases, search.laws, search.evidence.kept, search.evidence.calls),
        edge=edge,
        shapes=shapes,
    )


def _passed(search: Search, bounds: list[list[float]]) -> str:
    """What a pass says: one bound where it is what was asked for in all cases, else two."""
    first = max(max(bounds[i]) for i in search.plan.principal)
    worst = max(map(max, bounds))
    each = f"{worst:.3g} in each"
    if worst > search.epsilon and len(search.plan.principal) < len(bounds):
        each = f"{first:.3g} in the {len(search.plan.principal)} principal ones and {worst:.3g} in each of the others"
    return (
        f"no deviation found in {len(search.cases)} cases: TV from the target, of what is counted, is at most "
        f"{each}, at confidence {search.confidence:g}"
    )


def _more(search: Search, missing: dict[int, int], bounds: list[list[float]], seconds: float, shapes: Map) -> str:
    """What would be enough, where so many calls of some cases are missing, or too few of shapes were made."""
    if search.calls:
        wanted = [int(search.evidence.calls[i]) + calls for i, calls in missing.items()]
        short = shapes.region is None or any(not (one.seen or one.why) for one in shapes.own)
        calls = rounded(max([*wanted, TWICE * ENOUGH if short else 0]))
        return f"calls={calls} may do" if calls > search.calls else ""
    if not missing:
        return ""
    if not search.evidence.calls.all():
        return "some cases were never called: a larger budget is needed"
    each = search.evidence.seconds / search.evidence.calls
    both = float(search.evidence.seconds.sum() + search.region.seconds.sum())
    lost = seconds / max(1e-9, (1 - SHARE) * both)  # seconds that pass for one of calls, with enough of them
    least = lost * sum(float(each[i]) * calls for i, calls in missing.items())
    # four times the time halves a bound, once there are many calls: of few it is worse than that by far
    longer = seconds * (max(max(bounds[i]) / search.plan.goal(i) for i in missing) ** 2 - 1)
    return f"about {_lasting(max(least, min(longer, FEW_CALLS * least)))} more may do"


def _failure(search: Search, path: str, strict: bool) -> tuple[Failure | None, Failure | None]:
    """What is wrong, and what shows at the ends of coins only, which with ``strict`` is wrong as well."""
    found, edge = search.found()
    search.report("shrinking")
    failing = Failing(search, path)
    at_edge = failing.of_fault(edge) if edge else None
    if isinstance(found, Fault):
        if of_tensors(found.message):
            search.notes.append(TENSORS if "rng" in search.contract.signature else GIVEN_ARRAYS)
        if "positional argument" in found.message:
            search.notes.append(f"it is called as {search.contract.signature}; --contract chooses another call")
        return failing.of_fault(found), at_edge
    if found is not None:
        return failing.of_law(found), at_edge
    return (at_edge, at_edge) if strict else (None, at_edge)
