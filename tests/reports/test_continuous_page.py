"""The page on continuous tokens: drawn from saved tables alone, telling what is missing or cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from experiments.measurements import continuous as measured
from experiments.measurements import continuous_tables
from experiments.results import write_table
from reports.data.tables import CONTINUOUS, continuous_path
from reports.figures import continuous as continuous_figures
from reports.figures.plot_style import use_style
from reports.pages import continuous as continuous_page
from reports.pages.continuous import DRAW, FILE
from reports.pages.elements import texts
from reports.site import build as site
from tests.reports.test_claim_pages import Page, dead
from tests.reports.test_site import cut, empty
from tests.support.tiny_runs import continuous

pytestmark = [pytest.mark.cli, pytest.mark.slow, pytest.mark.usefixtures("own_results_alone")]

CLAIM = {
    "source": "derived",
    "quote": "",
    "relation": "ours",
    "kind": "ours",
    "note": "",
    "assumptions": [],
    "parts": [],
    "argument": "",
    "evidence": [],
}
CLAIMS = [
    CLAIM
    | {"id": "cspd.output-law", "paper": "cspd", "where": "4.2", "statement": "It is kept.", "verdict": "refuted"},
    CLAIM
    | {
        "id": "published.cspd-walltime",
        "paper": "published",
        "where": "Table 1",
        "statement": "They agree.",
        "verdict": "refuted",
    },
    CLAIM | {"id": "gsd.speed", "paper": "gsd", "where": "5", "statement": "It is fast.", "verdict": "holds"},
]


def saved(folder: Path) -> Path:
    """All tables, small, and two verdicts."""
    empty(folder)
    for name, frame in continuous().items():
        write_table(continuous_path(folder, name), frame)
    verdicts = json.loads((folder / "verdicts.json").read_text(encoding="utf-8")) | {"claims": CLAIMS}
    (folder / "verdicts.json").write_text(json.dumps(verdicts), encoding="utf-8")
    return folder


def test_the_page_is_whole(tmp_path: Path) -> None:
    built = site.build(saved(tmp_path))
    assert not built.problems
    page, text = Page(tmp_path / FILE), (tmp_path / FILE).read_text(encoding="utf-8")
    assert FILE in built.pages
    assert dead(tmp_path / FILE) == []
    for told in texts()["continuous"]["pictures"]:
        assert told["heading"] in page.text
        assert f"continuous-{told['table']}" in page.anchors
        assert f'aria-label="{told["heading"]}"' in text
    for piece in ("It is kept.", "They agree.", "refuted", "per_rejection", "Leave Σ out"):
        assert piece in page.text
    assert "claims/cspd.output-law.html" in page.links
    assert "It is fast." not in page.text
    assert "Not drawn" not in page.text
    for other in ("index.html", "report.html"):
        assert dead(tmp_path / other) == []
    assert FILE in Page(tmp_path / "index.html").links


def test_it_stands_alone_beside_the_report(tmp_path: Path) -> None:
    """As `simlab verify` leaves it; and without tables it goes."""
    saved(tmp_path)
    continuous_page.build(tmp_path, CLAIMS, [])
    assert "What each rule emits" in Page(tmp_path / FILE).text
    for name in DRAW:
        continuous_path(tmp_path, name).unlink()
    continuous_page.build(tmp_path, CLAIMS, [])
    assert not (tmp_path / FILE).exists()


def test_a_table_that_is_missing_is_told_of(tmp_path: Path) -> None:
    continuous_path(saved(tmp_path), "trials").unlink()
    built = site.build(tmp_path)
    assert not built.problems
    text = Page(tmp_path / FILE).text
    assert "continuous-trials.parquet is missing; simlab verify makes it" in text
    assert "What a rejected token costs" not in text
    assert text.count("Not drawn") == 1


@pytest.mark.slow
def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = continuous_path(saved(tmp_path), "laws")
    write_table(path, continuous()["laws"].drop(columns="tv"))
    built = site.build(tmp_path)
    assert "continuous-laws.parquet cannot be read: it lacks tv; make it again with simlab verify" in built.problems[0]
    assert FILE not in built.pages
    cut(path)
    assert "continuous-laws.parquet cannot be read" in site.build(tmp_path).problems[0]
    assert "continuous-laws.parquet cannot be read" in Page(tmp_path / "index.html").text


@pytest.mark.slow
def test_without_tables_there_is_no_page_and_one_of_an_earlier_run_goes(tmp_path: Path) -> None:
    site.build(saved(tmp_path))
    for name in DRAW:
        continuous_path(tmp_path, name).unlink()
    assert FILE not in site.build(tmp_path).pages
    assert not (tmp_path / FILE).exists()
    assert FILE not in Page(tmp_path / "index.html").links


def test_without_verdicts_it_says_what_decides_the_claims(tmp_path: Path) -> None:
    write_table(continuous_path(tmp_path, "walltime"), continuous()["walltime"])
    site.build(tmp_path)
    assert "Not there: simlab verify decides the claims" in Page(tmp_path / FILE).text


def test_points_of_curves_are_not_in_the_table_of_laws() -> None:
    found = continuous()
    sheet = continuous_page.tables(found)[0]
    assert sheet.heading == "laws"
    assert len(sheet.rows) == found["laws"][["pair", "rule"]].drop_duplicates().shape[0]
    assert not set(continuous_page.CURVES) & set(sheet.columns)
    assert (sheet.columns[: sheet.words], sheet.words) == (["pair", "rule"], 2)
    assert not any(cell.replace(".", "").isdigit() for row in sheet.rows for cell in row[: sheet.words])


# The figures -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    """What is measured, but for what takes more than a second."""
    use_style()
    return {name: measured.measure(name, 0) for name in ("acceptance", "dimensions", "trials", "walltime")}


def test_what_is_measured_is_what_is_drawn(tables: dict[str, pd.DataFrame]) -> None:
    assert {*measured.MEASURED, "tables"} == set(DRAW) == set(CONTINUOUS)
    for name, table in tables.items():
        assert set(CONTINUOUS[name]) <= set(table.columns)
        assert DRAW[name](table).axes


def test_printed_rates_and_those_of_processes_are_drawn() -> None:
    table = continuous()["tables"]
    rates, prefill = continuous_figures.tables(table).axes
    own = table[table["table"] == "Table 4"]
    assert sum(len(line.get_xdata()) for line in rates.lines if line.get_marker() == "o") == len(own)  # type: ignore[arg-type]
    drawn = {float(y) for line in prefill.lines for y in line.get_ydata()}  # type: ignore[union-attr]
    for column in ("found", "printed"):
        assert drawn >= set(table.loc[table["table"] == "Table 5", column])


def test_a_law_is_drawn_as_it_is() -> None:
    use_style()
    table = continuous()["laws"]
    own = table[(table["pair"] == "less noise") & (table["rule"] == "published code")]
    figure = continuous_figures.laws(table)
    ax = figure.axes[7]
    assert ax.lines[0].get_ydata().tolist() == own["density"].tolist()  # type: ignore[union-attr]
    assert ax.texts[0].get_text() == "TV 0.500, 0.50 unfinished"
    assert [axes.get_title(loc="left") for axes in figure.axes[:4]] == list(continuous_figures.RULES)


def test_where_sharing_hurts_is_shaded(tables: dict[str, pd.DataFrame]) -> None:
    table = tables["acceptance"]
    figure = continuous_figures.acceptance(table)
    for ax, (_, own) in zip(figure.axes, table.groupby("mismatch", sort=False), strict=True):
        hurts = own.loc[own["own"] > own["shared"], "gap"]
        corners = ax.collections[0].get_paths()[0].vertices[:, 0]  # type: ignore[index]
        assert (corners.min(), corners.max()) == (hurts.min(), hurts.max())


def test_what_is_printed_is_drawn_where_it_is_printed(tables: dict[str, pd.DataFrame]) -> None:
    table = tables["walltime"]
    figure = continuous_figures.walltime(table)
    diamonds = [line for line in figure.axes[0].lines if line.get_marker() == "D" and len(line.get_xdata())]  # type: ignore[arg-type]
    own = table[(table["table"] == "1") & (table["target"] == "MAR-H")]
    drawn = sorted(y for line in diamonds for y in line.get_ydata())  # type: ignore[union-attr]
    assert drawn == sorted(own["printed"])


def test_printed_rates_stand_where_they_are_printed() -> None:
    """Table 5 at gamma = 32 and 15 %: printed 0.33; and the table of print holds a row for each number it is about."""
    table = continuous_tables.tables(0)
    figure = continuous_figures.tables(table)
    middle = figure.axes[1]
    heights = {round(float(y), 3) for line in middle.lines[1::2] for y in line.get_ydata()}  # type: ignore[union-attr]
    assert 0.33 in heights
    counts = table["table"].value_counts()
    assert counts.to_dict() == {"Table 5": 12, "Table 4": 8, "Table 6": 6}
    assert set(table["meets"]) == {"number", "no", "fitted"}
    met = table[table["meets"] == "number"]
    assert (met["found"] - met["printed"]).abs().max() < 0.05
