"""Regions of drawn shapes whose cases are called in the process of a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simlab.certify import CONTRACTS
from simlab.certify.contracts.base import Function
from simlab.certify.engine.region import Region
from simlab.certify.engine.tasks import Sample
from simlab.certify.registry import makes
from simlab.certify.shapes.drawing import Drawing
from simlab.certify.shapes.ranges import Axis, Ranges, Shape, parsed
from tests.support.certify import verifier


def region_of(*shapes: str | Ranges, seed: int = 0, name: str = "verify", limit: float = 2.5) -> Region:
    """A region of own shapes of a contract alone, or of other ranges, in which nothing was called yet."""
    axes, ranges = CONTRACTS[name].axes, list[Ranges]()
    for shape in shapes:
        one = (parsed(shape, axes) if isinstance(shape, str) else shape).within(axes, {})
        assert one is not None
        ranges.append(one)
    make = {one.dtype: makes(name, None, one.dtype) for one in ranges}
    return Region(Drawing((), axes, lambda one: make[one.dtype], tuple(ranges), seed), 1e-6, 0.999, limit)


def any_shape(ranges: Ranges, axes: tuple[Axis, ...], rng: np.random.Generator) -> Shape:
    """One of the shapes of ranges, each size by chance."""
    return ranges.draw(axes, {axis.name: rng.random() for axis in axes}, rng)


def asked_next(region: Region) -> tuple[int, int, int]:
    """The case, batch and calls that a region asks for."""
    asked = region.next_case()
    assert asked is not None
    return asked


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
        asked = asked_next(region)
        call(region, asked, verifier(), seconds(region.drawing.shape(asked[0])["V"]))
