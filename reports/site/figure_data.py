"""The numbers that a figure shows, read from what is drawn, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

HEAD = ("panel", "x axis", "y axis", "drawn as", "series", "x", "y", "value")
MOST = 2000  # cells of a map: what has more is a picture
Row = tuple[Any, ...]


def data(figure: Figure) -> bytes:
    """Every point, bar, error bar and cell of a figure, a line each, in the order they are drawn in.

    ``x`` and ``y`` are in the units of the axes, or what stands at the tick where that is names; of an error bar both
    ends are told, and a level has one of both. ``value`` is what a colour or a number in a cell stands for.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(HEAD)
    for number, axes in enumerate(figure.axes, 1):
        if not axes.get_visible():
            continue
        panel = axes.get_title() or axes.get_title("left") or str(number)
        across, up = _names(axes.xaxis), _names(axes.yaxis)
        for kind, series, x, y, value in _drawn(axes):
            row = (panel, axes.get_xlabel(), axes.get_ylabel(), kind, series, _named(across, x), _named(up, y), value)
            writer.writerow([" ".join(str(cell).split()) for cell in row])
    return buffer.getvalue().encode()


def _names(axis: Axis) -> dict[float, str]:
    """What stands at the ticks of an axis, where that is names, or other numbers than those of the axis."""
    from matplotlib.category import StrCategoryLocator
    from matplotlib.ticker import FixedLocator

    if not isinstance(axis.get_major_locator(), FixedLocator | StrCategoryLocator):
        return {}
    axis.get_ticklabels()  # writes them, of panels too that share them with another and show none
    said = [tick.label1.get_text() for tick in axis.get_major_ticks()]
    names = dict(zip(map(float, axis.get_ticklocs()), said, strict=True))
    return {} if all(_number(text) == at for at, text in names.items() if text) else names


def _named(names: dict[float, str], value: str) -> str:
    """What stands at the tick that a value is near, so that it belongs to no other; else the value."""
    if not names or not value:
        return value
    room = min(np.diff(sorted(names)), default=1.0) / 2
    nearest = min(names, key=lambda at: abs(at - float(value)))
    return names[nearest] if abs(nearest - float(value)) < room else value


def _number(text: str) -> float | None:
    """The number that a tick's label is, if it is one."""
    plain = text.replace("−", "-").replace(",", "")
    try:
        return float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        return None


def _drawn(axes: Axes) -> Iterator[Row]:
    """What is drawn on one panel: what it is, its series, x, y and value."""
    from matplotlib.collections import LineCollection, PathCollection, QuadMesh
    from matplotlib.container import BarContainer
    from matplotlib.patches import StepPatch

    shares = axes.get_yaxis_transform(), axes.get_xaxis_transform()  # in which x, or y, is a share of the panel
    for line in axes.lines:
        level = [line.get_transform() is share for share in shares]
        points = list(_numbers(line.get_xydata()))
        for x, y in points[:1] if any(level) else points:
            yield "line", _series(line), "" if level[0] else x, "" if level[1] else y, ""
    for bars in axes.containers:
        if isinstance(bars, BarContainer):
            for bar in bars:
                (left, bottom), right, top = bar.get_xy(), bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height()
                across = bars.orientation == "horizontal"
                x, y = (right, (bottom + top) / 2) if across else ((left + right) / 2, top)
                yield "bar", _series(bars), f"{x:.6g}", f"{y:.6g}", ""
    for patch in axes.patches:
        if isinstance(patch, StepPatch):
            heights, edges, _ = patch.get_data()
            for x, y in _numbers(np.column_stack([(edges[1:] + edges[:-1]) / 2, heights])):
                yield "step", _series(patch), x, y, ""
    for collection in axes.collections:
        if isinstance(collection, QuadMesh):
            corners: np.ndarray = np.asarray(collection.get_coordinates())
            yield from _cells(collection.get_array(), (corners[1:, 1:] + corners[:-1, :-1]) / 2)
        elif isinstance(collection, PathCollection):
            values = collection.get_array()
            for k, (x, y) in enumerate(_numbers(collection.get_offsets())):
                yield "point", _series(collection), x, y, "" if values is None else f"{values[k]:.6g}"
        elif isinstance(collection, LineCollection):
            for segment in collection.get_segments():
                for x, y in _numbers(segment):
                    yield "error bar", _series(collection), x, y, ""
    for image in axes.images:
        yield from _cells(image.get_array())


def _cells(values: Any, middles: Any = None) -> Iterator[Row]:
    """The cells of a map by column and row, or their middles; a picture's pixels are no numbers that are shown."""
    if values is not None and np.ndim(values) == 2 and np.size(values) <= MOST:
        table: np.ndarray = np.ma.filled(np.ma.asarray(values, float), np.nan)
        for row, column in np.ndindex(table.shape):
            x, y = (column, row) if middles is None else middles[row, column]
            yield "cell", "", f"{x:.6g}", f"{y:.6g}", f"{table[row, column]:.6g}"


def _numbers(points: Any) -> Iterator[tuple[str, str]]:
    for x, y in np.ma.filled(np.ma.asarray(points, float), np.nan):
        yield f"{x:.6g}", f"{y:.6g}"


def _series(artist: Any) -> str:
    """What the legend calls it; nothing where it is not there."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label
