"""The pages of saved tables, and that they show what is measured.

That each page is whole, that a damaged table is named, and that a page without tables goes, is in
tests/reports/test_pages.py; that figures are functions of their tables, in tests/reports/test_figures.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.measurements import continuous, continuous_tables, draft_length, large_vocabulary
from experiments.results import write_table
from reports.data.tables import CONTINUOUS, DRAFT_LENGTH
from reports.figures.plot_style import use_style
from reports.pages import report
from reports.pages.elements import drawings
from reports.pages.tables import PAGES, build
from reports.site import build as site
from reports.site.html import GENERATOR
from tests.support.pages import Page, empty, write
from tests.support.tiny_runs import TABLES

pytestmark = [pytest.mark.cli, pytest.mark.usefixtures("own_pages_alone")]


def saved(name: str, folder: Path) -> Path:
    """All tables of a page, small, and verdicts on nothing."""
    for table, frame in TABLES[name]().items():
        write_table(PAGES[name].saved.path(folder, table), frame)
    return empty(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["continuous", "draft-length"])
def test_a_table_that_is_missing_is_told_of_and_without_tables_the_page_goes(name: str, tmp_path: Path) -> None:
    """Beside the report, as `simlab verify` leaves it; and on the site without verdicts."""
    own = PAGES[name]
    path, (first, *others) = tmp_path / own.file, [own.saved.path(tmp_path, table) for table in own.saved.columns]
    saved(name, tmp_path)
    first.unlink()
    assert not site.build(tmp_path).problems
    assert first.name in Page(path).text
    path.unlink()
    build(own, tmp_path, [], [])
    assert first.name in Page(path).text
    (tmp_path / "verdicts.json").unlink()
    site.build(tmp_path)
    assert "simlab verify" in Page(path).text
    for other in others:
        other.unlink()
    build(own, tmp_path, [], [])
    assert not path.exists()


ARE_STALE = report.are_stale


@pytest.mark.slow
def test_tables_of_an_earlier_run_are_not_drawn_as_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`empty` leaves a manifest that says that nothing was measured."""
    path = tmp_path / PAGES["draft-length"].file
    saved("draft-length", tmp_path)
    monkeypatch.setattr(report, "are_stale", ARE_STALE)
    for draw in (site.build, report.build):
        path.write_text(GENERATOR, encoding="utf-8")
        draw(tmp_path)
        assert not path.exists()
    write(tmp_path / "manifest.json", {"measured": True})
    assert not ARE_STALE(tmp_path)
    (tmp_path / "manifest.json").unlink()
    assert not ARE_STALE(tmp_path)


@pytest.mark.parametrize("name", PAGES)
def test_words_stand_before_numbers_and_every_row_of_a_table_once(name: str) -> None:
    found = TABLES[name]()
    for sheet, table in zip(PAGES[name].tables(found), found.values(), strict=True):
        assert set(sheet.columns) == set(table.columns) - set(PAGES[name].hidden)
        assert len(sheet.rows) == len({tuple(row) for row in sheet.rows}) <= len(table)
        assert [table[column].dtype.kind in "biuf" for column in sheet.columns] == sorted(
            table[column].dtype.kind in "biuf" for column in sheet.columns
        )
        assert table[sheet.columns[sheet.words]].dtype.kind in "biuf"


# What is measured -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured() -> dict[str, pd.DataFrame]:
    """Of continuous tokens, but for what takes more than a second."""
    return {name: continuous.measure(name, 0) for name in ("acceptance", "dimensions", "trials", "walltime")}


@pytest.fixture(scope="module")
def lengths() -> dict[str, pd.DataFrame]:
    return {"printed": draft_length.printed(), "rates": draft_length.rates(0, count=64)}


@pytest.mark.slow
def test_what_is_measured_is_what_is_drawn(measured: dict[str, pd.DataFrame], lengths: dict[str, pd.DataFrame]) -> None:
    use_style()
    assert {*continuous.MEASURED, "tables"} == set(CONTINUOUS.columns)
    assert set(draft_length.MEASURED) == set(DRAFT_LENGTH.columns)
    large = {
        "naive": large_vocabulary.naive(128, 1, rows=["flat"]),
        "neighbours": large_vocabulary.neighbours(128, 1, rows=["flat"]),
    }
    for page, found in (("continuous", measured), ("draft-length", lengths), ("large", large)):
        draw = drawings(PAGES[page].figures, page)
        for name, table in found.items():
            assert set(PAGES[page].saved.columns[name]) <= set(table.columns)
            assert draw[name](table).axes


@pytest.mark.slow
def test_printed_rates_are_met_where_that_is_said() -> None:
    table = continuous_tables.tables(0)
    assert table["table"].value_counts().to_dict() == {"Table 5": 12, "Table 4": 8, "Table 6": 6}
    assert set(table["meets"]) == {"number", "no", "fitted"}
    met = table[table["meets"] == "number"]
    assert (met["found"] - met["printed"]).abs().max() < 0.05


def test_simulated_rates_are_the_exact_ones(lengths: dict[str, pd.DataFrame]) -> None:
    table = lengths["rates"]
    away = (table["simulated"] - table["exact"]) / table["error"]
    assert away.abs().max() < 7, "48 rates of few sequences, far below 1e-6"
    assert (table["error"] < 0.02).all()
    other = table["exact"].to_numpy()[np.r_[4 : len(table), 0:4]]
    assert ((table["simulated"] - other) / table["error"]).abs().max() > 7, "another pair is told apart"


def test_rates_of_verified_drafts_hardly_move_and_shares_fall_by_more_than_printed(
    lengths: dict[str, pd.DataFrame],
) -> None:
    ends = lengths["rates"].pivot(index=["column", "reading"], columns="gamma", values=["exact", "printed"])
    fall = ends.xs(32, axis=1, level="gamma") / ends.xs(4, axis=1, level="gamma")
    assert (fall.xs("of verified drafts", level="reading")["exact"] > 0.99).all()
    shares = fall.xs("of all drafts", level="reading")
    assert (shares["exact"] < shares["printed"]).all()


@pytest.mark.parametrize("nothing", [np.nan, None, pd.NA, pd.NaT])
def test_a_number_that_is_not_there_is_a_dash(nothing: object) -> None:
    """As the costs that CSpD does not print."""
    table = pd.DataFrame({"draft": ["MAR-B", "MAR-L"], "cost": pd.Series([nothing, 0.38], dtype="object")})
    (sheet,) = PAGES["continuous"].tables({"walltime": table.astype({"cost": "float"} if nothing is np.nan else {})})
    assert [list(row) for row in sheet.rows] == [["MAR-B", "–"], ["MAR-L", "0.38"]]
