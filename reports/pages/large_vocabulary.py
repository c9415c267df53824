"""The page on vocabularies of thousands: drawn from the tables in ``large/``, as many of them as there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from reports.data.runs import Unreadable, read_table
from reports.figures import large_vocabulary as large_figures
from reports.figures.large_vocabulary import COLUMNS
from reports.pages.studies import texts
from reports.pages.study import Picture, Sheet
from reports.pages.study_tables import shown
from reports.site.gallery import Draw
from reports.site.html import template
from theory.published.ledger import Ledger, published

FOLDER, FILE = "large", "large.html"
DRAW: dict[str, Callable[[pd.DataFrame, Ledger], Figure]] = {
    "naive": large_figures.naive,
    "neighbours": large_figures.neighbours,
    "compounding": large_figures.compounding,
    "blocks": large_figures.blocks,
}


def tables(out: Path) -> dict[str, pd.DataFrame]:
    """The tables there are; raises :class:`~reports.data.runs.Unreadable` for one that cannot be read, naming it."""
    found = {}
    for name in DRAW:
        path = out / FOLDER / f"{name}.parquet"
        if not path.exists():
            continue
        found[name] = read_table(path, made_by(name))
        missing = set(COLUMNS[name]) - set(found[name].columns)
        if missing:
            lacks = ", ".join(sorted(missing))
            raise Unreadable(f"{path} cannot be read: it lacks {lacks}; make it again with {made_by(name)}")
    return found


def made_by(name: str) -> str:
    """What makes a table, in words."""
    return f"simlab large {name}"


def page(found: dict[str, pd.DataFrame], entries: Sequence[tuple[str, str]], draw: Draw, mark: str) -> str:
    """The page as HTML."""
    told = texts()["large"]
    shown_here = pictures(found, told["pictures"], published())
    return template("large.html").render(
        lead=told["lead"].strip(),
        pictures=shown_here,
        drawings={each.name: draw(each.name, each.figure, each.heading) for each in shown_here},
        sheets=sheets(found),
        entries=entries,
        here=FILE,
        mark=mark,
    )


def pictures(found: dict[str, pd.DataFrame], told: list[dict[str, str]], ledger: Ledger) -> list[Picture]:
    """The figures of every table, one for each vocabulary in it, with what ``told`` says of them."""
    return [
        Picture(
            f"{text['name']}-{vocabulary}",
            f"{text['heading']}, V = {vocabulary:,}",
            DRAW[text["table"]](part.reset_index(drop=True), ledger),
            text["caption"].strip(),
            text.get("counterpart", ""),
        )
        for text in told
        if text["table"] in found
        for vocabulary, part in found[text["table"]].groupby("vocabulary")
    ]


def sheets(found: dict[str, pd.DataFrame]) -> list[Sheet]:
    """The tables as they are."""
    return [
        Sheet(name, list(map(str, table.columns)), [[shown(value) for value in row] for row in table.to_numpy()])
        for name, table in found.items()
    ]
