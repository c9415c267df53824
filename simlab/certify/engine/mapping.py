"""The map of a certificate: what was seen of each range of shapes, and the region that the verdict is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from simlab.certify.certificate import Map, RangeEvidence
from simlab.certify.engine.region import Region
from simlab.certify.shapes.ranges import MOST, MOST_ROWS, Axis, Shape, most_numbers, numbers

CUT = ", as far as a call has at most "  # said of a range whose largest shapes are not drawn


def mapped(region: Region) -> Map:
    """What was seen of all ranges."""
    found = [region.evidence_of(at) for at in range(len(region.drawing.ranges))]
    own, cells = (tuple(one for one in found if bool(one.name) is named) for named in (True, False))
    largest = largest_region(cells)
    axes = region.drawing.axes
    return Map(tuple(axis.name for axis in axes), own, cells, region_text(axes, own, cells, largest), MOST, largest)


def region_text(
    axes: Sequence[Axis], own: Sequence[RangeEvidence], cells: Sequence[RangeEvidence], most: dict[str, int] | None
) -> str:
    """The region in a sentence: own shapes, then the bands of which every cell was seen, from the smallest up."""
    parts = [
        f"in shapes of {one.text}{_cut_of_own(axes, one)} a TV of {one.detectable:.2g} would have been seen"
        for one in own
        if one.seen
    ]
    if most is None:
        return "; ".join([*parts, "beside these cases, of no band of shapes was enough seen"])
    within = [cell for cell in cells if _within(cell, most)]
    worst = max(cell.detectable for cell in within)
    sizes = ", ".join(f"{name} up to {high:,}" for name, high in most.items())
    bands = "band of shapes" if len(axes) < 3 else "pair of bands, of V and of another axis, of shapes"
    seen = f"a TV of {worst:.2g} in their mean would have been seen"
    parts.append(f"in every {bands} with {sizes}{_cut(axes, most)} {seen}")
    declined = [cell for cell in within if cell.why]
    if declined:
        parts.append(f"but it declines shapes there, such as {declined[0].why.split('; ')[0]}")
    outside = [cell for cell in cells if cell not in within]
    if outside:
        also = sum(cell.seen for cell in outside)
        parts.append(f"of {len(outside)} larger bands {f'{also} were seen so' if also else 'too little was seen'}")
    return "; ".join(parts)


def _cut(axes: Sequence[Axis], most: Mapping[str, int], limit: int = MOST) -> str:
    """What is left out of a box of shapes, which has the most of every axis at once, as a part of a sentence."""
    fits = numbers(axes, Shape(tuple(most.items()))) <= limit
    return "" if fits else f"{CUT}{limit:,} numbers of p,"


def _cut_of_own(axes: Sequence[Axis], one: RangeEvidence) -> str:
    """The same of what was asked for, which may be larger, and have more rows than are drawn."""
    least, most = ({name: band[k] for name, band in one.of.items()} for k in (0, 1))
    rows = prod(axis.rows(most[axis.name]) for axis in axes if axis.name != "V")
    few = "" if rows <= MOST_ROWS else f"{CUT}{MOST_ROWS:,} rows,"
    return few + _cut(axes, most, most_numbers(numbers(axes, Shape(tuple(least.items())))))


def largest_region(cells: Sequence[RangeEvidence]) -> dict[str, int] | None:
    """The most of every axis such that every cell up to there was seen, as many cells as possible, and some of each."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.of))
    ends = [sorted({cell.of[name][1] for cell in cells if name in cell.of}) for name in names]
    best, found = 0, None
    for highs in product(*ends):
        most = dict(zip(names, highs, strict=True))
        within = [cell for cell in cells if _within(cell, most)]
        of_each = {name for cell in within for name in cell.of} == set(names)
        if len(within) > best and of_each and all(cell.seen for cell in within):
            best, found = len(within), most
    return found


def _within(cell: RangeEvidence, most: Mapping[str, int]) -> bool:
    return all(high <= most[name] for name, (_, high) in cell.of.items())
