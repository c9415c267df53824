"""Exact results on small processes: distributions of the number of calls, and TV of sequences by their length."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reports.figures.plot_style import panels, rule_lines


def compounding(table: pd.DataFrame) -> Figure:
    """Exact TV of whole sequences against their length: ``decoder, rule, length, tv``."""
    decoders = list(table["decoder"].unique())
    figure, axes = panels(len(decoders), height=3.8, sharey=True)
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
    figure, (ax,) = panels(1, height=0.36 * len(wide) + 1.2)
    left = np.zeros(len(wide))
    shades = matplotlib.colormaps["viridis_r"](np.linspace(0, 1, len(wide.columns) + 2)[1:-1])[:, :3]
    for (count, column), shade in zip(wide.fillna(0).items(), shades, strict=True):
        ax.barh(wide.index, column, left=left, color=shade, label=str(count), height=0.8)
        for place, (start, width) in enumerate(zip(left, column, strict=True)):
            if width > 0.06:
                ink = "white" if np.dot(shade, [0.3, 0.6, 0.1]) < 0.5 else "black"
                ax.text(start + width / 2, place, f"{width:.0%}", ha="center", va="center", fontsize=8, color=ink)
        left += column.to_numpy()
    for place, value in enumerate(mean):
        ax.text(1.01, place, f"{value:.2f}", va="center", fontsize=9)
    ax.text(1.01, -1, "mean", va="center", fontsize=9, fontweight="bold")
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set(xlim=(0, 1), xlabel="probability")
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "handlelength": 1, "columnspacing": 1}
    ax.legend(title="calls", ncols=len(wide.columns), fontsize=8, title_fontsize=8, **above)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return figure
