"""Regions of drawn shapes whose cases are called in the process of a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simlab.certify import CONTRACTS
from simlab.certify.contracts.base import Function
from simlab.certify.engine.region import Region
from simlab.certify.engine.tasks import Sample
from simlab.certify.registry import makes
from simlab.certify.shapes.drawing import Drawing
from simlab.certify.shapes.ranges import parsed
from tests.support.certify import verifier


def region_of(*shapes: str, seed: int = 0, name: str = "verify", limit: float = 2.5) -> Region:
    """A region of own shapes of a contract alone, in which nothing was called yet."""
    contract = CONTRACTS[name]
    own = tuple(one for shape in shapes if (one := parsed(shape, contract.axes).within(contract.axes, {})))
    make = makes(name, None, "")
    return Region(Drawing((), contract.axes, lambda _: make, own, seed), 1e-6, 0.999, limit)


def searched(function: Function, shape: str, calls: int, seed: int = 0, name: str = "verify") -> Region:
    """A region of one own shape of a contract after so many calls of it, in this process."""
    region = region_of(shape, seed=seed, name=name, limit=10.0)
    for drawn in region.rounds(calls):
        for asked in drawn:
            if not region.finding:
                call(region, asked, function, 0.0)
    return region


def call(region: Region, asked: tuple[int, int, int], function: Function, seconds: float) -> None:
    """Take in the calls that a region asks for, as if each took so many seconds."""
    found = Sample(*asked).run(region.drawing[asked[0]], function, region.drawing.seed)
    region.add(replace(found, seconds=seconds * found.calls))


def called_on(region: Region, batches: int, seconds: Callable[[int], float]) -> None:
    """So many batches, of calls that take so long with V tokens."""
    for _ in range(batches):
        asked = region.next_case()
        assert asked
        call(region, asked, verifier(), seconds(region.drawing.shape(asked[0])["V"]))
