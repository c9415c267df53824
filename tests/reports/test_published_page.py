"""The page on published numbers: drawn from verdicts and ledger alone, whole, and with links that lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments.cli import main as cli
from reports.pages import published as published_page
from reports.pages.report import build
from reports.site.html import GENERATOR
from tests.support.pages import Page, dead, empty
from theory.claims import CLAIMS
from theory.published.ledger import published

pytestmark = [pytest.mark.cli, pytest.mark.slow]

IDS = [id for id, claim in CLAIMS.items() if claim.paper == "published"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``simlab verify --paper published`` leaves."""
    folder = tmp_path_factory.mktemp("published")
    assert cli.main(["verify", "--paper", "published", "--out", str(folder)]) == 0
    return folder


def plain(text: str) -> str:
    """``text`` without formulas and without the spaces between words."""
    return re.sub(r"\s+|\$[^$]*\$", "", text)


def verdicts(out: Path) -> dict:
    return json.loads((out / "verdicts.json").read_text(encoding="utf-8"))


def test_every_claim_and_every_number_is_on_the_page(out: Path) -> None:
    path = out / "published.html"
    page, text = Page(path), path.read_text(encoding="utf-8")
    entries = verdicts(out)["claims"]
    assert [entry["id"] for entry in entries] == IDS
    for entry in entries:
        assert entry["id"].replace(".", "-") in page.anchors
        for piece in (entry["id"], entry["verdict"], entry["quote"], *entry["assumptions"]):
            assert plain(piece) in plain(page.text)
        for piece in (entry["statement"], entry["note"], "" if entry["parts"] else entry["argument"]):
            assert all(plain(words) in plain(page.text) for words in piece.split("$")[::2])
        if not entry["parts"]:
            assert all(piece["summary"] in page.text for piece in entry["evidence"])
    cells = dict(re.findall(r'id="line-(\d+)">\s*(?:<a [^>]*>)?([^<]*)', text))
    assert {int(line): cell.strip() for line, cell in cells.items()} == {row.line: row.printed for row in published()}


def test_links_lead_from_a_comparison_to_its_numbers_and_back(out: Path) -> None:
    page = Page(out / "published.html")
    assert dead(out / "published.html") == []
    row = published().one({"G": "50"}, paper="sjd-pac", method="gsd", metric="CLIP")
    assert f"#line-{row.line}" in page.links
    assert "#published-sjd-pac-baselines" in page.links
    assert "published.html" in Page(out / "report.html").links


def test_the_page_is_a_function_of_verdicts_and_ledger(out: Path) -> None:
    told, ledger = verdicts(out), published()
    text = published_page.page(told, ledger)
    assert text == published_page.page(told, ledger) == (out / "published.html").read_text(encoding="utf-8")
    first = ledger.rows[0]
    other = published_page.page(told, ledger.altered({first.line: 0.77}))
    assert other != text
    assert "0.77" in other


def test_numbers_are_coloured_where_a_counterexample_is_about_them() -> None:
    claim = {
        "id": "published.x",
        "parts": [],
        "evidence": [
            {"kind": "example", "summary": "fine", "example": {"a": {"printed": "1", "lines": [3]}}},
            {"kind": "counterexample", "summary": "not", "counterexample": {"b": {"printed": "2", "lines": [4, 5]}}},
            {"kind": "example", "summary": "no comparison", "example": {"gain": "1"}},
        ],
    }
    assert published_page.disputed([claim]) == {4: "published.x", 5: "published.x"}
    tables = published_page.pieces(claim)
    kinds = [(table.kind, table.columns) for table in tables]
    assert kinds == [("example", ["printed"]), ("counterexample", ["printed"]), ("example", [])]
    assert published_page.disputed([claim | {"parts": ["published.x.part"]}]) == {}
    assert tables[1].rows == [("b", ["2"], [4, 5])]


def test_without_the_ledgers_claims_there_is_no_page_and_that_of_an_earlier_run_goes(tmp_path: Path) -> None:
    path = empty(tmp_path) / "published.html"
    path.write_text("the reader's own", encoding="utf-8")
    build(tmp_path)
    assert path.exists()
    path.write_text(GENERATOR, encoding="utf-8")
    build(tmp_path)
    assert not path.exists()
    assert "published.html" not in (tmp_path / "report.html").read_text(encoding="utf-8")
