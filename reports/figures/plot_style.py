"""One style for all figures: colours, markers, fonts, error bars, printed numbers, legends that cover nothing.

Colours are distinct to the colour-blind (after Okabe and Ito), and nothing is encoded by colour alone. What papers
print is always an open red diamond; what was simulated is filled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theory.published.ledger import Row

matplotlib.use("Agg")  # files only: no window, wherever this runs

SETTINGS: dict[Any, Any] = {  # beside seaborn's ticks
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "pdf.fonttype": 42,  # letters stay letters
    "svg.fonttype": "none",
    "svg.hashsalt": "simlab",
}
FONT_SCALE = 0.85

Style = tuple[str, str]  # colour and marker

LOSSLESS = "speculative"

# One colour and one marker a family of rules, in every figure, distinct to the colour-blind (after Okabe and Ito). Kin
# have the same hue: the dynamic windows, LANTERN's neighbourhoods.
RULE_STYLES: dict[str, Style] = {
    "speculative": ("#000000", "o"),
    "optimal-lossy": ("#7F4F24", "d"),
    "amplify": ("#D55E00", "^"),
    "addition": ("#E69F00", "v"),
    "grouped": ("#0072B2", "s"),
    "grouped, group residual": ("#56B4E9", "D"),
    "dynamic, printed": ("#7FCDBB", "P"),
    "dynamic, clamped": ("#00594C", "*"),
    "dynamic, centred": ("#009E73", "h"),
    "lantern": ("#9B4F96", "p"),
    "lantern, l2": ("#9B4F96", "p"),
    "lantern, cosine": ("#CF9FCB", "8"),
    "lantern, random": ("#4A1A55", "x"),
    "lantern-multiplicative": ("#E078B0", "<"),
    "lantern-reference": ("#882255", "+"),
    "typical": ("#8A8A8A", "X"),
    "medusa-reference": ("#5A5A5A", "1"),
    "mixture": ("#B8860B", "d"),
    "lenience": ("#F0A07A", ">"),
    "cactus": ("#2E8B2E", "*"),
    "cascade": ("#117777", "s"),
    "truncation": ("#66CCCC", "X"),
    "fuzzy": ("#332288", "H"),
    "mars": ("#CC3311", "<"),
    "mars-reference": ("#7A1F0A", "+"),
    "sampler-match": ("#A0A000", "h"),
}

# The rules by the names they are made with; those that the report separates by their options share a style.
ALL_RULE_STYLES: dict[str, Style] = RULE_STYLES | {
    "grouped-group-residual": RULE_STYLES["grouped, group residual"],
    "dynamic-grouped": RULE_STYLES["dynamic, centred"],
    "gsd-reference": RULE_STYLES["dynamic, clamped"],
    "lantern-greedy": RULE_STYLES["lantern, random"],
}

# One colour and one marker a decoder, on every page.
DECODER_STYLES: dict[str, Style] = {
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
OTHER: Style = ("#7A4EAB", "p")
SHADES = ("#0B3C5D", "#328CC1", "#D9B310", "#A64B2A", "#5E8C61", "#7A4EAB")  # of a parameter that has no style
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


def use_style() -> None:
    """Make seaborn's ticks and :data:`SETTINGS` those of all figures that follow."""
    seaborn.set_theme(context="notebook", style="ticks", font_scale=FONT_SCALE, rc=SETTINGS)


def rule_style(rule: str) -> Style:
    """Colour and marker of a rule as the report names it; its parameter, after the last comma, does not matter."""
    return RULE_STYLES.get(rule) or RULE_STYLES[rule.rpartition(",")[0]]


def decoder_style(decoder: str) -> Style:
    """Colour and marker of a decoder."""
    return DECODER_STYLES.get(decoder, OTHER)


def looks() -> Iterator[Style]:
    """Colours and markers of what has none of its own, over and over."""
    return cycle(zip(SHADES, SHAPES, strict=True))


