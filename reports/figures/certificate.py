"""Figures of a certificate: the outcomes of the failing case, and the precision of every case."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.certification.certificate_format import named
from reports.figures.plot_style import logarithmic, panels

FLOOR = 1e-4  # TV below which it is drawn at the edge
SIDES = {"target": "#1c2530", "measured": "#56B4E9", "exact": "#D55E00"}


def outcomes(rows: list[dict[str, Any]]) -> Figure:
    """Bars of the probability of each outcome: the target, and what was measured or is exact."""
    sides = [name for name in SIDES if rows[0][name] is not None]
    figure, (ax,) = panels(1, width=min(10, 2.6 + 0.62 * len(rows)), height=3.2)
    width, places = 0.8 / len(sides), np.arange(len(rows))
    for k, side in enumerate(sides):
        at = places + (k - (len(sides) - 1) / 2) * width
        ax.bar(at, [row[side] for row in rows], width, color=SIDES[side], label=side)
    ax.set_xticks(places, [row["outcome"] for row in rows], rotation=30 if len(rows) > 6 else 0, ha="center")
    ax.set(xlabel="tokens", ylabel="probability")
    figure.legend(loc="outside upper center", ncols=len(sides))
    return figure


def precision(lines: list[dict[str, Any]], epsilon: float) -> Figure:
    """A row a line: how far from the target it can still be, and what would have been noticed."""
    figure, (ax,) = panels(1, width=5.6, height=1.4 + 0.34 * len(lines))
    places = np.arange(len(lines))[::-1]
    bound = np.maximum([line["tv_at_most"] for line in lines], FLOOR)
    seen = np.maximum([detectable(line) for line in lines], FLOOR)
    low = 0.6 * float(min(*bound, *seen, epsilon))
    ax.hlines(places, low, 1, color="0.93", lw=0.8, zorder=0)
    ax.axvline(epsilon, color="#D55E00", ls="--", lw=1.2, label=f"asked for: {epsilon:g}")
    ax.plot(seen, places, "o", mfc="white", mec="#0072B2", ms=6, label="detected")
    colours = ["#b3261e" if line["fails"] else "#1c2530" for line in lines]
    ax.scatter(bound, places, 26, c=colours, zorder=3, label="at most (red: fails)")
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # the line of what was asked for
    for place, line in zip(places, lines, strict=True):  # above its row, so that the rows have the whole width
        ax.text(low, place + 0.26, named(line), fontsize=8, color="0.3", bbox=behind, zorder=2)
    ax.tick_params(axis="x", which="major", top=True, labeltop=True)
    logarithmic(ax, "x")
    ax.set(xlim=(low, 1.05), ylim=(-0.6, len(lines)), yticks=[], xlabel="TV from the target")
    figure.legend(loc="outside upper center", ncols=3, handletextpad=0.2, columnspacing=1)
    ax.spines["left"].set_visible(False)
    return figure


def detectable(line: dict[str, Any]) -> float:
    """The smallest TV that a line would have detected; 1 where there were too few calls."""
    return 1.0 if line["detectable"] is None else float(line["detectable"])
