"""The page on draft lengths: drawn from saved tables alone, and what it draws is what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.measurements import draft_length as measured
from experiments.results import write_table
from reports.data.tables import DRAFT_LENGTH, draft_length_path
from reports.figures import draft_length as figures
from reports.figures.plot_style import use_style
from reports.pages import draft_length as draft_length_page
from reports.pages.draft_length import DRAW, FILE
from reports.pages.elements import texts
from reports.site import build as site
from tests.reports.test_claim_pages import Page, dead
from tests.reports.test_continuous_page import CLAIM
from tests.reports.test_site import cut, empty
from tests.support.tiny_runs import draft_length

pytestmark = [pytest.mark.cli, pytest.mark.usefixtures("own_results_alone")]

CLAIMS = [
    CLAIM | {"id": id, "paper": "cspd", "where": "Table 1", "statement": f"About {id}.", "verdict": "refuted"}
    for id in ("cspd.draft-length", "cspd.residual")
]


def saved(folder: Path) -> Path:
    """All tables, small, and two verdicts."""
    empty(folder)
    for name, frame in draft_length().items():
        write_table(draft_length_path(folder, name), frame)
    verdicts = json.loads((folder / "verdicts.json").read_text(encoding="utf-8")) | {"claims": CLAIMS}
    (folder / "verdicts.json").write_text(json.dumps(verdicts), encoding="utf-8")
    return folder


def test_the_page_is_whole(tmp_path: Path) -> None:
    built = site.build(saved(tmp_path))
    assert not built.problems
    page = Page(tmp_path / FILE)
    assert FILE in built.pages
    assert dead(tmp_path / FILE) == []
    for told in texts()["draft-length"]["pictures"]:
        assert told["heading"] in page.text
        assert f"draft-length-{told['table']}" in page.anchors
    assert "About cspd.draft-length." in page.text
    assert "About cspd.residual." not in page.text
    assert FILE in Page(tmp_path / "index.html").links
    assert "α/(1 + α/γ)" in page.text


@pytest.mark.slow
def test_a_table_that_is_missing_or_damaged_is_told_of(tmp_path: Path) -> None:
    path = draft_length_path(saved(tmp_path), "rates")
    path.unlink()
    assert not site.build(tmp_path).problems
    assert "draft-length-rates.parquet is missing" in Page(tmp_path / FILE).text
    draft_length_page.build(tmp_path, CLAIMS, [])
    assert "Not drawn" in Page(tmp_path / FILE).text
    cut(draft_length_path(tmp_path, "printed"))
    assert "draft-length-printed.parquet cannot be read" in site.build(tmp_path).problems[0]
    draft_length_path(tmp_path, "printed").unlink()
    draft_length_page.build(tmp_path, CLAIMS, [])
    assert not (tmp_path / FILE).exists()


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    use_style()
    return {"printed": measured.printed(), "rates": measured.rates(0, count=64)}


def test_what_is_measured_is_what_is_drawn(tables: dict[str, pd.DataFrame]) -> None:
    assert set(measured.MEASURED) == set(DRAW) == set(DRAFT_LENGTH)
    for name, table in tables.items():
        assert set(DRAFT_LENGTH[name]) == set(table.columns)
    axes = figures.printed(tables["printed"]).axes
    bars = sum(len(lines.get_segments()) for ax in axes for lines in ax.collections)  # type: ignore[attr-defined]
    assert bars == len(tables["printed"]) == 80
    drawn = {float(y) for ax in figures.rates(tables["rates"]).axes for line in ax.lines for y in line.get_ydata()}  # type: ignore[union-attr]
    assert drawn >= set(tables["rates"]["exact"]) | set(tables["rates"]["printed"])


def test_simulated_rates_are_the_exact_ones(tables: dict[str, pd.DataFrame]) -> None:
    table = tables["rates"]
    away = (table["simulated"] - table["exact"]) / table["error"]
    assert away.abs().max() < 7, "48 rates of few sequences, far below 1e-6"
    assert (table["error"] < 0.02).all()
    other = table["exact"].to_numpy()[np.r_[4 : len(table), 0:4]]
    assert ((table["simulated"] - other) / table["error"]).abs().max() > 7, "another pair is told apart"


def test_rates_of_verified_drafts_hardly_move_and_shares_fall_by_more_than_printed(
    tables: dict[str, pd.DataFrame],
) -> None:
    ends = tables["rates"].pivot(index=["column", "reading"], columns="gamma", values=["exact", "printed"])
    fall = ends.xs(32, axis=1, level="gamma") / ends.xs(4, axis=1, level="gamma")
    assert (fall.xs("of verified drafts", level="reading")["exact"] > 0.99).all()
    shares = fall.xs("of all drafts", level="reading")
    assert (shares["exact"] < shares["printed"]).all()
