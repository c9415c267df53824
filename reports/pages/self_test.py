"""The page of the certifier's self-test, made from the file of ``simlab certify --self-test``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from reports.data.documents import SELF_TEST
from reports.figures.plot_style import use_style
from reports.figures.self_test import calls
from reports.site.html import save, svg, template

FILE = "selftest.html"


def build(out: Path) -> Path:
    """Write ``selftest.html`` beside ``selftest.json``; raises as :meth:`~reports.data.files.Document.read`."""
    return save(out / FILE, page(SELF_TEST.read(out)))


def page(document: dict[str, Any]) -> str:
    """The page as HTML."""
    use_style()
    groups = grouped(document["bugs"])
    budgets = list(document["bugs"][0]["sampled"])
    return template("self_test.html").render(
        test=document,
        groups=groups,
        budgets=budgets,
        within={budget: sum(bool(row["sampled"][budget]) for row in document["bugs"]) for budget in budgets},
        runs=sum(row["runs"] for row in document["correct"]),
        stated=max(row["stated"] for row in document["correct"]),
        drawing=svg(calls(groups), "calls until each bug is found by sampling"),
        command=SELF_TEST.command,
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
