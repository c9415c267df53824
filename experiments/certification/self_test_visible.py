"""How soon drawn shapes show a fault, whatever the time: what a battery is blind to is mended in its rows.

Behind a gate that is always open a fault is counted in drawn shapes with few numbers. The divergence of what is counted
from its law says how many outcomes inside a gate it takes; the reference says what comes of chance::

    python -m experiments.certification.self_test_visible verify draft
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count, islice
from math import inf
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Case
from simlab.certify.contracts.registry import contract_named
from simlab.certify.engine.tasks import Sample
from simlab.certify.shapes.drawing import Drawing, cells
from simlab.certify.shapes.ranges import numbers
from simlab.mutants.gated.contracts import CONTRACTS, implementation, reference
from simlab.mutants.gated.gates import ALWAYS

EVIDENCE = 40.0  # nats of an alarm
NUMBERS, TOKENS = 1 << 13, 9  # most numbers of a shape, and least tokens
SURE = 9.0  # nats an outcome of what the law excludes
LARGEST = 64  # the least V of a fault that shapes with few numbers show
REFERENCE = "(reference)"


def visible(contract: str, cases: int, calls: int) -> dict[str, float]:
    """By fault, the outcomes that it takes in drawn shapes; that of the reference is what chance alone comes to.

    Parameters
    ----------
    contract
        A name of :data:`simlab.mutants.gated.contracts.CONTRACTS`.
    cases, calls
        How many shapes are drawn, and calls of each.

    Returns
    -------
    dict
        The hardest first.
    """
    of, shapes = CONTRACTS[contract], drawn_cases(contract, cases)
    names = [name for name, fault in of.faults.items() if of.fits(fault, ALWAYS) and fault.least <= LARGEST]
    found = {name: _needed(implementation(name, ALWAYS, contract), shapes, calls) for name in names}
    found[REFERENCE] = _needed(reference(contract), shapes, calls)
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def drawn_cases(contract: str, most: int) -> dict[int, Case]:
    """The first drawn cases with few numbers, by their number."""
    of = contract_named(contract)
    drawing = Drawing(tuple(of.cases()), of.axes, lambda _: of.drawn, cells(of.axes, {}), 0)
    shapes = ((i, drawing.shape(i)) for i in count(len(drawing)))
    few = (i for i, shape in shapes if shape["V"] >= TOKENS and numbers(of.axes, shape) <= NUMBERS)
    return {i: drawing[i] for i in islice(few, most)}


def _needed(function: Any, cases: dict[int, Case], calls: int) -> float:
    """Outcomes until an alarm: by the mean divergence of single cases, or that of all, of any kind of events."""
    single: dict[str, list[float]] = {}
    pools: dict[tuple[str, int], tuple[Array, Array]] = {}
    for i, case in cases.items():
        try:
            counted = Sample(i, 0, calls).run(case, function, 0).counts
        except Exception:  # what breaks is seen
            return EVIDENCE / SURE
        for events, counts in zip(case.events, counted, strict=True):
            if counts.any():
                single.setdefault(events.name, []).append(divergence(counts, events.law))
                law, before = pools.get((events.name, len(events.law)), (events.law, 0))
                pools[events.name, len(events.law)] = law, before + counts
    means = [float(np.mean(values)) for values in single.values()]
    best = max([*means, *(divergence(counts, law) for law, counts in pools.values())])
    return EVIDENCE / best if best > 0 else inf


def divergence(counts: Array, law: Array) -> float:
    """Nats an outcome, less what chance adds."""
    there, n = law > 0, counts.sum()
    if counts[~there].any():
        return SURE
    share = counts[there] / n
    nats = share * np.log(np.where(share > 0, share / law[there], 1))
    return float(nats.sum() - (there.sum() - 1) / 2 / n)


def main(contracts: Sequence[str]) -> int:
    """Print the table of some contracts."""
    for contract in contracts or list(CONTRACTS):
        print(contract)
        for name, calls in visible(contract, 30, 128).items():
            print(f"  {calls:12,.0f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
