"""A page a claim: what it says, that every link on it and on the report leads somewhere, and where notebooks are."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main as cli
from experiments.terminal import plain_math
from experiments.verification.claims import with_parts
from reports.pages.claims import NOTEBOOKS, ROOT, notebook
from reports.pages.report import build
from reports.site.html import GENERATOR, mathematics
from tests.support.pages import Page, dead, empty
from theory.claims import CLAIMS
from theory.claims.moved import MOVED

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a claim with parts, a lone one, and one of the lossy rules that has parts of parts."""
    headline = {
        "paper": "sjd",
        "claim": "sjd.greedy",
        "says": "$x$ is exact",
        "verdict": "holds",
        "why": "",
        "mend": "",
    }
    folder = empty(
        tmp_path_factory.mktemp("pages"),
        moved={"gsd.old": "gsd.naive-lossy", "cspd.elsewhere": "cspd.path-rule"},
        failed={"sjd.greedy": "Traceback\nCheckFailed: it does not see <wrong> rules"},
        headlines=[headline],
        results=[{"claim": "leviathan.frontier", "title": "a line", "text": "none above", "verdict": "holds"}],
        claims=[entry(id) for id in with_parts(["gsd.naive-lossy", "leviathan.frontier", "sjd.greedy"])],
    )
    build(folder)
    return folder


def entry(id: str) -> dict[str, Any]:
    """A claim as it stands in ``verdicts.json``."""
    found = {"p": [0.5, 0.5], "q": [0.25, 0.75], "labels": [0, 1]}
    found |= {"exact": {"p": ["1/2", "1/2"], "q": ["1/4", "3/4"]}}
    return CLAIMS[id].described() | {
        "source": "paper", "quote": "we find that rows are wide", "relation": "formalised", "kind": "stated",
        "statement": "every row has $\\sum_x p(x) \\ge \\frac{1}{2}$", "note": "wide is read as at least half",
        "verdict": "refuted", "assumptions": ["rows without zeros"], "parts": list(CLAIMS[id].parts),
        "argument": CLAIMS[id].proof, "witness": "",
        "evidence": [{"kind": "counterexample", "summary": f"numbers of {id}", "counterexample": found}],
    }  # fmt: skip


def claims(out: Path) -> list[dict]:
    return json.loads((out / "verdicts.json").read_text(encoding="utf-8"))["claims"]


def test_a_page_says_all_there_is_about_its_claim(out: Path) -> None:
    for claim in claims(out):
        page = Page(out / "claims" / f"{claim['id']}.html")
        pieces = (claim[key] for key in ("id", "verdict", "where", "quote", "relation"))
        pieces = (*pieces, claim["note"][1:], *claim["assumptions"], "3/4", f"--claim {claim['id']}")
        for piece in (*pieces, claim["statement"].split("$")[0], f"numbers of {claim['id']}"):
            assert piece in page.text
        assert "$" not in page.text
        assert {"math", "svg", "blockquote"} <= page.tags
        assert [link for link in page.links if link == "../report.html#" + claim["id"].replace(".", "-")]
        for part in claim["parts"]:
            assert f"{part}.html" in page.links
            assert f"{claim['id']}.html" in Page(out / "claims" / f"{part}.html").links
    assert "it does not see <wrong> rules" in Page(out / "claims" / "sjd.greedy.html").text


def test_the_mathematics_of_every_claim_can_be_set_on_pages_and_in_terminals() -> None:
    for id, claim in CLAIMS.items():
        for text in (claim.statement, claim.source.note, claim.proof, *claim.assumptions):
            assert text.count("$") % 2 == 0, id
            assert "$" not in mathematics(text), id
            assert not {"$", "\\"} & set(plain_math(text)), id


def test_a_formula_that_cannot_be_set_is_named() -> None:
    with pytest.raises(ValueError, match=r"frac"):
        mathematics(r"half is $\frac{1}{$")


def test_every_link_leads_somewhere(out: Path) -> None:
    pages = [out / "report.html", *(out / "claims").glob("*.html")]
    assert len(pages) == len(claims(out)) + 2  # the report, and one that moved
    for page in pages:
        assert dead(page) == []
    report = Page(out / "report.html")
    for claim in claims(out):
        assert f"claims/{claim['id']}.html" in report.links


