"""The page on continuous tokens: the measurements of ``simlab verify``, beside CSpD's claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from reports.data.tables import CONTINUOUS, continuous_path, read_continuous
from reports.figures import continuous as figures
from reports.figures.plot_style import use_style
from reports.pages.elements import Table, drawings, figure_name, picture, texts
from reports.pages.study_tables import cell_text
from reports.site.gallery import Draw, inline
from reports.site.html import Entries, remove, save, template

FILE, COMMAND = "continuous.html", "simlab verify"
CLAIMS = ("cspd.", "published.cspd-", "published.full-blocks-")  # how the ids of the claims on this page begin
DRAW = drawings(figures, "continuous")
CURVES = ("x", "density", "target")  # of laws, whose table on the page is without them


def build(out: Path, claims: Sequence[dict[str, Any]], entries: Entries) -> None:
    """Write the page alone to ``out``, with links to ``entries``; without tables one of an earlier run goes away.

    Raises as :func:`~reports.data.tables.read_continuous`.
    """
    found = read_continuous(out)
    if found:
        use_style()
        save(out / FILE, page(found, claims, [*entries, ("Continuous tokens", FILE)], inline))
    else:
        remove(out / FILE)


def page(found: dict[str, pd.DataFrame], claims: Sequence[dict[str, Any]], entries: Entries, draw: Draw) -> str:
    """The page as HTML; of ``claims``, those of ``verdicts.json``, it shows the ones about CSpD."""
    text = texts()["continuous"]
    return template("continuous.html").render(
        heading="Continuous tokens",
        lead=text["lead"].strip().split("\n\n"),
        pictures=[
            picture(each, DRAW[figure_name(each)](found[each["table"]]), f"continuous-{figure_name(each)}")
            for each in text["pictures"]
            if each["table"] in found
        ],
        claims=[claim for claim in claims if claim["id"].startswith(CLAIMS)],
        tables=tables(found),
        missing=[continuous_path(Path(), name).name for name in CONTINUOUS if name not in found],
        command=COMMAND,
        draw=draw,
        entries=entries,
        here=FILE,
    )


def tables(found: dict[str, pd.DataFrame]) -> list[Table]:
    """The tables as they are, but for the points of curves, and with words before numbers."""
    tables = []
    for name, table in found.items():
        whole = table.drop(columns=list(CURVES), errors="ignore").drop_duplicates()
        words = [column for column in whole if not is_numeric_dtype(whole[column])]
        whole = whole[words + [column for column in whole if column not in words]]
        rows = [[cell_text(value) for value in row] for row in whole.itertuples(index=False)]
        tables.append(Table(name, list(map(str, whole.columns)), rows, words=len(words)))
    return tables
