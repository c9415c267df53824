"""What every page of the site must do, over all that are drawn, and what becomes of every file that is damaged or gone.

Tables here have the columns of real ones and numbers at random; documents are of :mod:`tests.support.page_documents`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup
from matplotlib.figure import Figure

from experiments.cli import main as cli
from experiments.results import write_arrays, write_table
from experiments.verification.verify import verify
from reports.__main__ import _site
from reports.data import documents
from reports.data.documents import COMPARISON, DEVICE, PAIR, REPLAY
from reports.data.files import Document, Unreadable, read_arrays, read_json
from reports.data.measured import Measured
from reports.data.models import Compared, read_pair
from reports.pages import certificate, continuous_models, models
from reports.pages.elements import figure_name, texts
from reports.pages.index import OWN
from reports.pages.report import VERDICT_NAMES, counts
from reports.pages.tables import PAGES, TablesPage
from reports.site import build as site
from reports.site import gallery
from reports.site.gallery import inline, saved
from reports.site.html import GENERATOR
from tests.support.page_documents import (
    BENCH,
    CERTIFICATE,
    compared,
    device,
    replay,
    save_compared,
    save_pair,
    self_test,
)
from tests.support.pages import DAMAGES, Page, cut, dead, empty, fetched, no_document, whole_pdf, write
from tests.support.tiny_runs import TABLES, save_study

TEMPLATES = Path(site.__file__).parents[1] / "templates"
LARGEST = 3_000_000  # bytes of a page
NO_NUMBERS = {"nan", "NaN", "None", "inf", "undefined"}  # as words on a page

pytestmark = [pytest.mark.cli, pytest.mark.usefixtures("own_results_alone")]


def run(out: Path) -> None:
    save_study(out / "runs" / "tree", "tree")


def tables(name: str, out: Path) -> None:
    for table, frame in TABLES[name]().items():
        write_table(PAGES[name].saved.path(out, table), frame)


def comparison(out: Path) -> None:
    save_compared(out, compared({"ar": 1.0, "sjd": 2.2, "gsd": 3.0, "<b>&": 2.0}, failing="sjd"))


RESULTS: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {  # what makes a page, and the files it needs
    "bench.html": (lambda out: write(out / "bench.json", BENCH), ("bench.json",)),
    "studies/tree.html": (run, ("runs/tree/table.parquet", "runs/tree/manifest.json")),
    "large.html": (partial(tables, "large"), ("large/naive.parquet",)),
    "continuous.html": (partial(tables, "continuous"), ("continuous-laws.parquet",)),
    "draft-length.html": (partial(tables, "draft-length"), ("draft-length-printed.parquet",)),
    "models.html": (comparison, (COMPARISON.path.as_posix(), COMPARISON.path.with_suffix(".npz").as_posix())),
    "continuous-models.html": (
        lambda out: save_pair(out / "compare"),
        (PAIR.path.as_posix(), PAIR.path.with_suffix(".npz").as_posix()),
    ),
    "certify/certificate.html": (
        lambda out: write(out / "certify" / "certificate.json", CERTIFICATE),
        ("certify/certificate.json",),
    ),
    "certify/selftest.html": (
        lambda out: write(out / "certify" / "selftest.json", self_test()),
        ("certify/selftest.json",),
    ),
}


ON_TABLES = "published.cspd-speed"  # a claim that is shown beside the tables on continuous tokens
DECIDED = "gsd.speed", "published.steps", ON_TABLES
FEW = 5  # of so many figures one is written to a file as well, which takes longer than the page that it is on


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> site.Site:
    """The site of everything, and of a few claims that were decided."""
    out = tmp_path_factory.mktemp("everything")
    for id in DECIDED:  # one by one they are decided in this process
        verify([id], 0, out, measure=False, progress=lambda *_: None)
    for make, _ in RESULTS.values():
        make(out)
    write(out / REPLAY.path, replay())
    write(out / DEVICE.path, device())
    asked = []

    def few(figure: Figure, kind: str) -> bytes:
        asked.append(kind)
        return saved(figure, kind) if kind == "pdf" and asked.count(kind) % FEW == 1 else b""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "saved", few)
        return site.build(out)


@pytest.fixture(scope="module")
def pages(built: site.Site) -> dict[str, str]:
    """The text of every page, by its path; those of claims too."""
    out = built.index.parent
    found = {path.relative_to(out).as_posix(): path.read_text(encoding="utf-8") for path in out.rglob("*.html")}
    assert {*built.pages, "published.html", "claims/gsd.speed.html"} <= set(found)
    return found


# Every page --------------------------------------------------------------------------------------------------------


def test_everything_is_drawn_and_linked_from_the_index(built: site.Site) -> None:
    assert built.problems == []
    assert set(built.pages) == {*RESULTS, "index.html", "report.html", "engines.html", "image-methods.html"}
    assert {*built.pages, "published.html"} - {"index.html"} <= set(Page(built.index).links)


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_of_tables_has_its_pictures_and_claims(
    page: TablesPage, built: site.Site, pages: dict[str, str]
) -> None:
    found, text = Page(built.index.parent / page.file), pages[page.file]
    for told in texts()[page.name]["pictures"]:
        assert any(anchor.startswith(f"{page.name}-{figure_name(told)}") for anchor in found.anchors)
        assert f'aria-label="{told["heading"]}' in text
    shown = {id for id in DECIDED if f"claims/{id}.html" in found.links}
    assert shown == ({ON_TABLES} if page.name == "continuous" else set())


def test_benchmarks_are_told_as_they_are(built: site.Site) -> None:
    text = Page(built.index.parent / "bench.html").text
    for piece in ("kernel", "27.8 ×", "≥ 15 ×", "53%", "≥ 70%", "exponent 0.80", "1.25", "33,554,432", *BENCH["notes"]):
        assert str(piece) in text


def test_the_index_counts_the_verdicts(built: site.Site) -> None:
    claims = json.loads((built.index.parent / "verdicts.json").read_text(encoding="utf-8"))["claims"]
    text, counted = " ".join(Page(built.index).text.split()), counts(claims)
    assert sum(sum(kind.values()) for kind in counted.values()) == len(claims)
    for kind, found in counted.items():
        line = "".join(str(found[verdict] or "–") for verdict in VERDICT_NAMES)
        assert f"{kind}{line}" in text.replace(" –", "–")


def test_all_links_lead_somewhere_and_back_to_the_index(built: site.Site, pages: dict[str, str]) -> None:
    out = built.index.parent
    assert {path: lost for path in pages if (lost := dead(out / path))} == {}
    for path in set(built.pages) - {"index.html", "certify/certificate.html", "certify/selftest.html"}:
        home = "../index.html" if "/" in path else "index.html"
        assert home in Page(out / path).links, path


def test_a_dead_link_would_be_seen(tmp_path: Path) -> None:
    lost = tmp_path / "lost.html"
    lost.write_text('<a href="nowhere.html">x</a><a id="here" href="#here">y</a><a href="#there">z</a>')
    assert dead(lost) == ["nowhere.html", "#there"]


def test_pages_stand_alone_and_are_light(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        assert fetched(text) == [], path
        assert len(text.encode()) < LARGEST, path


def test_no_number_is_none_and_no_text_is_markup(built: site.Site, pages: dict[str, str]) -> None:
    for path in built.pages:
        words = set(Page(built.index.parent / path).text.replace(",", " ").split())
        assert not words & NO_NUMBERS, path
    for text in pages.values():
        assert "<b>&" not in text
        assert "<b>bfloat16" not in text
    assert "&lt;b&gt;&amp;" in pages["models.html"]
    assert "&lt;b&gt;bfloat16" in pages["certify/selftest.html"]


def test_headings_leave_out_no_level_and_those_of_print_say_something(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        if path == "models.html":
            continue  # its first picture stands before its first section
        levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", text)]
        assert levels[0] == 1, path
        assert all(after <= before + 1 for before, after in pairwise(levels)), path
    assert "<th></th>" not in pages["published.html"]


def test_every_figure_has_a_name_for_those_who_do_not_see_it(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        for figure in re.findall(r"<(?:svg|img) [^>]*>", text):
            assert re.search(r'(aria-label|alt)="[^"]+"', figure), path


def test_every_figure_is_a_pdf_too(built: site.Site, pages: dict[str, str]) -> None:
    linked = {name for text in pages.values() for name in re.findall(r'href="(?:\.\./)?figures/([\w.-]+\.pdf)"', text)}
    files = {path.name: path.read_bytes() for path in (built.index.parent / "figures").glob("*.pdf")}
    assert set(files) == linked
    assert len(files) > 30
    written = [data for data in files.values() if data]
    assert len(written) >= len(files) // FEW
    assert all(map(whole_pdf, written))
    assert not whole_pdf(written[0].replace(b"\n", b"\n\n", 1))  # a damaged one would be seen


@pytest.mark.slow
def test_every_pdf_is_whole(tmp_path: Path) -> None:
    for make, _ in RESULTS.values():
        make(tmp_path)
    site.build(tmp_path)
    files = list((tmp_path / "figures").glob("*.pdf"))
    assert len(files) > 30
    assert [path.name for path in files if not whole_pdf(path.read_bytes())] == []


@pytest.mark.usefixtures("own_pages_alone")
def test_built_again_it_is_the_same(tmp_path: Path) -> None:
    run(empty(tmp_path))
    site.build(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    site.build(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


# Templates ---------------------------------------------------------------------------------------------------------


def test_what_scrolls_sideways_can_be_reached_by_keyboard() -> None:
    """Tables and figures by their mark-up, formulas by a script that every page with an article or statements has."""
    for path in TEMPLATES.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'class="scroll"(?! tabindex="0")', text), path.name
        formulas = "<article" in text or "call claim_table()" in text
        assert formulas == ('{% include "reach.js" %}' in text), path.name


# Every file that may be damaged, or gone ---------------------------------------------------------------------------


@pytest.mark.usefixtures("own_pages_alone")
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("which", [0, 1])
def test_damaged_files_are_named_and_their_pages_left_out(
    which: int, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    """One file of each page, all of them in one folder."""
    damaged = {page: files[which] for page, (_, files) in RESULTS.items() if len(files) > which}
    empty(tmp_path)
    for page, file in damaged.items():
        RESULTS[page][0](tmp_path)
        damage(tmp_path / file)
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text(GENERATOR, encoding="utf-8")  # of an earlier build
    built = site.build(tmp_path)
    index = Page(built.index)
    assert len(built.problems) == len(damaged)
    for page, file in damaged.items():
        (problem,) = (each for each in built.problems if file in each)
        assert "simlab " in problem  # what makes it again
        assert problem.partition(":")[0] in index.text
        assert page not in (*built.pages, *index.links)
        assert not (tmp_path / page).exists() or page.startswith("certify/")


def test_bits_that_are_others_make_a_file_unreadable(tmp_path: Path) -> None:
    """Whatever archives, what they are compressed with, and JSON raise then."""
    path = tmp_path / "compare.npz"
    write_arrays(path, {"steps": np.random.default_rng(0).normal(size=40)})
    whole, damaged = path.read_bytes(), 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        try:
            read_arrays(path, "simlab compare", {"steps"})
        except Unreadable:
            damaged += 1
    assert damaged > len(whole) / 2
    (tmp_path / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(Unreadable):
        read_json(tmp_path / "deep.json", "simlab compare")


def test_a_document_that_lacks_a_key_is_refused_or_drawn(tmp_path: Path) -> None:
    found, nothing = compared({"ar": 1.0, "sjd": 2.2, "gsd": 3.0}), Measured(*({} for _ in range(7)))
    save_pair(tmp_path / "compare")
    pair = read_pair(tmp_path)
    assert pair is not None
    arrays = pair.arrays
    drawn: list[tuple[Document, dict[str, Any], Callable[[dict[str, Any]], str]]] = [
        (documents.CERTIFICATE, CERTIFICATE, certificate.page),
        (PAIR, pair.document, lambda own: continuous_models.page(Compared(own, arrays), [], inline)),
        (
            COMPARISON,
            found.document,
            lambda own: models.page(Compared(own, found.arrays), None, None, None, nothing, [], lambda *_: Markup("")),
        ),
    ]
    for saved_as, whole, page in drawn:
        for key in whole:
            path = write(tmp_path / "one.json", {name: value for name, value in whole.items() if name != key})
            with suppress(Unreadable):
                assert page(saved_as.at(path)), key


@pytest.mark.usefixtures("own_pages_alone")
def test_verdicts_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    write(empty(tmp_path) / "verdicts.json", {"seed": 1})
    (problem,) = site.build(tmp_path).problems
    assert str(tmp_path / "verdicts.json") in problem
    assert dead(tmp_path / "index.html") == []


@pytest.mark.usefixtures("own_pages_alone")
def test_a_damaged_measurement_of_verify_is_named(tmp_path: Path) -> None:
    manifest = {"measured": True, "sequences": 0, "versions": {}, "seconds": {"all": 1.0}}
    write(empty(tmp_path) / "manifest.json", manifest)
    assert "digits.parquet" in site.build(tmp_path).problems[0]
    no_document(tmp_path / "digits.parquet")
    built = site.build(tmp_path)
    assert "digits.parquet" in built.problems[0]
    assert "report.html" not in built.pages


@pytest.mark.usefixtures("own_pages_alone")
def test_pages_of_an_earlier_build_go_away_and_those_of_the_reader_stay(tmp_path: Path) -> None:
    paths = {page: tmp_path / page for page in RESULTS if page in OWN or page.startswith("studies/")}
    empty(tmp_path)
    for path in paths.values():
        path.parent.mkdir(exist_ok=True)
        path.write_text("the reader's own", encoding="utf-8")
    site.build(tmp_path)
    assert all(path.exists() for path in paths.values())
    for path in paths.values():
        path.write_text(GENERATOR, encoding="utf-8")
    assert not paths.keys() & set(site.build(tmp_path).pages)
    assert not any(path.exists() for path in paths.values())


@pytest.mark.usefixtures("own_pages_alone")
def test_what_can_be_read_is_drawn_all_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(tmp_path)
    write(tmp_path / "bench.json", BENCH)
    cut(tmp_path / "runs" / "tree" / "table.parquet")
    assert cli.main(["report", "--out", str(tmp_path)]) == 1
    said = capfd.readouterr()
    assert "runs/tree/table.parquet" in said.err
    assert "Traceback" not in said.err
    assert (tmp_path / "bench.html").exists()
    assert not (tmp_path / "studies" / "tree.html").exists()


def test_nothing_to_draw_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _site(tmp_path, []) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