def test_a_filter_finds_what_it_asks_for_on_every_row(out: Path) -> None:
    text = (out / "report.html").read_text(encoding="utf-8")
    for claim in claims(out):
        anchor = claim["id"].replace(".", "-")
        given = f'data-paper="{claim["paper"]}" data-verdict="{claim["verdict"]}" data-kind="{claim["kind"]}"'
        assert f'id="{anchor}" {given}' in text
        assert f'<option value="{claim["paper"]}">' in text
        assert f'<option value="{claim["kind"]}">' in text
    assert "<option>refuted</option>" in text


def test_a_page_leads_to_its_neighbours_and_has_a_badge(out: Path) -> None:
    ids = [claim["id"] for claim in claims(out)]
    for before, id in pairwise(ids):
        assert f"{before}.html" in Page(out / "claims" / f"{id}.html").links
        assert f"{id}.html" in Page(out / "claims" / f"{before}.html").links
        assert f'aria-label="{id}: refuted"' in (out / "claims" / f"{id}.svg").read_text(encoding="utf-8")


def test_the_address_of_what_moved_leads_to_it(out: Path) -> None:
    page = out / "claims" / "gsd.old.html"
    assert 'content="0; url=gsd.naive-lossy.html"' in page.read_text(encoding="utf-8")
    assert "gsd.naive-lossy.html" in Page(page).links
    assert 'aria-label="gsd.old: refuted"' in page.with_suffix(".svg").read_text(encoding="utf-8")
    assert not (out / "claims" / "cspd.elsewhere.html").exists()  # what says it is not decided here


def test_pages_of_claims_that_are_gone_go_too(out: Path) -> None:
    stale, own = out / "claims" / "gsd.gone.html", out / "claims" / "mine.html"
    stale.write_text(f"<html>{GENERATOR}</html>", encoding="utf-8")
    own.write_text("<html>a page of the reader's</html>", encoding="utf-8")
    build(out)
    assert not stale.exists()
    assert own.exists()
    own.unlink()


def test_a_program_of_an_earlier_run_is_not_on_the_page_of_a_claim_that_has_none(tmp_path: Path) -> None:
    id = "gsd.naive-lossy"
    folder = empty(tmp_path, claims=[entry(id)])
    (folder / "claims").mkdir()
    (folder / "claims" / f"{id}.py").write_text("import scipy  # of an earlier run", encoding="utf-8")
    build(folder)
    assert "of an earlier run" not in (folder / "claims" / f"{id}.html").read_text(encoding="utf-8")
    empty(folder, claims=[entry(id) | {"witness": f"claims/{id}.py"}])
    build(folder)
    text = (folder / "claims" / f"{id}.html").read_text(encoding="utf-8")
    assert "of an earlier run" in text
    assert "NumPy and SciPy" in text


def test_a_notebook_is_linked_inside_the_checkout_only(tmp_path: Path) -> None:
    assert {path.name for path in (ROOT / "notebooks").glob("*.py")} & set(NOTEBOOKS.values())
    assert set(NOTEBOOKS) & {claim.paper for claim in CLAIMS.values()}
    root = tmp_path / "checkout"
    (root / "notebooks").mkdir(parents=True)
    (root / "notebooks" / "gsd.py").touch()
    inside, outside = root / "out" / "claims", tmp_path / "elsewhere" / "claims"
    assert notebook("gsd", inside, root) == {"path": "notebooks/gsd.py", "link": "../../notebooks/gsd.py"}
    assert notebook("gsd", outside, root) == {"path": "notebooks/gsd.py", "link": None}
    assert notebook("sjd", inside, root) == {"path": "notebooks/sjd.py", "link": None}  # not there
    assert notebook("another paper", inside, root) is None


@pytest.mark.slow
def test_verify_writes_the_pages(tmp_path: Path) -> None:
    assert cli.main(["verify", "--claim", "gsd.accumulation", "--out", str(tmp_path)]) == 0
    ids = with_parts(["gsd.accumulation"])
    moved = {id for id, now in MOVED.items() if now in ids}
    assert {path.stem for path in (tmp_path / "claims").glob("*.html")} == {*ids, *moved}
    assert dead(tmp_path / "claims" / "gsd.accumulation.html") == []
