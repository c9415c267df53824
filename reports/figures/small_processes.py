"""Exact results on small processes: distributions of the number of calls, and TV of sequences by their length."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reports.figures.plot_style import rule_lines


def compounding(table: pd.DataFrame) -> Figure:
    """Exact TV of whole sequences against their length: ``decoder, rule, length, tv``."""
    decoders = list(table["decoder"].unique())
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    axes = figure.subplots(1, len(decoders), sharey=True)
    for ax, decoder in zip(axes, decoders, strict=True):
        rule_lines(ax, table[table["decoder"] == decoder], "length", "tv", marked=True)
        ax.set(title=decoder, xlabel="tokens in the sequence", ylabel="TV of the sequence law", xticks=range(1, 6))
    axes[0].set_ylim(0, None)
    axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def steps(table: pd.DataFrame) -> Figure:
    """Exact distributions of the number of calls, a row a decoder: ``decoder, steps, probability``."""
    wide = table.pivot(index="decoder", columns="steps", values="probability").reindex(table["decoder"].unique())
    mean = (wide * wide.columns.to_numpy()).sum(axis=1)
    figure = Figure(figsize=(10, 0.36 * len(wide) + 1.2), layout="constrained")
    ax = figure.subplots()
    left = np.zeros(len(wide))
    shades = matplotlib.colormaps["viridis_r"](np.linspace(0, 1, len(wide.columns) + 2)[1:-1])[:, :3]
    for (count, column), shade in zip(wide.fillna(0).items(), shades, strict=True):
        ax.barh(wide.index, column, left=left, color=shade, label=str(count), height=0.8)
        for place, (start, width) in enumerate(zip(left, column, strict=True)):
            if width > 0.06:
                dark = np.dot(shade, [0.3, 0.6, 0.1]) < 0.5
                ax.text(
                    start + width / 2,
                    place,
                    f"{width:.0%}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if dark else "black",
                )
        left += column.to_numpy()
    for place, value in enumerate(mean):
        ax.text(1.01, place, f"{value:.2f}", va="center", fontsize=9)
    ax.text(1.01, -1, "mean", va="center", fontsize=9, fontweight="bold")
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set(xlim=(0, 1), xlabel="probability")
    ax.legend(
        title="calls",
        ncols=len(wide.columns),
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        fontsize=8,
        title_fontsize=8,
        handlelength=1,
        columnspacing=1,
    )
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return figure
