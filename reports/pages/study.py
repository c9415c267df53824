"""The page of a study: figures and tables of a sweep beside the printed numbers.

Names of studies are those of the specs that come with simlab. Any other sweep has a page too, with all its settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from zlib import crc32

import pandas as pd
from matplotlib.figure import Figure

from reports.data.averages import Unsuitable, counted_units, unit_name
from reports.data.sweeps import Run
from reports.figures.gsd import accumulation, gained, pareto
from reports.figures.image_process import calibration, locality, noise_or_floor, stays
from reports.figures.lantern import lantern, relaxations
from reports.figures.lossy_rules import pairs
from reports.figures.scd import coupling, lossless
from reports.figures.sjd import randomness, refinement, window
from reports.figures.sjd_pac import ablation, committed, readings, tree
from reports.pages import study_tables
from reports.pages.elements import Picture, Table, picture, texts
from reports.site.gallery import Draw
from reports.site.html import Entries, template
from theory.published.ledger import Ledger

FOLDER = "studies"
BARS = "Bars are two standard errors, between {units}."
BOTH = "Mean: of each sequence's tokens/calls; pooled: all tokens over all calls."

# what figures and tables make of settings that the spec that they are for does not have
UNLIKE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)

T = TypeVar("T")


@dataclass(frozen=True)
class Shown:
    """Which figures, in the order of their texts, and which tables a page shows."""

    figures: Sequence[Callable[[pd.DataFrame, Ledger], Figure]]
    tables: Sequence[Callable[[pd.DataFrame, Ledger], Table]] = ()


STUDIES: dict[str, Shown] = {
    "window": Shown([window]),
    "randomness": Shown([randomness]),
    "refinement": Shown([refinement]),
    "lengths": Shown([committed, stays], [study_tables.likelihoods]),
    "locality": Shown([locality]),
    "ablation": Shown([ablation], [study_tables.ablation]),
    "tree": Shown([tree], [study_tables.tree]),
    "coupling": Shown([coupling]),
    "lossless": Shown([lossless]),
    "readings": Shown([readings], [study_tables.readings]),
    "calibration": Shown([calibration, noise_or_floor]),
    "accumulation": Shown([accumulation]),
    "groups": Shown([pareto, gained], [study_tables.trades]),
    "lantern": Shown([lantern, relaxations], [study_tables.trades]),
    "pairs": Shown([pairs], [study_tables.trades]),
    "relabel": Shown([], [study_tables.trades]),
}


@dataclass(frozen=True)
class Study:
    """A sweep with everything its page shows."""

    run: Run
    lead: str
    pictures: Sequence[Picture]
    tables: Sequence[Table] = field(default=())
    note: str = ""  # why figures of its own are missing

    @property
    def path(self) -> str:
        """Where its page is, from the site's folder."""
        name = self.run.name
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)  # as simlab run has it; a manifest may say anything
        return f"{FOLDER}/{plain if plain == name else f'{plain}-{crc32(name.encode()):x}'}.html"


def order(name: str) -> tuple[int, str]:
    """A key to sort studies by: those that have figures of their own first, in the order of :data:`STUDIES`."""
    known = list(STUDIES)
    return (known.index(name) if name in known else len(known), name)


def study(run: Run, ledger: Ledger) -> Study:
    """The sweep's study; without its own figures or tables, and with a note, where its table does not have what they
    show."""
    shown = STUDIES.get(run.name, Shown([]))
    text = texts().get(run.name, {}) if run.name in STUDIES else {}  # other names are those of other pages
    pictures, undrawn = _suitable(run, lambda: _pictures(run.table, shown, text.get("pictures", []), ledger))
    tables, unwritten = _suitable(run, lambda: [tabulate(run.table, ledger) for tabulate in shown.tables])
    note = f"The figures of this study cannot be drawn: {undrawn}." if undrawn else ""
    if unwritten and unwritten != undrawn:
        note = f"{note} The tables of this study cannot be made: {unwritten}.".strip()
    return Study(run, text.get("lead", "").strip(), pictures, [*tables, study_tables.settings(run.table)], note)


def _suitable(run: Run, made: Callable[[], list[T]]) -> tuple[list[T], str]:
    """What is made of a run; nothing, and why, where its table does not have it."""
    try:
        return made(), ""
    except Unsuitable as reason:
        return [], str(reason)
    except UNLIKE:
        if not run.changed:
            raise
        return [], "they are for the spec of this name that comes with simlab, and this is another"


def _pictures(table: pd.DataFrame, shown: Shown, captions: list[dict[str, str]], ledger: Ledger) -> list[Picture]:
    words = {"n": counted_units(table), "bars": BARS.format(units=unit_name(table)), "both": BOTH}
    return [picture(text, draw(table, ledger), **words) for draw, text in zip(shown.figures, captions, strict=True)]


def page(study: Study, entries: Entries, draw: Draw) -> str:
    """The page as HTML."""
    return template("study.html").render(
        heading=study.run.title,
        run=study.run,
        lead=[study.lead] if study.lead else [],
        pictures=study.pictures,
        tables=study.tables,
        note=study.note,
        simulated=counted_units(study.run.table),
        spec=json.dumps(study.run.spec, indent=1, ensure_ascii=False),
        draw=draw,
        entries=entries,
        here=study.path,
        above="../",
    )
