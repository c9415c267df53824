"""The map of a certificate: what was seen of each range of shapes, and the region that the verdict is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from simlab.certify.certificate import Map, RangeEvidence
from simlab.certify.engine.region import Region
from simlab.certify.shapes.ranges import LARGEST, MOST, Axis, Shape, numbers


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
        f"in shapes of {one.told}{_cut_of_own(axes, one)} a TV of {one.detectable:.2g} would have been seen"
        for one in own
        if one.seen
    ]
    if most is None:
        return "; ".join([*parts, "beside these cases, of no band of shapes was enough seen"])
    within = _within(cells, most)
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
    return "" if fits else f", as far as a call has at most {limit:,} numbers of p,"


def _cut_of_own(axes: Sequence[Axis], one: RangeEvidence) -> str:
    """The same of what was asked for, which may be larger."""
    least, most = ({name: band[k] for name, band in one.of.items()} for k in (0, 1))
    large = numbers(axes, Shape(tuple(least.items()))) > MOST
    return _cut(axes, most, LARGEST if large else MOST)


def largest_region(cells: Sequence[RangeEvidence]) -> dict[str, int] | None:
    """The most of every axis such that every cell up to there was seen, as many cells as possible, and some of each."""
    bands = _bands(cells)
    names = list(dict.fromkeys(name for cell in cells for name in cell.of))
    ends = [sorted({cell.of[name][1] for cell in cells if name in cell.of}) for name in names]
    several = {name for own in bands for name in own}
    best, found = 0, None
    for highs in product(*ends):
        most = dict(zip(names, highs, strict=True))
        within = _within(cells, most)
        looked_at = {name for own in _bands(cells, within) for name in own}
        if len(within) > best and looked_at == several and all(cell.seen for cell in within):
            best, found = len(within), most
    return found


def _within(cells: Sequence[RangeEvidence], most: Mapping[str, int]) -> list[RangeEvidence]:
    """The cells whose bands are within the most of every axis."""
    return [
        cell
        for cell, own in zip(cells, _bands(cells), strict=True)
        if all(high <= most[name] for name, (_, high) in own.items())
    ]


def _bands(
    cells: Sequence[RangeEvidence], of: Sequence[RangeEvidence] | None = None
) -> list[dict[str, tuple[int, int]]]:
    """The bands that each cell, or each ``of`` them, is: of V and of another axis; of a third it has every size."""
    whole = {
        name: (min(cell.of[name][0] for cell in cells), max(cell.of[name][1] for cell in cells))
        for name in (cells[0].of if cells else ())
    }
    return [
        {name: band for name, band in cell.of.items() if band != whole[name]} for cell in (cells if of is None else of)
    ]
