"""Format a saved certificate for the terminal and for pages: cases, outcomes, arguments.

It certifies nothing: pages are drawn from the file alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from simlab.certify.certificate import OF_ALL
from simlab.certify.engine.mapping import CUT
from simlab.certify.engine.planning import LOOSE


def named(line: dict[str, Any]) -> str:
    """A line by its case; by what is counted as well where that is not all there is."""
    told = line["events"].startswith(("all tokens", "two tokens, by class"))
    whole = told and OF_ALL not in line["events"]
    return str(line["case"]) if whole else f"{line['case']}: {line['events']}"


def outcome(line: dict[str, Any], epsilon: float) -> str:
    """What a line says: ``fails``, ``ok``, which is as much as a pass needs, or that it was called too rarely."""
    if line["fails"]:
        return "fails"
    needed = epsilon if line.get("principal", True) else max(LOOSE, epsilon)
    if line["tv_at_most"] <= needed:
        return "ok"
    return "too few calls" if line["calls"] else "not called"


def most_off(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most so many of the outcomes of a failing case, those farthest from the target, in their order."""

    def off(k: int) -> float:
        row = rows[k]
        found = row["exact"] if row["exact"] is not None else row["measured"]
        return 0.0 if found is None else -abs(found - row["target"])

    return [rows[k] for k in sorted(sorted(range(len(rows)), key=off)[:most])]


ROUNDING = 1e-12  # below which a difference comes of rounding


def format_value(value: Any) -> str:
    """An argument for people: six digits, unless these would hide a rounding error, as of what is nearly a half."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{format_value(key)}: {format_value(one)}' for key, one in value.items())}}}"
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.6g}"
    off = abs(value - float(text))
    return repr(value) if off and (text == "1" or off < ROUNDING) else text


# Where it looked -----------------------------------------------------------------------------------------------

UNSEEN = "."
NEARLY_ONE = 1 - 2**-11  # coins above it are the largest that there are, in any precision


@dataclass(frozen=True)
class CellMap:
    """What was seen of the bands of V, its rows, with those of another axis, its columns.

    ``cells`` has a row of cells for each row, ``None`` where there is no shape, or none that fits memory.
    """

    axis: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[dict[str, Any] | None, ...], ...]


def maps(shapes: dict[str, Any]) -> list[CellMap]:
    """The maps of a certificate: V by each other axis that shapes have."""
    return [found for axis in shapes["axes"] if axis != "V" and (found := _map(shapes, axis))]


def _map(shapes: dict[str, Any], axis: str) -> CellMap | None:
    """The cells that are bands of V and of this axis; a row is known by its most, a column by its least."""
    cells = [cell for cell in shapes["cells"] if axis in cell["of"]]
    rows = sorted({cell["of"]["V"][1] for cell in cells})
    columns = sorted({cell["of"][axis][0] for cell in cells})
    at = {(cell["of"]["V"][1], cell["of"][axis][0]): cell for cell in cells}
    if not at:
        return None
    return CellMap(
        axis,
        tuple(_band(_span(cell["of"]["V"] for cell in cells if cell["of"]["V"][1] == most)) for most in rows),
        tuple(_band(_span(cell["of"][axis] for cell in cells if cell["of"][axis][0] == least)) for least in columns),
        tuple(tuple(at.get((most, least)) for least in columns) for most in rows),
    )


def _span(bands: Iterable[Sequence[int]]) -> tuple[int, int]:
    lows, highs = zip(*bands, strict=True)
    return min(lows), max(highs)


def _band(band: Sequence[int]) -> str:
    low, high = band
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def sizes(looked: dict[str, Any]) -> str:
    """A range of shapes in words."""
    told = ", ".join(f"{name} = {_band(band)}" for name, band in looked["of"].items())
    return told + (f", {looked['dtype']}" if looked["dtype"] else "")


def seen(cell: dict[str, Any] | None) -> str:
    """A cell in a few letters: the smallest TV that would have been seen, in brackets outside the region."""
    if cell is None:
        return ""
    if not cell["outcomes"] or cell["detectable"] is None:
        return f" {UNSEEN}"
    upwards = ceil(100 * cell["detectable"] - 1e-9) / 100
    return f" {upwards:.2f} " if cell["seen"] else f"({upwards:.2f})"


def own_shape_line(looked: dict[str, Any]) -> str:
    """What was seen of a shape that was asked for."""
    counted = f"outcomes: {looked['outcomes']:,}, shapes: {looked['shapes']:,}"
    if not looked["outcomes"] or looked["detectable"] is None:
        return f"not looked at{_why(looked)}"
    if looked.get("skipped"):
        of_the_others = f"of the others a TV of {looked['detectable']:.2g} would have been seen ({counted})"
        return f"{looked['skipped']:,} more shapes that were drawn were left out, {of_the_others}{_why(looked)}"
    if not looked["seen"]:
        return f"too little was seen, only a TV of {looked['detectable']:.2g} or more ({counted}){_why(looked)}"
    return f"a TV of {looked['detectable']:.2g} would have been seen ({counted})"


def _why(looked: dict[str, Any]) -> str:
    return f": {reason(looked)}" if looked["why"] else ""


def reason(looked: dict[str, Any]) -> str:
    """Why a range of shapes was left out, without the shapes of it that were tried."""
    parts = re.split(r"; (?=\w+ = \d)", looked["why"])
    return "; ".join(dict.fromkeys(re.sub(r"^(\w+ = \d+(, )?)+: ", "", part) for part in parts))


def left_out(shapes: dict[str, Any]) -> list[str]:
    """Why bands were left out, and which, a line a reason."""
    reasons: dict[str, list[dict[str, Any]]] = {}
    for cell in (cell for cell in shapes["cells"] if cell["why"]):
        reasons.setdefault(reason(cell), []).append(cell)
    return [f"{sizes(cells[0]) if len(cells) == 1 else f'{len(cells)} bands'}: {why}" for why, cells in reasons.items()]


def edge_line(edge: dict[str, Any]) -> str:
    """What shows only at the ends of coins: which coin, what comes out, and how often."""
    told, _, often = edge["told"].partition(", but only where ")
    at = _ends(edge["arguments"].get("uniforms") or [])
    rare = often.partition("(")[2].rstrip(")")
    return "; ".join(filter(None, [f"{at}{': ' if at else ''}{told}", rare]))


def _ends(coins: list[float]) -> str:
    """Which coins are at an end, of those that are given."""
    kinds = {
        "is exactly 0": [k for k, coin in enumerate(coins, 1) if coin == 0],
        "is the largest float below 1": [k for k, coin in enumerate(coins, 1) if coin > NEARLY_ONE],
    }
    return " and ".join(f"coin {' and '.join(map(str, k))} of {len(coins)} {what}" for what, k in kinds.items() if k)


def clauses(document: dict[str, Any]) -> list[str]:
    """The summary, a line a clause where nothing fails, without what is told elsewhere: own shapes, and the edge.

    Of an own shape that was cut it stays: nothing else says so.
    """
    if document["failure"] or not document.get("shapes"):
        return [document["summary"]]
    parts = document["summary"].partition("; with an edge: ")[0].split("; ")
    kept = [part for part in parts if not part.startswith("in shapes of ") or CUT in part]
    return [*kept, "with an edge"] if document.get("edge") else kept
