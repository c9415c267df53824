"""The page on acceptance rates by draft length: the measurements of ``simlab verify``, beside the claims on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reports.data.tables import DRAFT_LENGTH, draft_length_path, read_draft_length
from reports.figures import draft_length as figures
from reports.figures.plot_style import use_style
from reports.pages.elements import Table, drawings, figure_name, picture, texts
from reports.pages.study_tables import cell_text
from reports.site.gallery import Draw, inline
from reports.site.html import Entries, remove, save, template

FILE, COMMAND, TITLE = "draft-length.html", "simlab verify", "Draft length"
CLAIMS = "cspd.draft-length"  # how the ids of the claims on this page begin
DRAW = drawings(figures, "draft-length")
WORDS = {"printed": ("column", "reading"), "rates": ("column", "reading", "pair")}


def build(out: Path, claims: Sequence[dict[str, Any]], entries: Entries) -> None:
    """Write the page alone to ``out``, with links to ``entries``; without tables one of an earlier run goes away.

    Raises as :func:`~reports.data.tables.read_draft_length`.
    """
    found = read_draft_length(out)
    if found:
        use_style()
        save(out / FILE, page(found, claims, [*entries, (TITLE, FILE)], inline))
    else:
        remove(out / FILE)


def page(found: dict[str, pd.DataFrame], claims: Sequence[dict[str, Any]], entries: Entries, draw: Draw) -> str:
    """The page as HTML; of ``claims``, those of ``verdicts.json``, it shows the ones on draft lengths."""
    text = texts()["draft-length"]
    return template("draft_length.html").render(
        heading="What acceptance rates at several draft lengths say",
        lead=text["lead"].strip().split("\n\n"),
        derivation=text["derivation"].strip().split("\n\n"),
        pictures=[
            picture(each, DRAW[figure_name(each)](found[each["table"]]), f"draft-length-{figure_name(each)}")
            for each in text["pictures"]
            if each["table"] in found
        ],
        claims=[claim for claim in claims if claim["id"].startswith(CLAIMS)],
        tables=tables(found),
        missing=[draft_length_path(Path(), name).name for name in DRAFT_LENGTH if name not in found],
        command=COMMAND,
        draw=draw,
        entries=entries,
        here=FILE,
    )


def tables(found: dict[str, pd.DataFrame]) -> list[Table]:
    """The tables as they are, with words before numbers."""
    sheets = []
    for name, table in found.items():
        words = list(WORDS[name])
        whole = table[words + [column for column in table if column not in (*words, "main")]]
        rows = [[cell_text(value) for value in row] for row in whole.itertuples(index=False)]
        sheets.append(Table(name, list(map(str, whole.columns)), rows, words=len(words)))
    return sheets
