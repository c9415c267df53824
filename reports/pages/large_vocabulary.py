"""The page on vocabularies of thousands, drawn from the tables in ``large/``."""

from __future__ import annotations

import pandas as pd

from reports.figures import large_vocabulary as figures
from reports.pages.elements import Table, drawings, figure_name, picture, texts
from reports.pages.study_tables import cell_text
from reports.site.gallery import Draw
from reports.site.html import Entries, template
from theory.published.ledger import published

FILE = "large.html"
DRAW = drawings(figures, "large")


def page(found: dict[str, pd.DataFrame], entries: Entries, draw: Draw) -> str:
    """The page as HTML: the figures of every table, one for each vocabulary in it, and the tables."""
    text, ledger = texts()["large"], published()
    pictures = [
        picture(
            each | {"heading": f"{each['heading']}, V = {vocabulary:,}"},
            DRAW[figure_name(each)](part.reset_index(drop=True), ledger),
            f"{each['name']}-{vocabulary}",
        )
        for each in text["pictures"]
        if each["table"] in found
        for vocabulary, part in found[each["table"]].groupby("vocabulary")
    ]
    return template("large_vocabulary.html").render(
        heading="Vocabularies of thousands",
        lead=[text["lead"].strip()],
        pictures=pictures,
        tables=tables(found),
        draw=draw,
        entries=entries,
        here=FILE,
    )


def tables(found: dict[str, pd.DataFrame]) -> list[Table]:
    """The tables as they are."""
    return [
        Table(name, list(map(str, table.columns)), [[cell_text(value) for value in row] for row in table.to_numpy()])
        for name, table in found.items()
    ]
