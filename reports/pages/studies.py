"""Which figures and tables the page of each study shows; what it says is in ``templates/studies.toml``.

Names are those of the specs that come with simlab. Any other sweep has a page too, with all its settings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from reports.data.averages import told_units, unit_name
from reports.data.runs import Run, Unsuitable
from reports.figures.gsd import accumulation, gained, pareto
from reports.figures.image_process import calibration, kept, locality, told_apart
from reports.figures.lantern import lantern, relaxations
from reports.figures.rules import pairs
from reports.figures.sjd import chance, refinement, window
from reports.figures.sjd_pac import ablation, committed, readings, tree
from reports.pages import study_tables
from reports.pages.study import Content, Picture, Sheet
from theory.published.ledger import Ledger

TEXTS = Path(__file__).parents[1] / "templates" / "studies.toml"
BARS = "Bars are two standard errors, between {units}."
BOTH = "Mean: of each sequence's tokens/calls; pooled: all tokens over all calls."

Draw = Callable[[pd.DataFrame, Ledger], Figure]
Tabulate = Callable[[pd.DataFrame, Ledger], Sheet]


@dataclass(frozen=True)
class Study:
    """Figures, in the order of their texts, and tables."""

    figures: Sequence[Draw]
    sheets: Sequence[Tabulate] = field(default=())


STUDIES: dict[str, Study] = {
    "window": Study([window]),
    "chance": Study([chance]),
    "refinement": Study([refinement]),
    "lengths": Study([committed, kept], [study_tables.likelihoods]),
    "locality": Study([locality]),
    "ablation": Study([ablation], [study_tables.ablation]),
    "tree": Study([tree], [study_tables.tree]),
    "readings": Study([readings], [study_tables.readings]),
    "calibration": Study([calibration, told_apart]),
    "accumulation": Study([accumulation]),
    "groups": Study([pareto, gained], [study_tables.trades]),
    "lantern": Study([lantern, relaxations], [study_tables.trades]),
    "pairs": Study([pairs], [study_tables.trades]),
    "relabel": Study([], [study_tables.trades]),
}


def texts() -> dict[str, Any]:
    """What pages say, by study."""
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))


def content(run: Run, ledger: Ledger) -> tuple[Content, str]:
    """What the page of a sweep shows, and why its own figures are not there where its table does not have them."""
    told, note = texts().get(run.name, {}), ""
    pictures: list[Picture] = []
    sheets: list[Sheet] = []
    if run.name in STUDIES:
        try:
            pictures = _pictures(run.table, STUDIES[run.name].figures, told.get("pictures", []), ledger)
            sheets = [tabulate(run.table, ledger) for tabulate in STUDIES[run.name].sheets]
        except Unsuitable as reason:
            note = f"The figures of this study cannot be drawn: {reason}."
    return Content(told.get("lead", "").strip(), pictures, [*sheets, study_tables.settings(run.table)]), note


def _pictures(
    table: pd.DataFrame, figures: Sequence[Draw], told: list[dict[str, str]], ledger: Ledger
) -> list[Picture]:
    words = {"n": told_units(table), "bars": BARS.format(units=unit_name(table)), "both": BOTH}
    return [
        Picture(
            text["name"],
            text["heading"],
            draw(table, ledger),
            text["caption"].strip().format(**words),
            text.get("counterpart", ""),
        )
        for draw, text in zip(figures, told, strict=True)
    ]
