"""A page a claim: what it says, that every link on it and on the report leads somewhere, and where notebooks are."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from experiments.cli import main as cli
from experiments.cli.terminal import plain_math
from experiments.verification.claims import with_parts
from reports.pages import claims as claim_pages
from reports.pages.claims import notebook
from reports.pages.report import build
from reports.site import examples
from reports.site.html import GENERATOR, mathematics
from theory.claims import CLAIMS

pytestmark = pytest.mark.cli


class Page(HTMLParser):
    """The links and the anchors of a page, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tags.add(tag)
        if tag == "a" and told.get("href"):
            self.links.append(str(told["href"]))
        if told.get("id"):
            self.anchors.add(str(told["id"]))

    def handle_data(self, data: str) -> None:
        self.text += data


def dead(path: Path) -> list[str]:
    """The links of the page at ``path`` that lead nowhere; those to papers are not followed."""
    found = []
    for link in Page(path).links:
        if link.startswith("https://arxiv.org/abs/"):
            continue
        file, _, anchor = link.partition("#")
        goal = (path.parent / file).resolve() if file else path
        if not goal.exists() or (anchor and anchor not in Page(goal).anchors):
            found.append(link)
    return found


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a claim with parts, a lone one, and one of the lossy rules that has parts of parts."""
    folder = tmp_path_factory.mktemp("pages")
    ids = with_parts(["gsd.naive-lossy", "leviathan.frontier", "sjd.greedy"])
    document = {
        "simlab": "0",
        "seed": 7,
        "failed": {"sjd.greedy": "Traceback\nCheckFailed: it does not see <wrong> rules"},
        "headlines": [
            {"paper": "sjd", "claim": "sjd.greedy", "says": "$x$ is exact", "verdict": "holds", "why": "so", "mend": ""}
        ],
        "results": [{"claim": "leviathan.frontier", "title": "a line", "text": "none above", "verdict": "holds"}],
        "claims": [
            {
                "id": id,
                "paper": CLAIMS[id].paper,
                "source": "paper",
                "where": CLAIMS[id].source.where,
                "quote": "we find that rows are wide",
                "statement": "every row has $\\sum_x p(x) \\ge \\frac{1}{2}$",
                "relation": "formalised",
                "kind": "stated",
                "note": "wide is read as at least half",
                "verdict": "refuted",
                "assumptions": ["rows without zeros"],
                "parts": list(CLAIMS[id].parts),
                "argument": CLAIMS[id].proof,
                "witness": "",
                "evidence": [
                    {
                        "kind": "counterexample",
                        "summary": f"numbers of {id}",
                        "counterexample": {
                            "p": [0.5, 0.5],
                            "q": [0.25, 0.75],
                            "labels": [0, 1],
                            "exact": {"p": ["1/2", "1/2"], "q": ["1/4", "3/4"]},
                        },
                    }
                ],
            }
            for id in ids
        ],
    }
    (folder / "verdicts.json").write_text(json.dumps(document), encoding="utf-8")
    manifest = {"measured": False, "sequences": 0, "versions": {}, "seconds": {"all": 1.0}}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    build(folder)
    return folder


def claims(out: Path) -> list[dict]:
    return json.loads((out / "verdicts.json").read_text(encoding="utf-8"))["claims"]


def test_a_page_says_all_there_is_about_its_claim(out: Path) -> None:
    for claim in claims(out):
        page = Page(out / "claims" / f"{claim['id']}.html")
        pieces = (claim["id"], claim["verdict"], claim["where"], claim["quote"], "every row has")
        for piece in (*pieces, f"numbers of {claim['id']}", "3/4", "rows without zeros", f"--claim {claim['id']}"):
            assert piece in page.text
        assert "The statement is formalised. Wide is read" in page.text
        assert "$" not in page.text
        assert {"math", "svg", "blockquote"} <= page.tags
        assert [link for link in page.links if link == "../report.html#" + claim["id"].replace(".", "-")]
        for part in claim["parts"]:
            assert f"{part}.html" in page.links
            assert f"{claim['id']}.html" in Page(out / "claims" / f"{part}.html").links
    assert "it does not see <wrong> rules" in Page(out / "claims" / "sjd.greedy.html").text


@pytest.mark.parametrize("id", CLAIMS)
def test_the_mathematics_of_a_claim_can_be_set_on_pages_and_in_terminals(id: str) -> None:
    claim = CLAIMS[id]
    for text in (claim.statement, claim.source.note, claim.proof, *claim.assumptions):
        assert text.count("$") % 2 == 0
        assert "$" not in mathematics(text)
        assert not {"$", "\\"} & set(plain_math(text))


def test_a_formula_that_cannot_be_set_is_named() -> None:
    with pytest.raises(ValueError, match=r"frac"):
        mathematics(r"half is $\frac{1}{$")


def test_what_is_repeated_in_a_long_list_is_written_once() -> None:
    """Short lists stay as they are: 0 × 3 among six numbers would be read as a product."""
    assert examples.text(["1/40"] * 40) == "(1/40 × 40)"
    assert examples.text(["1/2", "0", "0", *["1/40"] * 20]) == "(1/2, 0, 0, 1/40 × 20)"
    assert examples.text([0, 0, 0, 0.5, 0.25, 0.25]) == "(0, 0, 0, 0.5, 0.25, 0.25)"


def test_every_link_leads_somewhere(out: Path, tmp_path: Path) -> None:
    pages = [out / "report.html", *(out / "claims").glob("*.html")]
    assert len(pages) == len(claims(out)) + 1
    for page in pages:
        assert dead(page) == []
    report = Page(out / "report.html")
    for claim in claims(out):
        assert f"claims/{claim['id']}.html" in report.links
    lost = tmp_path / "lost.html"
    lost.write_text('<a href="nowhere.html">x</a><a id="here" href="#here">y</a><a href="#there">z</a>')
    assert dead(lost) == ["nowhere.html", "#there"]


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


def test_pages_of_claims_that_are_gone_go_too(out: Path) -> None:
    stale, own = out / "claims" / "gsd.gone.html", out / "claims" / "mine.html"
    stale.write_text(f"<html>{GENERATOR}</html>", encoding="utf-8")
    own.write_text("<html>a page of the reader's</html>", encoding="utf-8")
    build(out)
    assert not stale.exists()
    assert own.exists()
    own.unlink()


def test_a_notebook_is_linked_inside_the_checkout_only(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    (root / "notebooks").mkdir(parents=True)
    (root / "notebooks" / "gsd.py").touch()
    inside, outside = root / "out" / "claims", tmp_path / "elsewhere" / "claims"
    assert notebook("gsd", inside, root) == {"path": "notebooks/gsd.py", "link": "../../notebooks/gsd.py"}
    assert notebook("gsd", root / "a" / "b" / "claims", root) == {
        "path": "notebooks/gsd.py",
        "link": "../../../notebooks/gsd.py",
    }
    assert notebook("gsd", outside, root) == {"path": "notebooks/gsd.py", "link": None}
    assert notebook("sjd", inside, root) == {"path": "notebooks/sjd.py", "link": None}  # not there
    assert notebook("another paper", inside, root) is None


def test_notebooks_that_are_named_are_there() -> None:
    there = {path.name for path in (claim_pages.ROOT / "notebooks").glob("*.py")}
    assert there & set(claim_pages.NOTEBOOKS.values())
    assert set(claim_pages.NOTEBOOKS) & {claim.paper for claim in CLAIMS.values()}


@pytest.mark.slow
def test_verify_writes_the_pages(tmp_path: Path) -> None:
    assert cli.main(["verify", "--claim", "gsd.accumulation", "--out", str(tmp_path)]) == 0
    ids = with_parts(["gsd.accumulation"])
    assert {path.stem for path in (tmp_path / "claims").glob("*.html")} == set(ids)
    assert dead(tmp_path / "claims" / "gsd.accumulation.html") == []
