"""The page on one rule: made from the files that ``simlab judge`` leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.results import write
from reports.figures import basic as figures
from reports.site.html import svg, template

SHORT = 8  # tokens an example may have and still be shown at once

OWN_COLOUR = "#b3261e"


def build(out: Path) -> Path:
    """Write ``judge.html`` beside the results in ``out``; raises ``FileNotFoundError`` where they are missing."""
    judged = json.loads((out / "judge.json").read_text(encoding="utf-8"))
    manifest = json.loads((out / "judge-manifest.json").read_text(encoding="utf-8"))
    page = template("judge.html").render(
        judged=judged,
        manifest=manifest,
        counterexample=judged["counterexample"] and tokens(judged["counterexample"]),
        placed=_placed(out) if judged["map"] else None,
        short=SHORT,
    )
    path = out / "judge.html"
    write(path, lambda temporary: temporary.write_text(page, encoding="utf-8"))
    return path


def _placed(out: Path) -> dict[str, Any]:
    """The map, and the tables beside it."""
    figures.style()
    table = pd.read_parquet(out / "judge-map.parquet")
    frontier = pd.read_parquet(out / "judge-frontier.parquet")
    return {
        "figure": svg(compared(table, frontier), "acceptance gained against distortion spent"),
        "nearest": table[table["nearest"]].sort_values("acceptance", kind="stable").to_dict("records"),
        "all": table.to_dict("records"),
    }


def tokens(example: dict[str, Any]) -> dict[str, Any]:
    """An example token by token, rationals where they are known: what is drafted, kept, drawn and emitted."""
    told = example | example.get("exact", {})
    rows = [
        {
            "token": token,
            "p": told["p"][token],
            "q": told["q"][token],
            "accept": told["accept"].get(str(token)),
            "residual": told["residual"].get(str(token)),
            "law": told["law"][token],
            "more": float(example["law"][token]) - float(example["p"][token]),
        }
        for token in range(len(example["p"]))
    ]
    names = ("acceptance", "acceptance_speculative", "tv")
    return {"rows": rows, "size": len(rows)} | {name: told[name] for name in names}


def compared(table: pd.DataFrame, frontier: pd.DataFrame) -> Figure:
    """The judged rule among the others: acceptance gained against TV spent, and against Wasserstein-1 spent.

    ``table`` has ``family, own, gained, tv, wasserstein``, ``frontier`` has ``gained, wasserstein``. Rules that accept
    much less than the lossless rule fall off the map, unless it is the judged rule that does.
    """
    own = table[table["own"]].iloc[0]
    others = table[~table["own"]]
    low, high = min(float(own["gained"]), 0.0) - 0.04, 1.06 * float(frontier["gained"].max())
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    diagonal = [0, 2]
    for ax, x, edge in (
        (left, "tv", (diagonal, diagonal)),
        (right, "wasserstein", (frontier["wasserstein"], frontier["gained"])),
    ):
        _family_lines(ax, others[others["gained"] > low], x)
        ax.fill_between(*edge, max(2.0, high), color="0.93", lw=0)
        ax.plot(*edge, ":", color="black", lw=1.2)
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        ax.plot(own[x], own["gained"], "*", color=OWN_COLOUR, ms=19, mec="white", mew=1.2, zorder=9, label="this rule")
        most = max(float(others.loc[others["gained"] > low, x].max()), float(own[x]))
        ax.set(xlim=(-0.03 * most, 1.08 * most), ylim=(low, high))
    left.text(0.03, 0.97, "no rule with one\ncandidate gets here", va="top", color="0.35", transform=left.transAxes)
    left.set(xlabel="TV spent", ylabel="acceptance gained", title="Gained against TV spent")
    right.set(xlabel="Wasserstein-1 spent, distances of the codebook", title="Gained against distance spent")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=5, fontsize=8)
    sns.despine(figure)
    return figure


def _family_lines(ax: Axes, table: pd.DataFrame, x: str) -> None:
    """A line a family over its parameter; only points where the parameter is not one number that grows."""
    for family, line in table.groupby("family", sort=False):
        colour, marker = figures.RULES[str(family)]
        joined = "" if family == "dynamic-grouped" else "-"
        ax.plot(line[x], line["gained"], joined, marker=marker, color=colour, label=family, ms=5, lw=0.9, alpha=0.85)
