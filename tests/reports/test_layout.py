"""Pages in a browser: nothing is wider than its place, at any width, and questions are answered as in Python."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from experiments.verification.claims import entry, headlines
from reports.pages.report import build
from tests.support.browser import SPILLS, WIDER, WIDTHS, looked_at, needs_chromium, serious
from tests.support.pages import empty
from tests.support.searching import answers
from theory.claims import CLAIMS, Finding

pytestmark = [pytest.mark.cli, pytest.mark.slow, pytest.mark.browser, needs_chromium]

ROWS = """async (document, window) => {
  await new Promise(done => setTimeout(done, 3000));
  return [...document.querySelectorAll("tr[data-id]")].filter(row => !row.hidden).map(row => row.dataset.id);
}"""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report with every claim, as nobody has decided them."""
    claims = [entry(id, Finding("not-decided", [])) | {"witness": ""} for id in CLAIMS]
    folder = empty(tmp_path_factory.mktemp("layout"), claims=claims, **headlines(claims))
    build(folder)
    return folder


PAGES = "report.html", "published.html", "claims/gsd.dynamic.html", "claims/cspd.path-ratio.bound.html"


def test_nothing_is_wider_than_its_place(out: Path) -> None:
    found = looked_at(out, [(out / page).as_uri() for page in PAGES], WIDTHS, WIDER)
    assert len(found) == len(PAGES) * len(WIDTHS)
    assert not [each for each in found if each[2]]


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(out: Path, dark: bool) -> None:
    found = looked_at(out, [(out / page).as_uri() for page in PAGES], [1280], serious(), dark)
    assert not [each for each in found if each[2]]


@pytest.mark.parametrize("dark", [False, True])
def test_what_is_hard_to_read_is_found(out: Path, dark: bool) -> None:
    """Letters that are dark, or light, whatever the page: each is found on one of the two."""
    text = (out / "claims" / "gsd.dynamic.html").read_text(encoding="utf-8")
    for colour in "#444", "#ccc":
        told = text.replace("</h1>", f'</h1><p style="color: {colour}">pale</p>')
        (out / "claims" / f"{colour[1:]}.html").write_text(told, encoding="utf-8")
    pages = [(out / "claims" / f"{name}.html").as_uri() for name in ("444", "ccc")]
    found = looked_at(out, pages, [1280], serious(), dark)
    assert [any("color-contrast" in each for each in said) for _, _, said in found] == [dark, not dark]


def test_what_is_wider_is_seen(out: Path) -> None:
    page = out / "claims" / "wide.html"
    text = (out / "claims" / "gsd.dynamic.html").read_text(encoding="utf-8")
    page.write_text(text.replace("</h1>", '</h1><p style="width: 800px">wide</p>'), encoding="utf-8")
    found = looked_at(out, [page.as_uri()], WIDTHS, WIDER)
    assert [width for _, width, wider in found if wider] == [390, 768]


@pytest.mark.parity
def test_the_report_answers_as_python_does(out: Path) -> None:
    questions = "SJD lossless", "latern distort", "cspd wrong"
    pages = [f"{(out / 'report.html').as_uri()}?words={quote(each)}" for each in questions]
    for (_, _, rows), question in zip(looked_at(out, pages, [1280], ROWS), questions, strict=True):
        assert rows
        assert rows == answers(question)[: len(rows)]


# The documentation, where it is built -----------------------------------------------------------------------------

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
BUILT = [
    "index.html", "search.html", "notebooks.html", "image-methods.html", "reference/rules.html",
    "tutorials/prove-your-rule.html", "written/findings.html", "written/commands.html", "written/gallery/report.html",
    "written/notebooks/lantern.html",
]  # fmt: skip
needs_site = pytest.mark.skipif(not SITE.is_dir(), reason="no documentation: make docs")
ASKED = """async (document, window) => {
  const some = () => document.querySelector(".search li");
  for (let k = 0; k < 100 && !some(); k++) await new Promise(done => setTimeout(done, 100));
  return [".search li", "#claims li"].map(each => document.querySelector(each)?.textContent ?? "");
}"""


@needs_site
def test_nothing_of_the_documentation_is_wider_than_its_place(tmp_path: Path) -> None:
    found = looked_at(tmp_path, [(SITE / page).as_uri() for page in BUILT], WIDTHS, SPILLS)
    assert not [each for each in found if each[2]]


@needs_site
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious_in_the_documentation(tmp_path: Path, dark: bool) -> None:
    found = looked_at(tmp_path, [(SITE / page).as_uri() for page in BUILT], [1280], serious(), dark)
    assert not [each for each in found if each[2]]


@needs_site
def test_the_documentation_is_searched_from_a_file(tmp_path: Path) -> None:
    ((_, _, (page, claim)),) = looked_at(tmp_path, [f"{(SITE / 'search.html').as_uri()}?q=sjd+lossless"], [1280], ASKED)
    assert page
    assert claim.startswith("sjd.theorem-1")
