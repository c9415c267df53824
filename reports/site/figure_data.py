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

    ``x`` and ``y`` are in the units of the axes; of an error bar both ends are told. ``value`` is what a colour or a
    number in a cell stands for.
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
            told = across.get(float(x), x), up.get(float(y), y)
            row = (panel, axes.get_xlabel(), axes.get_ylabel(), kind, series, *told, value)
            writer.writerow([" ".join(str(cell).split()) for cell in row])
    return buffer.getvalue().encode()


def _names(axis: Axis) -> dict[float, str]:
    """What stands at the ticks of an axis, where that is names and not numbers."""
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedLocator

    named = isinstance(axis.get_major_locator(), FixedLocator) and any(
        tick.get_text().strip("−-.0123456789 %") for tick in axis.get_ticklabels()
    )
    if not named and not isinstance(axis.get_major_formatter(), StrCategoryFormatter):
        return {}
    return {float(at): tick.get_text() for at, tick in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)}


def _drawn(axes: Axes) -> Iterator[Row]:
    """What is drawn on one panel: what it is, its series, x, y and value."""
    from matplotlib.collections import LineCollection, PathCollection, QuadMesh
    from matplotlib.container import BarContainer
    from matplotlib.patches import StepPatch

    for line in axes.lines:
        for x, y in _numbers(line.get_xydata()):
            yield "line", _series(line), x, y, ""
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
            yield from _cells(collection.get_array())
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


def _cells(values: Any) -> Iterator[Row]:
    """The cells of a map by column and row; a picture's pixels are no numbers that are shown."""
    if values is not None and np.ndim(values) == 2 and np.size(values) <= MOST:
        table: np.ndarray = np.ma.filled(np.ma.asarray(values, float), np.nan)
        for row, column in np.ndindex(table.shape):
            value = table[row, column]
            yield "cell", "", column, row, f"{value:.6g}"


def _numbers(points: Any) -> Iterator[tuple[str, str]]:
    for x, y in np.ma.filled(np.ma.asarray(points, float), np.nan):
        yield f"{x:.6g}", f"{y:.6g}"


def _series(artist: Any) -> str:
    """What the legend calls it; nothing where it is not there."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label
