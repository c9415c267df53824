"""All target rows over three tokens: the triangle, cut where a rule's comparisons change, and the law in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from reports.data.triangle import Point, Region, Row
from reports.figures.plot_style import PRINTED_COLOUR, panels

HOLDS = ("#D6E6F2", "#E4EFF7", "#C5DBEB", "#DCEBF0", "#CFE0EE", "#EAF2F6")  # cells where the statement is true
FAILS = ("#F6D5CC", "#F9E1DA")
HEIGHT = 3**0.5 / 2  # of the triangle
ROOM = 0.2  # how wide a cell is that has room for a formula
SUBSCRIPTS = {f"p{x}": f"p{'₀₁₂'[x]}" for x in range(3)}


def triangles(cuts: Sequence[tuple[str, Sequence[Region]]], draft: Row) -> Figure:
    """A triangle for each rule, given its title and its cells, all for one draft row.

    A cell has its letter, a lossless one what it accepts if there is room; the law in each stands below. Cells in
    which the law is not the target's row are red and hatched, with the simplest row at which it is not.
    """
    figure, axes = panels(len(cuts), height=6.9, width=11.4)
    for ax, (title, regions) in zip(axes, cuts, strict=True):
        _triangle(ax, regions, draft)
        ax.set_title(title)
        ax.text(0.0, -0.12, "\n".join(_lines(regions)), fontsize=8.5, va="top", linespacing=1.55)
    return figure


def _place(point: Point | Row) -> tuple[float, float]:
    """On paper: token 0 left, token 1 right, token 2 at the top."""
    one, two = float(point[1]), float(1 - point[0] - point[1])
    return one + two / 2, HEIGHT * two


def _triangle(ax: Axes, regions: Sequence[Region], draft: Row) -> None:
    for k, region in enumerate(regions):
        corners = [_place(corner) for corner in region.corners]
        colour = (HOLDS if region.lossless else FAILS)[k % (len(HOLDS) if region.lossless else len(FAILS))]
        hatch = None if region.lossless else "///"
        edge = "white" if region.lossless else "#E5A998"
        ax.add_patch(Polygon(corners, facecolor=colour, edgecolor=edge, hatch=hatch, lw=0))
        ax.add_patch(Polygon(corners, fill=False, edgecolor="0.25", lw=0.9))
    for k, region in enumerate(regions):
        corners = [_place(corner) for corner in region.corners]
        x, y = (sum(values) / len(corners) for values in zip(*corners, strict=True))
        text = _letter(k)
        if not region.lossless:
            mark = _place(region.example.row)
            ax.plot(*mark, "X", color=PRINTED_COLOUR, ms=7, mec="white", mew=0.8, zorder=5, label=f"{text} fails")
            x, y = (x, y + 0.045) if abs(y - mark[1]) < 0.05 else (x, y)
        ax.text(x, y, text, ha="center", va="center", weight="bold", fontsize=11, zorder=6)
        if region.lossless and max(across for across, _ in corners) - min(across for across, _ in corners) > ROOM:
            accepts = _subscripts(region.acceptance)
            ax.text(x, y - 0.045, accepts, ha="center", va="center", fontsize=7.5, zorder=6)
    at = _place(draft)
    ax.plot(*at, "o", color="black", ms=5.5, zorder=7, label="p = q")
    ax.annotate("p = q", at, (9, 9), textcoords="offset points", fontsize=8.5, zorder=7)
    for x, (where, ha, dy) in enumerate(
        (((1, 0), "left", -0.035), ((0, 1), "right", -0.035), ((0, 0), "center", 0.02))
    ):
        spot = _place((Fraction(where[0]), Fraction(where[1])))
        row = ", ".join("1" if k == x else "0" for k in range(3))
        va = "bottom" if x == 2 else "top"
        ax.text(spot[0], spot[1] + dy, f"p = ({row})", ha=ha, va=va, fontsize=8.5, color="0.35")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.7, HEIGHT + 0.07), aspect="equal")
    ax.set_axis_off()


def _lines(regions: Sequence[Region]) -> list[str]:
    lines = []
    for k, region in enumerate(regions):
        law = "p" if region.law == ("p0", "p1", "p2") else f"({', '.join(region.law)})"
        lines.append(f"{_letter(k)}  emits {law}, accepts {region.acceptance}")
        if not region.lossless:
            row, found = (", ".join(map(str, each)) for each in region.example)
            lines.append(f"     × p = ({row}) becomes ({found})")
    return [_subscripts(line) for line in lines]


def _letter(k: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[k]


def _subscripts(text: str) -> str:
    for name, printed in SUBSCRIPTS.items():
        text = text.replace(name, printed)
    return text.replace("^2", "²").replace(" - ", " − ")
