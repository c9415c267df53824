"""The page on continuous tokens: drawn from what ``simlab verify`` has measured, beside the claims of CSpD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from pandas.api.types import is_numeric_dtype

from experiments.results import write
from reports.data.runs import Unreadable, read_table
from reports.figures import basic as figures
from reports.figures import continuous as continuous_figures
from reports.figures.continuous import COLUMNS
from reports.pages.studies import texts
from reports.pages.study import Picture, Sheet
from reports.pages.study_tables import shown
from reports.site.gallery import Draw, inline
from reports.site.html import template

FILE, COMMAND = "continuous.html", "simlab verify"
MARK = '<meta name="generator" content="simlab continuous page">'
CLAIMS = ("cspd.", "published.cspd-", "published.full-blocks-")  # how the ids of claims told here begin
DRAW: dict[str, Callable[[pd.DataFrame], Figure]] = {
    "laws": continuous_figures.laws,
    "acceptance": continuous_figures.acceptance,
    "dimensions": continuous_figures.dimensions,
    "trials": continuous_figures.trials,
    "sequences": continuous_figures.sequences,
    "walltime": continuous_figures.walltime,
    "tables": continuous_figures.tables,
}
CURVES = ("x", "density", "target")  # of laws, whose tables are told without them


def path_of(out: Path, name: str) -> Path:
    """Where the table ``name`` is saved."""
    return out / f"continuous-{name}.parquet"


def tables(out: Path) -> dict[str, pd.DataFrame]:
    """The tables there are; raises :class:`~reports.data.runs.Unreadable` for one that cannot be read, naming it."""
    found = {}
    for name in DRAW:
        path = path_of(out, name)
        if not path.exists():
            continue
        found[name] = read_table(path, COMMAND)
        missing = set(COLUMNS[name]) - set(found[name].columns)
        if missing:
            lacks = ", ".join(sorted(missing))
            raise Unreadable(f"{path} cannot be read: it lacks {lacks}; make it again with {COMMAND}")
    return found


def build(out: Path, claims: Sequence[dict[str, Any]], entries: Sequence[tuple[str, str]]) -> None:
    """Write the page alone to ``out``, with links to ``entries``; without tables one of an earlier run goes away.

    Raises as :func:`tables`.
    """
    path, found = out / FILE, tables(out)
    if found:
        figures.style()
        text = page(found, claims, [*entries, ("Continuous tokens", FILE)], inline, MARK)
        write(path, partial(Path.write_text, data=text, encoding="utf-8"))
    elif path.exists() and MARK in path.read_text(encoding="utf-8"):
        path.unlink()


def page(
    found: dict[str, pd.DataFrame],
    claims: Sequence[dict[str, Any]],
    entries: Sequence[tuple[str, str]],
    draw: Draw,
    mark: str,
) -> str:
    """The page as HTML; ``claims`` are those of ``verdicts.json``, of which it tells those about CSpD."""
    told = texts()["continuous"]
    shown = pictures(found, told["pictures"])
    return template("continuous.html").render(
        lead=told["lead"].strip().split("\n\n"),
        pictures=shown,
        drawings={each.name: draw(each.name, each.figure, each.heading) for each in shown},
        claims=[claim for claim in claims if claim["id"].startswith(CLAIMS)],
        sheets=folded(found),
        missing=[path_of(Path(), name).name for name in DRAW if name not in found],
        command=COMMAND,
        entries=entries,
        here=FILE,
        mark=mark,
    )


def pictures(found: dict[str, pd.DataFrame], told: list[dict[str, str]]) -> list[Picture]:
    """The figure of every table there is, with what ``told`` says of it."""
    return [
        Picture(
            f"continuous-{text['table']}",
            text["heading"],
            DRAW[text["table"]](found[text["table"]]),
            text["caption"].strip(),
            text.get("counterpart", ""),
        )
        for text in told
        if text["table"] in found
    ]


def folded(found: dict[str, pd.DataFrame]) -> list[Sheet]:
    """The tables as they are, but for the points of curves, and with words before numbers."""
    sheets = []
    for name, table in found.items():
        whole = table.drop(columns=list(CURVES), errors="ignore").drop_duplicates()
        words = [column for column in whole if not is_numeric_dtype(whole[column])]
        whole = whole[words + [column for column in whole if column not in words]]
        rows = [[shown(value) for value in row] for row in whole.itertuples(index=False)]
        sheets.append(Sheet(name, list(map(str, whole.columns)), rows, words=len(words)))
    return sheets
