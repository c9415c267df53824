"""Figures, each a pure function of a saved frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

matplotlib.use("Agg")  # files only: no window, wherever this runs

LOSSLESS = "speculative"

# One colour and one marker a family of rules, in every figure, distinct to the colour-blind (after Okabe and Ito). Kin
# have the same hue: the dynamic windows, LANTERN's neighbourhoods.
STYLES: dict[str, tuple[str, str]] = {
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
}

# The rules by the names they are made with; kin that the report tells apart by their options share a look.
RULES: dict[str, tuple[str, str]] = STYLES | {
    "grouped-group-residual": STYLES["grouped, group residual"],
    "dynamic-grouped": STYLES["dynamic, centred"],
    "gsd-reference": STYLES["dynamic, clamped"],
    "lantern-greedy": STYLES["lantern, random"],
}


def style() -> None:
    """What all figures share."""
    sns.set_theme(style="ticks", context="notebook", font_scale=0.85)
    matplotlib.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "simlab",
            "pdf.fonttype": 42,  # letters stay letters
            "axes.titleweight": "bold",
            "axes.titlesize": 11,
            "axes.titlelocation": "left",
            "legend.frameon": False,
        }
    )


def look(rule: str) -> tuple[str, str]:
    """Colour and marker of a rule; its parameter, after the last comma, does not matter."""
    return STYLES.get(rule) or STYLES[rule.rpartition(",")[0]]


def compounding(table: pd.DataFrame) -> Figure:
    """Exact TV of whole sequences against their length: ``decoder, rule, length, tv``."""
    decoders = list(table["decoder"].unique())
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    axes = figure.subplots(1, len(decoders), sharey=True)
    for ax, decoder in zip(axes, decoders, strict=True):
        _lines(ax, table[table["decoder"] == decoder], "length", "tv", marked=True)
        ax.set(title=decoder, xlabel="tokens in the sequence", ylabel="TV of the sequence law", xticks=range(1, 6))
    axes[0].set_ylim(0, None)
    axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    sns.despine(figure)
    return figure


def digits_compounding(table: pd.DataFrame, decoders: Sequence[str]) -> Figure:
    """What one-step distortion adds up to along a sequence: ``decoder, rule, position, kl, wasserstein``."""
    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, len(decoders), sharey="row", sharex=True)
    for column, decoder in zip(axes.T, decoders, strict=True):
        part = table[(table["decoder"] == decoder) & (table["rule"] != LOSSLESS)]
        for ax, (value, label) in zip(
            column,
            [("kl", "sum of one-step KL, nats"), ("wasserstein", "sum of one-step W1, grey levels")],
            strict=True,
        ):
            _lines(ax, part, "position", value)
            ax.set(ylabel=label if decoder == decoders[0] else "", yscale="log", ylim=(1e-2, None))
        column[0].set_title(decoder)
        column[-1].set_xlabel("pixels generated")
    axes[0, -1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    sns.despine(figure)
    return figure


def _lines(ax: Axes, table: pd.DataFrame, x: str, y: str, marked: bool = False) -> None:
    for rule, line in table.groupby("rule", sort=False):
        colour, marker = look(str(rule))
        ax.plot(line[x], line[y], color=colour, marker=marker if marked else None, ms=5, lw=1.3, label=rule)


def steps(table: pd.DataFrame) -> Figure:
    """Exact distributions of the number of calls, a row a decoder: ``decoder, steps, probability``."""
    wide = table.pivot(index="decoder", columns="steps", values="probability").reindex(table["decoder"].unique())
    mean = (wide * wide.columns.to_numpy()).sum(axis=1)
    figure = Figure(figsize=(10, 0.36 * len(wide) + 1.2), layout="constrained")
    ax = figure.subplots()
    left = np.zeros(len(wide))
    shades = sns.color_palette("viridis_r", len(wide.columns))
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
    sns.despine(figure, left=True)
    ax.tick_params(axis="y", length=0)
    return figure


def digits_grid(images: Mapping[str, np.ndarray], count: int = 16) -> Figure:
    """The first ``count`` images of each method, a row a method: ``uint8[B, 64]``."""
    figure = Figure(figsize=(10, 0.5 * len(images)))
    figure.subplots_adjust(left=0.31, right=1, top=1, bottom=0, hspace=0.06)
    paper = matplotlib.colormaps["gray_r"].with_extremes(bad="#ccd4dc")
    for ax, (label, grid) in zip(figure.subplots(len(images), 1, squeeze=False)[:, 0], images.items(), strict=True):
        tiles = [np.pad(image.reshape(8, 8).astype(float), 1, constant_values=np.nan) for image in grid[:count]]
        ax.imshow(np.concatenate(tiles, axis=1), cmap=paper, vmin=0, vmax=16, interpolation="nearest", aspect="auto")
        ax.text(-0.01, 0.5, label, transform=ax.transAxes, ha="right", va="center", fontsize=9)
        ax.set_axis_off()
    return figure
