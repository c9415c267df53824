"""The page on benchmarks, made from the file of ``simlab bench --json``.

Times are of one machine; what carries over to another are ratios within one run.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.data.documents import BENCHMARKS, RATIO
from reports.data.files import read_json
from reports.data.measured import FOLDER
from reports.figures.benchmarks import factors, reading
from reports.pages.elements import Table
from reports.site.gallery import Draw
from reports.site.html import Entries, template

FILE = "bench.html"
MANY = 10**4  # numbers from here on are written without decimals
EARLIER = FOLDER / "kernels" / "reading.json"  # shares that versions before had, of one machine
READING_ROWS = "reading the same rows"
# what ``experiments.bench.verifying.setting`` says
SETTING = r"V = (?P<V>\d+), (?P<cache>\w+) the cache \(.+ x\), (?P<blocks>\w+) blocks"


def page(document: dict[str, Any], entries: Entries, draw: Draw) -> str:
    """The page as HTML."""
    ratios = pd.DataFrame(document["ratios"], columns=sorted(RATIO))
    parts = []
    for name, own in ratios.groupby("benchmark", sort=False):
        figure = factors(own) if (own["kind"] == "times").any() else None
        parts.append({"name": name, "figure": figure, "table": _ratios(str(name), own)})
    earlier = read_json(EARLIER, BENCHMARKS.command)
    shares = _shares(earlier["shares"], ratios, document["machine"])
    return template("benchmarks.html").render(
        heading="What things cost",
        parts=parts,
        reading=reading(shares) if len(shares) else None,
        earlier=earlier["machine"],
        times=_times(document["times"]),
        facts=[(name, cell(value)) for name, value in document["machine"].items()],
        notes=document["notes"],
        draw=draw,
        entries=entries,
        here=FILE,
        command=BENCHMARKS.command,
    )


def _shares(earlier: list[dict[str, Any]], ratios: pd.DataFrame, machine: dict[str, Any]) -> pd.DataFrame:
    """Shares of reading alone, of versions before, of reading the same rows, and of this run.

    ``V, cache, blocks, simlab, value``; ``simlab`` says whose they are.
    """
    verified = ratios[ratios["benchmark"] == "verification"].set_index("what")
    own, rows = (verified.loc[verified["against"] == what, "value"] for what in ("reading alone", READING_ROWS))
    told = {READING_ROWS: own / rows, f"this run, {machine.get('simlab', '')}": own}
    these = [pd.DataFrame({"what": one.index, "value": one.to_numpy(), "simlab": whose}) for whose, one in told.items()]
    found = pd.concat([pd.DataFrame(earlier), *these], ignore_index=True)
    return found.join(found["what"].str.extract(SETTING)).dropna().astype({"V": int}) if len(own) else found[:0]


def _ratios(name: str, ratios: pd.DataFrame) -> Table:
    records = []
    for row in ratios.to_dict("records"):
        limits = [
            f"{sign} {_form(row, row[key])}"
            for key, sign in (("at_least", "≥"), ("at_most", "≤"))
            if pd.notna(row[key])
        ]
        named = {"setting": "what", "contender": "contender", "against": "against", "by": "per"}
        record = {column: str(row[key]) for column, key in named.items()}
        met = "" if not limits else "yes" if row["met"] else "no"
        records.append(record | {"ratio": _form(row, row["value"]), "wanted": ", ".join(limits), "met": met})
    return Table.of(name, records, words=4)


def _form(row: dict[Any, Any], value: float) -> str:
    forms = {
        "times": f"{value:.3g} ×",
        "share": f"{value:.0%}",
        "exponent": f"exponent {value:.2f}",
        "GiB": f"{value:.2f} GiB",
    }
    return forms.get(row["kind"], f"{value:.3g}")


def _times(times: list[dict[str, Any]]) -> Table:
    records = [
        {
            "benchmark": row["benchmark"],
            "setting": row["what"],
            "contender": row["contender"],
            "work": ", ".join(f"{cell(amount)} {unit}" for unit, amount in row["work"].items()),
            "fastest, ms": f"{1e3 * row['fastest']:.4g}",
            "cores busy": "" if row["cores"] is None else f"{row['cores']:.2f}",
            "turns": str(len(row["seconds"])),
        }
        for row in times
    ]
    return Table.of("All times", records, words=4)


def cell(value: Any) -> str:
    """A value as a reader wants it."""
    if value is None:
        return "–"
    if isinstance(value, float) and value < MANY:
        return f"{value:.4g}"
    return f"{value:,.0f}" if isinstance(value, int | float) and value >= MANY else str(value)
