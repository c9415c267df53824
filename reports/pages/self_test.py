"""The page of the certifier's self-test: made from the file that ``simlab certify --self-test`` leaves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.results import write
from reports.data.runs import Unreadable, read_json
from reports.figures import basic as figures
from reports.site.html import svg, template

SOURCE, FILE = "selftest.json", "selftest.html"
COMMAND = "simlab certify --self-test"
BUG = {"contract", "mutant", "name", "by", "diagnosis", "named", "sampled", "sampled_calls", "sampled_diagnosis"} | {
    "sampled_named",
    "case",
    "calls_for_power",
    "calls_in_a_pass",
    "confirmed",
}
PASS = {"contract", "name", "verdict", "seconds", "tv_at_most", "detectable"}
CORRECT = {"contract", "name", "runs", "calls_a_run", "false_alarms", "rate_at_most", "stated", "fault"}
WIDE = 52  # bugs that fit in one line of panels

FOUND, POWER, MISSED, PASSED = "#0072B2", "#D55E00", "#b3261e", "0.55"


def read(out: Path) -> dict[str, Any]:
    """The self-test in ``out``.

    Raises ``FileNotFoundError`` where there is none and :class:`~reports.data.runs.Unreadable` where the file is
    another.
    """
    document = read_json(out / SOURCE, COMMAND)
    told = {"simlab", "seed", "versions", "missed", "rejected"} <= document.keys()
    tables = {"bugs": BUG, "correct": CORRECT, "passes": PASS}
    if not (told and all(_listed(document.get(name), keys) for name, keys in tables.items())):
        raise Unreadable(f"{out / SOURCE} cannot be read: it is no self-test; run `{COMMAND}` again")
    return document


def _listed(rows: Any, keys: set[str]) -> bool:
    """Whether these are rows, one at least, that have the ``keys``."""
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) and keys <= row.keys() for row in rows)


def build(out: Path) -> Path:
    """Write ``selftest.html`` beside ``selftest.json``; raises as :func:`read`."""
    text = page(read(out))
    path = out / FILE
    write(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return path


def page(document: dict[str, Any]) -> str:
    """The page as HTML."""
    figures.style()
    groups = grouped(document["bugs"])
    budgets = list(document["bugs"][0]["sampled"])
    return template("selftest.html").render(
        test=document,
        groups=groups,
        budgets=budgets,
        within={budget: sum(bool(row["sampled"][budget]) for row in document["bugs"]) for budget in budgets},
        runs=sum(row["runs"] for row in document["correct"]),
        stated=max(row["stated"] for row in document["correct"]),
        figure=svg(calls(groups), "calls until each bug is found by sampling"),
        command=COMMAND,
    )


def grouped(bugs: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of bugs by contract, in the order of their numbers; ``label`` tells those of one number apart."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(bugs, key=lambda row: int(row["mutant"])):
        groups.setdefault(row["contract"], []).append(row)
    ordered = sorted(groups, key=lambda contract: -len(groups[contract]))
    return {contract: _labelled(groups[contract]) for contract in ordered}


def _labelled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    several, met = Counter(row["mutant"] for row in rows), Counter[str]()
    labelled = []
    for row in rows:
        letter = ascii_lowercase[met[row["mutant"]]] if several[row["mutant"]] > 1 else ""
        met[row["mutant"]] += 1
        labelled.append(row | {"label": f"{row['mutant']}{letter}"})
    return labelled


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
    legends = [ax.get_legend_handles_labels() for ax in figure.axes]
    entries = {label: handle for legend in legends for handle, label in zip(*legend, strict=True)}
    figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=4, handletextpad=0.2)
    sns.despine(figure)
    return figure


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
    ax.set(yscale="log", xlim=(-0.7, len(rows) - 0.3), title=contract)
    ax.set_xticks(range(len(rows)), [row["label"] for row in rows], rotation=90, fontsize=7.5)
    ax.tick_params(axis="x", length=2)
