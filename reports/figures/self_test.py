"""Figure of the certifier's self-test: calls until each bug is found by sampling."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.plot_style import finish, logarithmic

WIDE = 52  # bugs that fit in one line of panels
FOUND, POWER, MISSED, PASSED = "#0072B2", "#D55E00", "#b3261e", "0.55"


def calls(groups: dict[str, list[dict[str, Any]]]) -> Figure:
    """A column a bug, a panel a contract: calls until it was found, that find it almost surely, and of a pass."""
    lines = _lines({contract: len(rows) for contract, rows in groups.items()})
    figure = Figure(figsize=(11, 0.6 + 2.5 * len(lines)), layout="constrained")
    grid = figure.add_gridspec(len(lines), 1)
    first: Axes | None = None
    for k, line in enumerate(lines):
        inner = grid[k].subgridspec(1, len(line), width_ratios=[len(groups[contract]) + 1 for contract in line])
        for j, contract in enumerate(line):
            ax = figure.add_subplot(inner[j], sharey=first)
            first = first or ax
            _panel(ax, contract, groups[contract])
            ax.set_ylabel("calls" if j == 0 else "")
            ax.tick_params(labelleft=j == 0)
    return finish(figure, *figure.axes, loc="outside upper center", fontsize=None, handletextpad=0.2)


def _lines(sizes: dict[str, int]) -> list[list[str]]:
    """Contracts side by side, as many as fit."""
    lines: list[list[str]] = []
    for contract, size in sizes.items():
        if lines and sum(sizes[other] + 1 for other in lines[-1]) + size <= WIDE:
            lines[-1].append(contract)
        else:
            lines.append([contract])
    return lines


def _panel(ax: Axes, contract: str, rows: list[dict[str, Any]]) -> None:
    for place, row in enumerate(rows):
        ax.axvline(place, color="0.94", lw=0.8, zorder=0)
        if row["calls_in_a_pass"]:
            ax.plot(place, row["calls_in_a_pass"], "_", color=PASSED, ms=8, mew=1.6, label="made in a pass")
        if row["calls_for_power"] is not None:
            ax.plot(place, row["calls_for_power"], "o", mfc="none", mec=POWER, ms=6, label="found with power 0.999")
        if row["sampled_calls"] is not None:  # what fails at the first call has been counted in none
            ax.plot(place, max(1, row["sampled_calls"]), "o", color=FOUND, ms=4, label="found in this run")
        else:
            edge = ax.get_xaxis_transform()
            ax.plot(place, 1.0, "x", color=MISSED, ms=6, transform=edge, clip_on=False, label="not by sampling")
    logarithmic(ax)
    ax.set(xlim=(-0.7, len(rows) - 0.3), title=contract)
    ax.set_xticks(range(len(rows)), [row["label"] for row in rows], rotation=90, fontsize=7.5)
    ax.tick_params(axis="x", length=2)
