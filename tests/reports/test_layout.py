"""Pages in a browser: nothing is wider than its place, at any width, and questions are answered as in Python."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

import pytest

from reports.pages.report import build
from tests.support.browser import looked_at, needs_chromium
from tests.support.pages import empty
from theory.claims import CLAIMS, HEADLINES, TAKE_HOME, asked

pytestmark = [pytest.mark.cli, pytest.mark.slow, pytest.mark.browser, needs_chromium]

WIDTHS = 390, 768, 1280, 1920
FIGURES, NUMBERS = ".wide", "table:not(.list, .tally, .headlines)"  # may be wider than a small screen, in what scrolls
WORDS = "td, article p, article li"  # which scroll where a formula has no line breaks
WIDER = f"""(document, window) => {{
  const root = document.documentElement, wider = [];
  if (root.scrollWidth > root.clientWidth) wider.push(`the page: ${{root.scrollWidth}}`);
  for (const box of document.querySelectorAll("main *")) {{
    const inside = box.getBoundingClientRect(), outside = box.parentElement.getBoundingClientRect();
    const drawn = box.closest("svg, math") && box.localName !== "svg";
    if (drawn || !inside.width || window.getComputedStyle(box).display === "inline") continue;
    const scrolls = box.parentElement.closest(".scroll, pre, {WORDS}");
    const allowed = scrolls && (box.closest("{FIGURES}, {NUMBERS}, math") || scrolls.matches("{WORDS}"));
    const wide = inside.right > outside.right + 1.5;
    if (wide && !allowed) wider.push(`${{box.localName}}: ${{box.textContent.slice(0, 40)}}`);
  }}
  for (const box of document.querySelectorAll(".scroll")) {{
    const words = !box.querySelector("{FIGURES}, {NUMBERS}");
    if (words && box.scrollWidth > box.clientWidth + 1) wider.push(`words: ${{box.textContent.trim().slice(0, 40)}}`);
  }}
  return wider;
}}"""
ROWS = """async (document, window) => {
  await new Promise(done => setTimeout(done, 3000));
  return [...document.querySelectorAll("tr[data-id]")].filter(row => !row.hidden).map(row => row.dataset.id);
}"""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report with every claim, as nobody has decided them."""
    undecided = {"parts": [], "assumptions": [], "rests_on": "", "why_not": "", "evidence": [], "witness": ""}
    claims = [
        claim.described() | undecided | {"verdict": "not-decided", "argument": claim.proof} for claim in CLAIMS.values()
    ]
    headlines = [asdict(each) | {"paper": CLAIMS[each.claim].paper} for each in HEADLINES]
    results = [asdict(each) | {"verdict": "not-decided"} for each in TAKE_HOME]
    folder = empty(tmp_path_factory.mktemp("layout"), claims=claims, headlines=headlines, results=results)
    build(folder)
    return folder


def test_nothing_is_wider_than_its_place(out: Path) -> None:
    pages = ["report.html", "published.html", "claims/gsd.dynamic.html", "claims/cspd.path-ratio.bound.html"]
    found = looked_at(out, [(out / page).as_uri() for page in pages], WIDTHS, WIDER)
    assert len(found) == len(pages) * len(WIDTHS)
    assert not [each for each in found if each[2]]


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
        assert rows == asked(question)[: len(rows)]
