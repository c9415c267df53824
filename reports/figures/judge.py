"""Figure of a judged rule among the others: acceptance gained against distortion."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.acceptance_maps import edge
from reports.figures.plot_style import ALL_RULE_STYLES, OTHER, panels

OWN_COLOUR = "#b3261e"


def compared(table: pd.DataFrame, frontier: pd.DataFrame) -> Figure:
    """The judged rule among the others: acceptance gained against TV spent, and against Wasserstein-1 spent.

    ``table`` has ``family, own, gained, tv, wasserstein``, ``frontier`` has ``gained, wasserstein``. Rules that accept
    much less than the lossless rule fall off the map, unless it is the judged rule that does.
    """
    own = table[table["own"]].iloc[0]
    others = table[~table["own"]]
    low, high = min(float(own["gained"]), 0.0) - 0.04, 1.06 * float(frontier["gained"].max())
    shown = others[others["gained"] > low]
    figure, (left, right) = panels(2, width=11, height=5.2, sharey=True)
    least: list[float] = frontier["wasserstein"].to_list()
    frontiers = {"tv": ([0.0, 2.0], [0.0, 2.0]), "wasserstein": (least, frontier["gained"].to_list())}
    for ax, (x, (spent, gained)) in zip((left, right), frontiers.items(), strict=True):
        _family_lines(ax, shown, x)
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        ax.plot(own[x], own["gained"], "*", color=OWN_COLOUR, ms=19, mec="white", mew=1.2, zorder=9, label="this rule")
        ax.set_ylim(low, high)
        edge(ax, spent, gained, max(float(shown[x].max()), float(own[x])), high)
    left.set(xlabel="TV spent", ylabel="acceptance gained", title="Gained against TV spent")
    right.set(xlabel="Wasserstein-1 spent, distances of the codebook", title="Gained against distance spent")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=5, fontsize=8)
    return figure


def _family_lines(ax: Axes, table: pd.DataFrame, x: str) -> None:
    """A line a family over its parameter; only points where the parameter is not one number that grows."""
    for family, line in table.groupby("family", sort=False):
        colour, marker = ALL_RULE_STYLES.get(str(family), OTHER)
        joined = "" if family == "dynamic-grouped" else "-"
        ax.plot(line[x], line["gained"], joined, marker=marker, color=colour, label=family, ms=5, lw=0.9, alpha=0.85)