def panels(count: int, height: float = 4.0, width: float = 10.0, **kwargs: Any) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False, **kwargs)[0])


def line(
    ax: Axes, frame: pd.DataFrame, x: str, y: str, style: Style, label: str, error: str = "", **kwargs: Any
) -> None:
    """Points with error bars of two standard errors, joined."""
    colour, marker = style
    bars = ERRORS * frame[error].astype(float) if error else None
    look = {"lw": 1.3, "ms": 5.5, "capsize": 2.5, "elinewidth": 1.1} | kwargs
    ax.errorbar(frame[x].astype(float), frame[y].astype(float), bars, color=colour, marker=marker, label=label, **look)


def dots(ax: Axes, places: Any, values: Any, errors: Any, style: Style, label: str = "_", **kwargs: Any) -> None:
    """Numbers in rows, at ``places`` on the y axis, with bars of two standard errors."""
    colour, marker = style
    look: dict[str, Any] = {"ls": "", "ms": 6.5, "capsize": 2.5} | kwargs
    ax.errorbar(
        values, places, xerr=ERRORS * np.asarray(errors, float), color=colour, marker=marker, label=label, **look
    )


def name_rows(axes: Sequence[Axes], places: Any, names: Sequence[str], fontsize: float | None = None) -> None:
    """Name the rows on the left of the first panel, and lead the eye along them through all."""
    axes[0].set_yticks(places, names, fontsize=fontsize)
    for ax in axes:
        ax.grid(axis="y", color="0.92", lw=0.8)
        ax.set_axisbelow(True)


def printed(ax: Axes, points: Iterable[tuple[float, Row]], label: str) -> None:
    """Printed numbers at their places on the x axis."""
    xs, rows = zip(*points, strict=True)
    ax.plot(xs, [float(row.value) for row in rows], label=label, **PRINTED)


def across(ax: Axes, value: float, label: str | None = None) -> None:
    """A printed number as a level."""
    ax.axhline(value, label=label, color=PRINTED_COLOUR, lw=1.1, ls=(0, (4, 3)))


def finish(figure: Figure, *sources: Axes, ncols: int = 4, only: Collection[str] = (), **look: Any) -> Figure:
    """Put the legend of the axes named below everything, each entry once; ``only`` these, in their order, if given."""
    entries: dict[str, Any] = {}
    for ax in sources:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    entries = {label: entries[label] for label in only or entries}
    if entries:
        placed: dict[str, Any] = {"loc": "outside lower center", "fontsize": 9} | look
        figure.legend(entries.values(), entries.keys(), ncols=ncols, **placed)
    return figure


def logarithmic(ax: Axes, which: str = "y", base: int = 10) -> None:
    """Make an axis logarithmic, with plain numbers at powers: typeset ones take longer than the whole figure."""
    getattr(ax, f"set_{which}scale")("log", base=base)
    axis = getattr(ax, f"{which}axis")
    axis.set_major_formatter("{x:g}")
    axis.minorticks_off()


def logarithmic_at(ax: Axes, ticks: Sequence[float], form: str = "{:g}") -> None:
    """A logarithmic x axis with exactly these ticks, written in a form."""
    ax.set_xscale("log")
    ax.set_xticks(ticks, [form.format(tick) for tick in ticks])
    ax.minorticks_off()


def powers(ax: Axes, values: Iterable[float]) -> None:
    """A logarithmic x axis with exactly these ticks, written as whole numbers."""
    ax.set_xscale("log", base=2)
    ax.set_xticks(sorted({float(value) for value in values}))
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.minorticks_off()


def rule_lines(ax: Axes, table: pd.DataFrame, x: str, y: str, marked: bool = False) -> None:
    """A line for each ``rule`` of the table."""
    for rule, line in table.groupby("rule", sort=False):
        colour, marker = rule_style(str(rule))
        ax.plot(line[x], line[y], color=colour, marker=marker if marked else None, ms=5, lw=1.3, label=rule)
