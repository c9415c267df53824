"""Figures on lossy rules over vocabularies of thousands, each a pure function of a saved frame of one vocabulary."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reports.figures.plot_style import ALL_RULE_STYLES, PRINTED, SHADES, SHAPES, finish, logarithmic_at, panels
from theory.published.ledger import published

FAMILIES = {"clusters": "grouped", "windows": "dynamic-grouped", "lantern": "lantern"}  # and whose look they have
DASHES = {"l2": "-", "cosine": "--", "random": ":"}


def naive(table: pd.DataFrame) -> Figure:
    """GSD and LANTERN against amplify and addition that accept as much: TV and Wasserstein-1 over what is gained.

    Where the distance is too large to solve, a bar spans what it lies between.
    """
    kinds = list(dict.fromkeys(table["rows"]))
    figure = Figure(figsize=(3.7 * len(kinds) + 0.6, 6.8), layout="constrained")
    axes = figure.subplots(2, len(kinds), squeeze=False, sharex="col")
    for (above, below), kind in zip(axes.T, kinds, strict=True):
        own = table[table["rows"] == kind]
        gained = own["acceptance"] - own["lossless"]
        for rule, part in own.groupby(own["rule"].str.split(",").str[0], sort=False):
            colour, marker = ALL_RULE_STYLES[FAMILIES.get(str(rule), str(rule))]
            style: dict[str, Any] = {"color": colour, "marker": marker, "ls": "", "ms": 5.5, "label": rule}
            above.plot(gained[part.index], part["tv"], **style)
            middle = part["wasserstein"].fillna((part["least"] + part["most"]) / 2)
            open_ended = part["wasserstein"].isna()
            spans = [(middle - part["least"]).where(open_ended, 0), (part["most"] - middle).where(open_ended, 0)]
            below.errorbar(gained[part.index], middle, spans, elinewidth=1, capsize=2, **style)
        above.axline((0, 0), slope=1, color="black", ls=":", lw=1.1, label="frontier in TV")
        above.set(title=f"{kind}, lossless {own['lossless'].iloc[0]:.2f}", xlim=(0, None), ylim=(0, None))
        below.set(xlabel="acceptance gained", ylim=(0, None))
    axes[0, 0].set_ylabel("TV")
    axes[1, 0].set_ylabel("Wasserstein-1 over the codebook")
    return finish(figure, axes[0, 0], ncols=6)


def neighbours(table: pd.DataFrame) -> Figure:
    """LANTERN, Tables 2 and 4: acceptance over delta by k and measure, for sampled and for likeliest candidates."""
    kinds, candidates = (list(dict.fromkeys(table[name])) for name in ("rows", "candidate"))
    figure = Figure(figsize=(3.7 * len(kinds) + 0.6, 3.1 * len(candidates) + 0.9), layout="constrained")
    axes = figure.subplots(len(candidates), len(kinds), squeeze=False, sharey=True, sharex=True)
    for line, candidate in zip(axes, candidates, strict=True):
        for ax, kind in zip(line, kinds, strict=True):
            own = table[(table["rows"] == kind) & (table["candidate"] == candidate)]
            for shade, (k, each) in zip(SHADES, own.groupby("k"), strict=False):
                for measure, part in each.groupby("measure", sort=False):
                    label = f"k = {k}" if measure == "l2" else "_"
                    ax.plot(part["delta"], part["acceptance"], DASHES[str(measure)], color=shade, lw=1.3, label=label)
                rows = published().select({"k": str(k)}, paper="lantern", table="2")
                if candidate == "likeliest" and rows:
                    deltas = [float(row.params["delta"]) for row in rows]
                    ax.plot(deltas, [float(row.value) for row in rows], label="printed", **PRINTED | {"ms": 5})
            ax.axhline(own["lossless"].iloc[0], color="black", lw=1, ls=(0, (1, 3)), label="lossless")
            ax.set(title=f"{kind}, {candidate} candidate", ylim=(0, 1.02))
            logarithmic_at(ax, sorted(own["delta"].unique()))
    for measure, dash in DASHES.items():
        axes[0, 0].plot([], [], dash, color="0.4", label=f"neighbours by {measure}".replace("l2", "L2"))
    for ax in axes[-1]:
        ax.set_xlabel("δ")
    for line in axes:
        line[0].set_ylabel("acceptance")
    return finish(figure, axes[0, 0], axes[-1, 0], ncols=5)


def compounding(table: pd.DataFrame) -> Figure:
    """TV of the first n tokens over n, a line a rule, with intervals of guaranteed coverage."""
    figure, (ax,) = panels(1, width=8.5, height=4.4)
    styles = zip(SHADES, SHAPES, table.groupby("rule", sort=False), strict=False)
    for number, (shade, shape, (rule, own)) in enumerate(styles):
        apart = own["n"] * 1.05 ** (number - 1.5)
        spans = [own["estimate"] - own["least"], own["most"] - own["estimate"]]
        ax.errorbar(
            apart, own["estimate"], spans, color=shade, marker=shape, ms=5, lw=1.2, capsize=2.5, label=str(rule)
        )
    ax.set(xlabel="tokens n", ylabel="TV of the first n tokens", ylim=(0, 1.02))
    logarithmic_at(ax, sorted(table["n"].unique()), "{:,}")
    return finish(figure, ax, ncols=2)


def blocks(table: pd.DataFrame) -> Figure:
    """CSpD, eq. 51: how far mean tokens a block are off the formula, over gamma, by how uneven regions are; exact."""
    figure, axes = panels(2, height=4.2, sharey=True)
    formulas = {"formula_by_look": "acceptance by drafts looked at", "formula_by_position": "acceptance by positions"}
    uneven = table["process"] + ", heterogeneity " + table["heterogeneity"].map("{:g}".format)
    named = table["process"].where(table["heterogeneity"].isna(), uneven)
    styles = list(zip([*SHADES, "#000000"], [*SHAPES, "*"], strict=True))
    for ax, (column, text) in zip(axes, formulas.items(), strict=True):
        for (shade, shape), (name, own) in zip(styles, table.groupby(named, sort=False), strict=False):
            off = own["tokens"] / own[column] - 1
            ax.plot(own["gamma"], off, color=shade, marker=shape, ms=5, lw=1.2, label=str(name))
        ax.axhline(0, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel="drafts a block γ", title=text, xticks=sorted(table["gamma"].unique()))
        ax.yaxis.set_major_formatter(PercentFormatter(1))
    axes[0].set_ylabel("tokens a block, against the formula")
    return finish(figure, axes[0], ncols=4)
