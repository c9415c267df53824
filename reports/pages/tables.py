"""Pages of saved tables: on continuous tokens, on draft lengths, on vocabularies of thousands.

Each has the figures that its part of ``texts.toml`` names, the claims that it is about, and the tables themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from reports.data.tables import CONTINUOUS, DRAFT_LENGTH, LARGE, Saved
from reports.figures import continuous, draft_length, large_vocabulary
from reports.figures.plot_style import use_style
from reports.pages.elements import Picture, Table, drawings, figure_name, picture, texts
from reports.pages.study_tables import cell_text
from reports.site.gallery import Draw, inline
from reports.site.html import Entries, remove, save, template


@dataclass(frozen=True, eq=False)  # one is itself alone: it can be a key
class TablesPage:
    """A page of saved tables."""

    name: str  # of its texts; its file and its figures are called so too
    # title, heading: in the navigation, and above the page
    title: str
    heading: str
    saved: Saved  # the tables
    figures: ModuleType  # the module with a function for each figure
    claims: tuple[str, ...] = ()  # how the ids of the claims on it begin
    hidden: tuple[str, ...] = ()  # columns that the tables on the page are without
    apart: str = ""  # a column for each value of which there is a figure, where there is one

    @property
    def file(self) -> str:
        """The file it is in."""
        return f"{self.name}.html"

    def html(
        self, found: dict[str, pd.DataFrame], claims: Sequence[dict[str, Any]], entries: Entries, draw: Draw
    ) -> str:
        """The page as HTML; of ``claims``, those of ``verdicts.json``, it shows its own."""
        text = texts()[self.name]
        return template("tables.html").render(
            heading=self.heading,
            lead=text["lead"].strip().split("\n\n"),
            why=text.get("derivation", "").strip().split("\n\n"),
            pictures=list(self.pictures(found, text["pictures"])),
            claims=[claim for claim in claims if claim["id"].startswith(self.claims)] if self.claims else None,
            tables=self.tables(found),
            missing=self.saved.missing(found),
            draw=draw,
            entries=entries,
            here=self.file,
        )

    def pictures(self, found: dict[str, pd.DataFrame], captions: list[dict[str, str]]) -> Iterator[Picture]:
        """The figures of the tables that were found."""
        drawing = drawings(self.figures, self.name)
        for text in captions:
            table, name = found.get(text["table"]), figure_name(text)
            if table is None:
                continue
            if not self.apart:
                yield picture(text, drawing[name](table), f"{self.name}-{name}")
                continue
            for value, part in table.groupby(self.apart):
                heading = {"heading": f"{text['heading']}, V = {value:,}"}
                figure = drawing[name](part.reset_index(drop=True))
                yield picture(text | heading, figure, f"{self.name}-{name}-{value}")

    def tables(self, found: dict[str, pd.DataFrame]) -> list[Table]:
        """The tables as they are, but for what is hidden, and with words before numbers."""
        sheets = []
        for name, table in found.items():
            whole = table.drop(columns=list(self.hidden), errors="ignore").drop_duplicates()
            words = [column for column in whole if not is_numeric_dtype(whole[column])]
            whole = whole[words + [column for column in whole if column not in words]]
            rows = [[cell_text(value) for value in row] for row in whole.itertuples(index=False)]
            sheets.append(Table(name, list(map(str, whole.columns)), rows, words=len(words)))
        return sheets


PAGES = {
    page.name: page
    for page in (
        TablesPage(
            "large", "Large vocabularies", "Vocabularies of thousands", LARGE, large_vocabulary, apart="vocabulary"
        ),
        TablesPage(
            "continuous",
            "Continuous tokens",
            "Continuous tokens",
            CONTINUOUS,
            continuous,
            claims=("cspd.", "published.cspd-", "published.full-blocks-"),
            hidden=("x", "density", "target"),  # the points of curves
        ),
        TablesPage(
            "draft-length",
            "Draft length",
            "What acceptance rates at several draft lengths say",
            DRAFT_LENGTH,
            draft_length,
            claims=("cspd.draft-length",),
            hidden=("main",),
        ),
    )
}


def build(page: TablesPage, out: Path, claims: Sequence[dict[str, Any]], entries: Entries) -> None:
    """Write a page alone to ``out``, with links to ``entries``; without tables one of an earlier run goes away.

    Raises as :meth:`~reports.data.tables.Saved.read`.
    """
    found = page.saved.read(out)
    if found:
        use_style()
        save(out / page.file, page.html(found, claims, [*entries, (page.title, page.file)], inline))
    else:
        remove(out / page.file)
