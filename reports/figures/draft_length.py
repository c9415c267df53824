"""Figures on acceptance rates by draft length, each a pure function of a saved frame."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from reports.figures.plot_style import ERRORS, PRINTED, SHADES, finish, panels, powers

STYLES = {  # of decoders and readings: colour, dash, marker, words
    "of verified drafts": ("#0072B2", "-", "o", "cut at the first rejection, of verified drafts"),
    "of all drafts": ("#E69F00", "--", "^", "cut at the first rejection, of all drafts"),
    "in place": ("#882255", "-", "s", "replaced in place"),
}


def printed(table: pd.DataFrame) -> Figure:
    """The mean acceptance that each printed rate allows: a panel a reading, a group a column, a bar a draft length."""
    readings = list(dict.fromkeys(table["reading"]))
    columns = list(dict.fromkeys(table["column"]))
    figure, axes = panels(len(readings), height=0.42 * len(columns) + 1.9, width=11.5, sharex=True, sharey=True)
    gammas = sorted(set(table["gamma"]))
    for ax, reading in zip(axes, readings, strict=True):
        for shade, (k, gamma) in zip(SHADES, enumerate(gammas), strict=False):
            own = table[(table["reading"] == reading) & (table["gamma"] == gamma)].set_index("column").loc[columns]
            places = [-number + 0.17 * (len(gammas) / 2 - 0.5 - k) for number in range(len(columns))]
            ax.hlines(places, own["low"], own["high"], color=shade, lw=4.2, label=f"γ = {gamma}")
        for number, column in enumerate(columns):
            off = table.loc[(table["reading"] == reading) & (table["column"] == column), "off"].iloc[0]
            ax.text(1.12, -number, f"{off:.3f}" if off else "together", va="center", ha="right", fontsize=8)
            if number:
                ax.axhline(0.5 - number, color="0.9", lw=0.8, zorder=0)
        main = table.drop_duplicates("column").set_index("column").loc[columns, "main"]
        ax.axhline(0.5 - int(main.sum()), color="0.4", lw=0.8)
        ax.set(title=f"read as rates {reading}", xlabel="mean acceptance of a position", xlim=(0, 1.13))
        ax.set_ylim(0.5 - len(columns), 0.5)
    axes[0].set_yticks([-number for number in range(len(columns))], columns, fontsize=8)
    return finish(figure, axes[0])


def rates(table: pd.DataFrame) -> Figure:
    """Rates over the draft length, a panel a column: lines exact, points simulated, open diamonds printed."""
    columns = list(dict.fromkeys(table["column"]))
    figure, axes = panels(len(columns), height=4.0, width=12.0, sharey=True)
    for ax, column in zip(axes, columns, strict=True):
        for reading, (colour, dash, marker, label) in STYLES.items():
            own = table[(table["column"] == column) & (table["reading"] == reading)].sort_values("gamma")
            ax.plot(own["gamma"], own["exact"], dash, color=colour, lw=1.5)
            bars = ERRORS * own["error"]
            ax.errorbar(own["gamma"], own["simulated"], bars, color=colour, marker=marker, ls="", ms=5, label=label)
        own = table[table["column"] == column].drop_duplicates("gamma")
        ax.plot(own["gamma"], own["printed"], label="printed", **PRINTED)
        powers(ax, own["gamma"])
        ax.set(title=column.replace(", resolution", ""), xlabel="drafts a block γ")
        ax.title.set_fontsize(9.5)
    most = float(table[["exact", "simulated", "printed"]].max().max())
    axes[0].set(ylabel="acceptance rate", ylim=(0, 1.06 * most))
    return finish(figure, axes[0], ncols=4)
