"""The map of a certificate: what was seen of each range of shapes, and the region that the verdict is about."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.certify.certificate import Looked, Map
from simlab.certify.engine.region import SEEN, Region
from simlab.certify.shapes.ranges import MOST


def mapped(region: Region, few: bool) -> Map | None:
    """What was seen; ``few`` says that calls were counted, so that shapes with many numbers were never tried."""
    if not region.drawing.axes:
        return None
    found = [_looked(region, at, few) for at in range(len(region.drawing.ranges))]
    own = tuple(found[at] for at in region.own)
    cells = tuple(one for one in found if not one.name)
    axes = tuple(axis.name for axis in region.drawing.axes)
    return Map(axes, own, cells, _told(own, cells), MOST)


def _looked(region: Region, at: int, few: bool) -> Looked:
    one, seen = region.drawing.ranges[at], region.looked(at)
    inside = seen.detectable <= SEEN
    why = ""
    if not inside:
        why = "; ".join(dict.fromkeys(region.declined[at]))
        if not why and region.slow[at]:
            why = "a call would take too long"
        if not why and few:
            why = "calls were counted"
    return Looked(
        dict(one.of),
        one.name,
        one.dtype,
        one.source,
        seen.shapes,
        seen.outcomes,
        seen.detectable,
        seen.tv_at_most,
        inside,
        why,
    )


def _told(own: Sequence[Looked], cells: Sequence[Looked]) -> str:
    """The region in a sentence: own shapes first, then the bands of the map."""
    parts = []
    for one in own:
        if one.seen:
            parts.append(f"in shapes of {one.told} a TV of {one.detectable:.2g} would have been seen")
    seen = [cell for cell in cells if cell.seen]
    if not seen:
        parts.append("of no band of shapes was enough seen for more")
    else:
        worst = max(cell.detectable for cell in seen)
        parts.append(f"in shapes drawn with {_bands(seen)} a TV of {worst:.2g} would have been seen")
        missing = [cell.told for cell in cells if not cell.seen]
        if missing:
            more = f" and {len(missing) - 2} bands more" if len(missing) > 2 else ""
            parts.append(f"not looked at closely: {'; '.join(missing[:2])}{more}")
    return "; ".join(parts)


def _bands(seen: Sequence[Looked]) -> str:
    """The least and the most of every axis over cells that were seen."""
    bounds: dict[str, tuple[int, int]] = {}
    pairs = [tuple(cell.of) for cell in seen]
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    for name in names:
        low = min(cell.of[name][0] for cell in seen if name in cell.of)
        high = max(cell.of[name][1] for cell in seen if name in cell.of)
        bounds[name] = low, high
    return ", ".join(f"{name} up to {high:,}" for name, (_, high) in bounds.items())
