"""The pages on continuous tokens and on draft lengths: drawn from saved tables, and what is drawn is what was measured.

That a damaged table is named, and that a page without tables goes, is in tests/reports/test_pages.py.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.measurements import continuous as continuous_measured
from experiments.measurements import continuous_tables
from experiments.measurements import draft_length as lengths_measured
from experiments.results import write_table
from reports.data.tables import CONTINUOUS, DRAFT_LENGTH, continuous_path, draft_length_path
from reports.figures import continuous as continuous_figures
from reports.figures import draft_length as lengths_figures
from reports.figures.plot_style import use_style
from reports.pages import continuous as continuous_page
from reports.pages import draft_length as lengths_page
from reports.pages.elements import texts
from reports.site import build as site
from tests.support.pages import Page, dead, empty
from tests.support.tiny_runs import continuous, draft_length

pytestmark = [pytest.mark.cli, pytest.mark.usefixtures("own_results_alone")]

PAGES: dict[str, tuple[ModuleType, Any, Any]] = {
    "continuous": (continuous_page, continuous_path, continuous),
    "draft-length": (lengths_page, draft_length_path, draft_length),
}
SHOWN = {  # claims that a page shows
    "continuous": {"cspd.output-law", "cspd.draft-length", "cspd.residual", "published.cspd-walltime"},
    "draft-length": {"cspd.draft-length"},
}
CLAIM: dict[str, Any] = {
    "source": "derived",
    "quote": "",
    "relation": "ours",
    "kind": "ours",
    "note": "",
    "argument": "",
}
CLAIM |= {"assumptions": [], "parts": [], "evidence": [], "where": "4.2", "verdict": "refuted"}
CLAIMS = [
    CLAIM | {"id": id, "paper": id.partition(".")[0], "statement": f"About {id}."}
    for id in ("cspd.output-law", "cspd.draft-length", "cspd.residual", "published.cspd-walltime", "gsd.speed")
]


def saved(name: str, folder: Path) -> Path:
    """All tables of a page, small, and some verdicts."""
    _, path, tables = PAGES[name]
    for table, frame in tables().items():
        write_table(path(folder, table), frame)
    return empty(folder, claims=CLAIMS)


@pytest.mark.parametrize("name", [pytest.param("continuous", marks=pytest.mark.slow), "draft-length"])
def test_the_page_is_whole(name: str, tmp_path: Path) -> None:
    built = site.build(saved(name, tmp_path))
    assert not built.problems
    path = tmp_path / PAGES[name][0].FILE
    page, text = Page(path), path.read_text(encoding="utf-8")
    for told in texts()[name]["pictures"]:
        assert f"{name}-{told['table']}" in page.anchors
        assert f'aria-label="{told["heading"]}"' in text
    shown = {claim["id"] for claim in CLAIMS if claim["statement"] in page.text}
    assert shown == SHOWN[name]
    assert {f"claims/{id}.html" for id in shown} <= set(page.links)
    assert dead(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_table_that_is_missing_is_told_of_and_without_tables_the_page_goes(name: str, tmp_path: Path) -> None:
    """Beside the report, as `simlab verify` leaves it; and on the site without verdicts."""
    module, table_path, _ = PAGES[name]
    first, *others = [table_path(tmp_path, table) for table in module.DRAW]
    saved(name, tmp_path)
    first.unlink()
    assert not site.build(tmp_path).problems
    assert f"{first.name} is missing" in Page(tmp_path / module.FILE).text
    (tmp_path / module.FILE).unlink()
    module.build(tmp_path, CLAIMS, [])
    assert f"{first.name} is missing" in Page(tmp_path / module.FILE).text
    (tmp_path / "verdicts.json").unlink()
    site.build(tmp_path)
    assert "simlab verify" in Page(tmp_path / module.FILE).text
    for path in others:
        path.unlink()
    module.build(tmp_path, CLAIMS, [])
    assert not (tmp_path / module.FILE).exists()


def test_points_of_curves_are_not_in_the_table_of_laws() -> None:
    found = continuous()
    sheet = continuous_page.tables(found)[0]
    assert sheet.heading == "laws"
    assert len(sheet.rows) == found["laws"][["pair", "rule"]].drop_duplicates().shape[0]
    assert not set(continuous_page.CURVES) & set(sheet.columns)
    assert (sheet.columns[: sheet.words], sheet.words) == (["pair", "rule"], 2)
    assert not any(cell.replace(".", "").isdigit() for row in sheet.rows for cell in row[: sheet.words])


# Figures on continuous tokens --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    """What is measured, but for what takes more than a second."""
    use_style()
    return {name: continuous_measured.measure(name, 0) for name in ("acceptance", "dimensions", "trials", "walltime")}


@pytest.mark.slow
def test_what_is_measured_is_what_is_drawn(tables: dict[str, pd.DataFrame]) -> None:
    assert {*continuous_measured.MEASURED, "tables"} == set(CONTINUOUS) <= set(continuous_page.DRAW)
    for name, table in tables.items():
        assert set(CONTINUOUS[name]) <= set(table.columns)
        assert continuous_page.DRAW[name](table).axes


def test_printed_rates_and_those_of_processes_are_drawn() -> None:
    table = continuous()["tables"]
    rates, prefill = continuous_figures.tables(table).axes
    own = table[table["table"] == "Table 4"]
    assert sum(len(line.get_xdata()) for line in rates.lines if line.get_marker() == "o") == len(own)  # type: ignore[arg-type]
    drawn = {float(y) for line in prefill.lines for y in line.get_ydata()}  # type: ignore[union-attr]
    for column in ("found", "printed"):
        assert drawn >= set(table.loc[table["table"] == "Table 5", column])


@pytest.mark.slow
def test_a_law_is_drawn_as_it_is() -> None:
    use_style()
    table = continuous()["laws"]
    own = table[(table["pair"] == "less noise") & (table["rule"] == "published code")]
    figure = continuous_figures.laws(table)
    ax = figure.axes[7]
    assert ax.lines[0].get_ydata().tolist() == own["density"].tolist()  # type: ignore[union-attr]
    assert ax.texts[0].get_text() == "TV 0.500, 0.50 unfinished"
    assert [axes.get_title(loc="left") for axes in figure.axes[:4]] == list(continuous_figures.RULES)


@pytest.mark.slow
def test_where_sharing_hurts_is_shaded(tables: dict[str, pd.DataFrame]) -> None:
    table = tables["acceptance"]
    figure = continuous_figures.acceptance(table)
    for ax, (_, own) in zip(figure.axes, table.groupby("mismatch", sort=False), strict=True):
        hurts = own.loc[own["own"] > own["shared"], "gap"]
        corners = ax.collections[0].get_paths()[0].vertices[:, 0]  # type: ignore[index]
        assert (corners.min(), corners.max()) == (hurts.min(), hurts.max())


@pytest.mark.slow
def test_what_is_printed_is_drawn_where_it_is_printed(tables: dict[str, pd.DataFrame]) -> None:
    table = tables["walltime"]
    figure = continuous_figures.walltime(table)
    diamonds = [line for line in figure.axes[0].lines if line.get_marker() == "D" and len(line.get_xdata())]  # type: ignore[arg-type]
    own = table[(table["table"] == "1") & (table["target"] == "MAR-H")]
    drawn = sorted(y for line in diamonds for y in line.get_ydata())  # type: ignore[union-attr]
    assert drawn == sorted(own["printed"])


@pytest.mark.slow
def test_printed_rates_stand_where_they_are_printed() -> None:
    """Table 5 at gamma = 32 and 15 %: printed 0.33; and the table of print holds a row for each number it is about."""
    table = continuous_tables.tables(0)
    middle = continuous_figures.tables(table).axes[1]
    heights = {round(float(y), 3) for line in middle.lines[1::2] for y in line.get_ydata()}  # type: ignore[union-attr]
    assert 0.33 in heights
    assert table["table"].value_counts().to_dict() == {"Table 5": 12, "Table 4": 8, "Table 6": 6}
    assert set(table["meets"]) == {"number", "no", "fitted"}
    met = table[table["meets"] == "number"]
    assert (met["found"] - met["printed"]).abs().max() < 0.05


# Figures on draft lengths ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lengths() -> dict[str, pd.DataFrame]:
    use_style()
    return {"printed": lengths_measured.printed(), "rates": lengths_measured.rates(0, count=64)}


def test_draft_lengths_that_are_measured_are_drawn(lengths: dict[str, pd.DataFrame]) -> None:
    assert set(lengths_measured.MEASURED) == set(DRAFT_LENGTH) <= set(lengths_page.DRAW)
    for name, table in lengths.items():
        assert set(DRAFT_LENGTH[name]) == set(table.columns)
    axes = lengths_figures.printed(lengths["printed"]).axes
    bars = sum(len(lines.get_segments()) for ax in axes for lines in ax.collections)  # type: ignore[attr-defined]
    assert bars == len(lengths["printed"]) == 80
    rates = lengths_figures.rates(lengths["rates"])
    drawn = {float(y) for ax in rates.axes for line in ax.lines for y in line.get_ydata()}  # type: ignore[union-attr]
    assert drawn >= set(lengths["rates"]["exact"]) | set(lengths["rates"]["printed"])


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
