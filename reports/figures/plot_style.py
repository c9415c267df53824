"""What the figures on studies share: looks, error bars, printed numbers, legends that cover nothing.

Colours are told apart by the colour-blind (after Okabe and Ito), and nothing is told by colour alone. What papers print
is always an open red diamond; what was simulated is filled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theory.published.ledger import Row

Look = tuple[str, str]  # colour and marker

# One look a decoder, on every page.
DECODERS: dict[str, Look] = {
    "autoregressive": ("#999999", "*"),
    "speculative": ("#000000", "P"),
    "block": ("#7F4F24", "X"),
    "jacobi": ("#E69F00", "v"),
    "sjd": ("#444444", "o"),
    "sjd-unrefined": ("#56B4E9", "<"),
    "sjd-ac": ("#4477AA", "s"),
    "sjd-pd": ("#CC6677", "^"),
    "sjd-pac": ("#228833", "D"),
}
OTHER: Look = ("#7A4EAB", "p")
SHADES = ("#0B3C5D", "#328CC1", "#D9B310", "#A64B2A", "#5E8C61", "#7A4EAB")  # of a parameter that has no look
SHAPES = ("o", "s", "^", "D", "v", "P")

PRINTED_COLOUR = "#B3261E"
PRINTED: dict[str, Any] = {
    "marker": "D",
    "mfc": "none",  # what it stands on is seen
    "mec": PRINTED_COLOUR,
    "mew": 1.6,
    "ms": 7.5,
    "ls": "",
    "zorder": 6,
}
FITTED = "#9AA5B1"  # simulated, but a number that parameters were fitted to
ERRORS = 2  # standard errors that a bar reaches either way


def look(decoder: str) -> Look:
    """Colour and marker of a decoder."""
    return DECODERS.get(decoder, OTHER)


def panels(count: int, height: float = 4.0, width: float = 10.0, **kwargs: Any) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False, **kwargs)[0])


def line(ax: Axes, frame: pd.DataFrame, x: str, y: str, own: Look, told: str, error: str = "", **kwargs: Any) -> None:
    """Points with error bars of two standard errors, joined."""
    colour, marker = own
    bars = ERRORS * frame[error].astype(float) if error else None
    style = {"lw": 1.3, "ms": 5.5, "capsize": 2.5, "elinewidth": 1.1} | kwargs
    ax.errorbar(frame[x].astype(float), frame[y].astype(float), bars, color=colour, marker=marker, label=told, **style)


def printed(ax: Axes, points: Iterable[tuple[float, Row]], told: str) -> None:
    """Printed numbers at their places on the x axis."""
    xs, rows = zip(*points, strict=True)
    ax.plot(xs, [float(row.value) for row in rows], label=told, **PRINTED)


def across(ax: Axes, row: Row, told: str) -> None:
    """A printed number as a level."""
    ax.axhline(float(row.value), label=told, color=PRINTED_COLOUR, lw=1.1, ls=(0, (4, 3)))


def finish(figure: Figure, *sources: Axes, ncols: int = 4) -> Figure:
    """The legend of the axes named below everything, each entry once; no frames."""
    entries: dict[str, Any] = {}
    for ax in sources:
        for handle, told in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(told, handle)
    if entries:
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=ncols, fontsize=9)
    sns.despine(figure)
    return figure


def powers(ax: Axes, values: Iterable[float]) -> None:
    """A logarithmic x axis with exactly these ticks, written as whole numbers."""
    ax.set_xscale("log", base=2)
    ax.set_xticks(sorted({float(value) for value in values}))
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.minorticks_off()
