"""The whole site: drawn from saved tables alone, whole, and telling what is missing or cannot be read.

Tables here have the columns of real ones and numbers at random (:mod:`tests.support.tiny_runs`); one run is real.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from experiments.cli import main as cli
from experiments.results import write_table
from reports.data.files import Unreadable
from reports.data.sweeps import SPECS, find, read, shipped
from reports.figures.plot_style import use_style
from reports.figures.small_processes import steps
from reports.pages import study as study_pages
from reports.pages.elements import texts
from reports.pages.report import VERDICT_NAMES, counts
from reports.pages.study import STUDIES
from reports.site import build as site
from reports.site.gallery import Gallery, pdf
from tests.reports.test_claim_pages import Page, dead
from tests.reports.test_self_test_page import document
from tests.support.tiny_runs import continuous, draft_length, faked, large, save, shrunken

TEMPLATES = Path(site.__file__).parents[1] / "templates"

pytestmark = [pytest.mark.cli, pytest.mark.usefixtures("own_results_alone")]

RATIO = {"benchmark": "verification", "what": "V = 16384", "contender": "kernel", "kind": "times", "per": "blocks"}
BENCH = {
    "machine": {"processor": "a fast one", "cache": 33554432},
    "notes": ["the machine was busy"],
    "ratios": [
        RATIO | {"against": "NumPy", "value": 27.776, "at_least": 15.0, "at_most": None, "met": True},
        RATIO | {"against": "rest", "value": 0.531, "kind": "share", "at_least": 0.7, "at_most": None, "met": False},
        RATIO | {"against": "V", "value": 0.8, "kind": "exponent", "at_least": None, "at_most": 1.1, "met": True},
    ],
    "times": [
        {"benchmark": "verification", "what": "V = 16384", "contender": "kernel", "work": {"blocks": 64}}
        | {"fastest": 0.00125, "cores": 0.46, "seconds": [0.00125, 0.002]}
    ],
}
LARGEST = 3_000_000  # bytes of a page
MADE = sorted(shipped())
FEW = ["ablation", "relabel"]


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    """A table for every spec that comes with simlab."""
    return {name: faked(shrunken(name)) for name in MADE}


@pytest.fixture(scope="module", params=[FEW, pytest.param(MADE, marks=pytest.mark.slow)], ids=["few", "all"])
def results(
    request: pytest.FixtureRequest, tables: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Runs of a few specs or of all, verdicts of two claims, and a benchmark; beside all of them every other table."""
    out = tmp_path_factory.mktemp("site")
    for name in request.param:
        save(out / "runs" / name, shrunken(name), tables[name])
    assert cli.main(["verify", "--claim", "gsd.speed", "--claim", "published.steps", "--out", str(out)]) == 0
    if request.param == MADE:
        for name, frame in large().items():
            write_table(out / "large" / f"{name}.parquet", frame)
        for name, frame in continuous().items():
            write_table(out / f"continuous-{name}.parquet", frame)
        for name, frame in draft_length().items():
            write_table(out / f"draft-length-{name}.parquet", frame)
    (out / "bench.json").write_text(json.dumps(BENCH), encoding="utf-8")
    return out


@pytest.fixture(scope="module")
def built(results: Path) -> site.Site:
    return site.build(results)


def studied(results: Path) -> list[str]:
    """The specs of which there are runs."""
    return sorted(path.name for path in (results / "runs").iterdir())


def empty(folder: Path) -> Path:
    """Results with nothing in them but a verdict."""
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = {"simlab": "0", "seed": 0, "failed": {}, "headlines": [], "results": [], "claims": []}
    (folder / "verdicts.json").write_text(json.dumps(verdicts), encoding="utf-8")
    manifest = {"measured": False, "sequences": 0, "versions": {}, "seconds": {"all": 1.0}}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


# The pages ---------------------------------------------------------------------------------------------------------


def test_every_study_has_a_page_with_its_figures_and_no_excuse(results: Path, built: site.Site) -> None:
    assert not built.problems
    names = studied(results)
    assert {study.name for study in built.missing} == set(MADE) - set(names)
    assert {path.stem for path in (results / "studies").glob("*.html")} == set(names)
    for name in names:
        page = results / "studies" / f"{name}.html"
        text = page.read_text(encoding="utf-8")
        assert "cannot be drawn" not in text
        for told in texts().get(name, {}).get("pictures", []):
            assert f'aria-label="{told["heading"]}"' in text
            assert f'href="../figures/{told["name"]}.pdf"' in text
            if "counterpart" in told:
                assert told["counterpart"] in Page(results / "index.html").text
        assert "All settings" in text
        assert "3 images a setting" in Page(page).text or name in ("lantern", "accumulation")


def test_all_links_lead_somewhere_and_pages_are_light(results: Path, built: site.Site) -> None:
    pages = [results / path for path in built.pages]
    assert {path.name for path in pages} >= {"index.html", "report.html", "bench.html", "relabel.html"}
    for path in pages:
        assert dead(path) == [], path
        assert path.stat().st_size < LARGEST
        loaded = r'src="https?:|<link[^>]* href="https?:'
        assert re.findall(loaded, path.read_text(encoding="utf-8")) == []
    links = set(Page(results / "index.html").links)
    assert links >= {
        "report.html",
        "published.html",
        "bench.html",
        *(f"studies/{name}.html" for name in studied(results)),
    }
    assert "../index.html" in Page(results / "studies" / "relabel.html").links
    assert "index.html" in Page(results / "report.html").links


def test_pages_can_be_read_without_a_mouse_and_without_colours() -> None:
    """What scrolls sideways can be reached by keyboard, and links in sentences and tables are underlined."""
    for path in TEMPLATES.glob("*.html"):
        assert not re.search(r'class="scroll"(?! tabindex="0")', path.read_text(encoding="utf-8")), path.name
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    underlined = re.search(r"([^{}]*)\{ text-decoration: underline; text-underline-offset", style)
    assert underlined
    assert {"p a", "li a", "dd a", "figcaption a", "td:not(.id) a", "th a"} <= {
        each.strip() for each in underlined[1].split(",")
    }


def test_headings_of_a_page_leave_out_no_level_and_those_of_columns_say_something(
    results: Path, built: site.Site
) -> None:
    for path in [*results.glob("*.html"), *(results / "claims").glob("*.html")]:
        text = path.read_text(encoding="utf-8")
        levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", text)]
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), path.name
    assert "<th></th>" not in (results / "published.html").read_text(encoding="utf-8")


def test_a_formula_wider_than_a_phone_scrolls_by_itself_and_by_keyboard() -> None:
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    assert "article p, article li { overflow: auto hidden; }" in style.partition("@media (max-width: 600px)")[2]
    for path in TEMPLATES.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert ("<article" in text) == ('{% include "reach.js" %}' in text), path.name


def test_on_paper_nothing_waits_to_be_scrolled_to() -> None:
    printed = (TEMPLATES / "style.css").read_text(encoding="utf-8").partition("@media print")[2]
    assert ".scroll, pre { background: none; overflow: visible; }" in printed
    assert ".wide { min-width: 0; }" in printed
    assert ".badge { color: var(--tone); background: none;" in printed  # browsers leave backgrounds out


def test_every_figure_is_a_pdf_too(results: Path, built: site.Site) -> None:
    told = [each["name"] for name in studied(results) for each in texts().get(name, {}).get("pictures", [])]
    told += ["bench-verification", *(f"continuous-models-{name}" for name in ("acceptance", "grid", "maps"))]
    if (results / "large").exists():
        told += ["large-naive-16384", *(f"{each['name']}-1024" for each in texts()["large"]["pictures"])]
        told += [f"continuous-{each['table']}" for each in texts()["continuous"]["pictures"]]
        told += [f"draft-length-{each['table']}" for each in texts()["draft-length"]["pictures"]]
    files = {path.stem: path.read_bytes() for path in (results / "figures").glob("*.pdf")}
    assert set(files) == set(told)
    for name, data in files.items():
        assert whole_pdf(data), name


def whole_pdf(data: bytes) -> bool:
    """Whether a PDF has one page and every object is where its table of contents says."""
    start = int(re.search(rb"startxref\s+(\d+)\s+%%EOF\s*$", data)[1])  # type: ignore[index]
    entries = re.findall(rb"(\d{10}) \d{5} n", data[start:])
    placed = all(re.match(rb"\d+ 0 obj", data[int(at) : int(at) + 12]) for at in entries)
    return data.startswith(b"%PDF-1") and bool(entries) and placed and b"/Count 1 " in data


def test_a_damaged_pdf_would_be_seen() -> None:
    use_style()
    data = pdf(steps(pd.DataFrame({"decoder": ["a"], "steps": [1], "probability": [1.0]})))
    assert whole_pdf(data)
    assert not whole_pdf(data.replace(b"\n", b"\n\n", 1))


def test_built_again_it_is_the_same(tmp_path: Path, tables: dict[str, pd.DataFrame]) -> None:
    save(empty(tmp_path) / "runs" / "tree", shrunken("tree"), tables["tree"])
    site.build(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    site.build(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_benchmarks_are_told_as_they_are(results: Path, built: site.Site) -> None:
    text = Page(results / "bench.html").text
    for piece in ("Verification", "kernel", "27.8 ×", "≥ 15 ×", "53%", "≥ 70%", "exponent 0.80", "1.25", "33,554,432"):
        assert piece in text
    assert "the machine was busy" in text
    assert 'href="figures/bench-verification.pdf"' in (results / "bench.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("wrong", ["[]", "{}", json.dumps(BENCH | {"ratios": [{"value": 1}]}), "no json"])
def test_a_benchmark_that_cannot_be_read_is_named(wrong: str, tmp_path: Path) -> None:
    (empty(tmp_path) / "bench.json").write_text(wrong, encoding="utf-8")
    built = site.build(tmp_path)
    assert "bench.json cannot be read" in built.problems[0]
    assert not (tmp_path / "bench.html").exists()


def test_verdicts_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (empty(tmp_path) / "verdicts.json").write_text('{"seed": 1}', encoding="utf-8")
    built = site.build(tmp_path)
    assert built.problems == [
        f"{tmp_path / 'verdicts.json'} cannot be read: it has no claims; run `simlab verify` again"
    ]
    assert dead(tmp_path / "index.html") == []


def test_every_text_has_a_figure_and_every_figure_a_text() -> None:
    assert set(texts()) == {*STUDIES, "large", "continuous", "continuous_models", "draft-length", "models"}
    for name, study in STUDIES.items():
        assert len(texts()[name].get("pictures", [])) == len(study.figures)
        assert texts()[name]["lead"].strip()


# From saved results alone ------------------------------------------------------------------------------------------


def test_reports_know_nothing_that_simulates() -> None:
    known = "import sys, reports.__main__; print(sorted(m for m in sys.modules if m.startswith(('simlab', 'numba'))))"
    done = subprocess.run([sys.executable, "-c", known], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# What is missing, and what cannot be read --------------------------------------------------------------------------


def test_what_nobody_has_run_is_named_with_its_command(tmp_path: Path) -> None:
    built = site.build(empty(tmp_path))
    assert [study.name for study in built.missing] == sorted(MADE, key=study_pages.order)
    text = Page(tmp_path / "index.html").text
    for name in MADE:
        assert f"not there: simlab run {name} --out {tmp_path.as_posix()}/runs/{name}" in text


@pytest.mark.slow
def test_a_run_that_comes_along_is_drawn_where_there_are_claims_and_no_other(
    tmp_path: Path, tables: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "kept" / "tree", shrunken("tree"), tables["tree"])
    monkeypatch.setattr(site, "KEPT", tmp_path / "kept")
    out = empty(tmp_path / "out")
    built = site.build(out)
    assert "studies/tree.html" in built.pages
    assert "tree" not in [missing.name for missing in built.missing]
    save(out / "runs" / "tree", shrunken("tree"), tables["tree"])
    built = site.build(out)
    assert str(out / "runs" / "tree") in (out / "studies" / "tree.html").read_text(encoding="utf-8")
    assert not built.notes
    with pytest.raises(FileNotFoundError, match="there are no results"):
        site.build(tmp_path / "nothing")


def test_a_run_that_was_stopped_is_said_to_be_unfinished(tmp_path: Path) -> None:
    (empty(tmp_path) / "runs" / "tree" / "cells").mkdir(parents=True)
    built = site.build(tmp_path)
    told = next(study for study in built.missing if study.name == "tree")
    assert told.state == "not finished"
    assert told.command == f"simlab run tree --out {tmp_path.as_posix()}/runs/tree"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def other_rows(path: Path) -> None:
    pd.read_parquet(path).iloc[1:].to_parquet(path)


def other_columns(path: Path) -> None:
    pd.read_parquet(path).drop(columns="steps").to_parquet(path)


def no_table(path: Path) -> None:
    path.write_text("no table", encoding="utf-8")


def no_manifest(path: Path) -> None:
    path.with_name("manifest.json").write_text("{}", encoding="utf-8")


def broken_manifest(path: Path) -> None:
    path.with_name("manifest.json").write_text('{"spec":', encoding="utf-8")


@pytest.mark.parametrize("damage", [cut, other_rows, other_columns, no_table, no_manifest, broken_manifest])
def test_a_result_that_cannot_be_read_is_named(
    damage: Callable[[Path], None], tmp_path: Path, tables: dict[str, pd.DataFrame]
) -> None:
    save(tmp_path / "runs" / "tree", shrunken("tree"), tables["tree"])
    assert read(tmp_path / "runs" / "tree").name == "tree"
    damage(tmp_path / "runs" / "tree" / "table.parquet")
    bad = "manifest.json" if "manifest" in damage.__name__ else "table.parquet"
    told = rf"runs/tree/{bad} cannot be read: .*; remove it and run `simlab run \w+ --out .*/runs/tree` again"
    with pytest.raises(Unreadable, match=told):
        read(tmp_path / "runs" / "tree")
    assert re.search(told, site.build(tmp_path).problems[0])
    assert re.search(told, Page(tmp_path / "index.html").text)


def test_what_can_be_read_is_drawn_all_the_same(
    tmp_path: Path, tables: dict[str, pd.DataFrame], capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("tree", "relabel"):
        save(tmp_path / "runs" / name, shrunken(name), tables[name])
    site.build(tmp_path)
    cut(tmp_path / "runs" / "tree" / "table.parquet")
    assert cli.main(["report", "--out", str(tmp_path)]) == 1
    said = capfd.readouterr()
    assert "runs/tree/table.parquet cannot be read" in said.err
    assert "Traceback" not in said.err
    assert [path.name for path in (tmp_path / "studies").iterdir()] == ["relabel.html"]
    assert list((tmp_path / "figures").iterdir()) == []


def test_a_damaged_table_of_large_vocabularies_is_named(tmp_path: Path) -> None:
    path = empty(tmp_path) / "large" / "naive.parquet"
    write_table(path, large()["naive"].drop(columns="most"))
    assert "large/naive.parquet cannot be read: it lacks most" in site.build(tmp_path).problems[0]
    cut(path)
    assert "large/naive.parquet cannot be read" in site.build(tmp_path).problems[0]
    write_table(path, large()["naive"])
    assert "large.html" in site.build(tmp_path).pages
    path.unlink()
    site.build(tmp_path)
    assert not (tmp_path / "large.html").exists()


def test_a_damaged_measurement_of_verify_is_named(tmp_path: Path) -> None:
    empty(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8")) | {"measured": True}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "digits.parquet is missing; `simlab verify`" in site.build(tmp_path).problems[0]
    (tmp_path / "digits.parquet").write_text("no table", encoding="utf-8")
    built = site.build(tmp_path)
    assert "digits.parquet cannot be read" in built.problems[0]
    assert "report.html" not in built.pages


def test_a_table_of_another_spec_has_a_page_without_the_figures(
    tmp_path: Path, tables: dict[str, pd.DataFrame]
) -> None:
    spec = shrunken("tree")
    save(tmp_path / "mine", replace(spec, written=spec.written | {"name": "window"}), tables["tree"])
    site.build(tmp_path, [tmp_path / "mine"])
    text = Page(tmp_path / "studies" / "window.html").text
    assert "The figures of this study cannot be drawn: the table has no rows of sjd." in text
    assert "candidates = 5" in text
    assert "another spec of this name" in text


CERTIFICATE = {
    "subject": "mine:verify",
    "contract": "verify",
    "verdict": "lossless",
    "meaning": "no deviation found",
    "summary": "no deviation found in 1 case",
    "epsilon": 0.03,
    "confidence": 0.999,
    "false_alarms": 1e-6,
    "seed": 0,
    "seconds": 1.0,
    "calls": 64,
    "lines": [
        {"case": "V = 2", "events": "all tokens", "calls": 64, "tv_at_most": 0.02, "detectable": 0.05, "fails": False}
    ],
    "failure": None,
    "notes": [],
    "exact": "not possible",
    "forced": "not possible",
    "signature": "verify(p, q, drafts, rng) -> tokens",
    "about": "",
    "budget": 60.0,
    "calls_of_each": None,
    "command": "simlab certify mine:verify",
    "simlab": "0",
    "versions": {"python": "3"},
}


def test_what_was_certified_is_drawn_again_and_linked(tmp_path: Path) -> None:
    index, links = tmp_path / "index.html", ("certify/certificate.html", "certify/selftest.html")
    site.build(empty(tmp_path))
    assert set(links).isdisjoint(Page(index).links)
    (tmp_path / "certify").mkdir()
    for name, told in (("certificate", CERTIFICATE), ("selftest", document())):
        (tmp_path / "certify" / f"{name}.json").write_text(json.dumps(told), encoding="utf-8")
    built = site.build(tmp_path)
    assert not built.problems
    assert set(links) <= set(Page(index).links) & set(built.pages)
    assert "mine:verify" in Page(tmp_path / links[0]).text
    assert "12a" in Page(tmp_path / links[1]).text
    assert [dead(tmp_path / path) for path in ("index.html", *links)] == [[], [], []]


def test_a_certificate_alone_makes_a_site_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "certify" / "certificate.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CERTIFICATE), encoding="utf-8")
    assert "certify/certificate.html" in site.build(tmp_path).pages
    for wrong in ("{}", "[]", "no json"):
        path.write_text(wrong, encoding="utf-8")
        assert "certify/certificate.json cannot be read" in site.build(tmp_path).problems[0]
        assert "certify/certificate.html" not in Page(tmp_path / "index.html").links


def test_nothing_to_draw_is_wrong_usage(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "--out", str(tmp_path)]) == 2
    assert "there are no results of simlab verify, run, compare, bench or certify" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SystemExit) as stopped:
        cli.main(["report", "--out", str(tmp_path / "nowhere")])
    assert stopped.value.code == 2
    assert "there is no such folder" in capfd.readouterr().err


# Whole or not at all -----------------------------------------------------------------------------------------------


def test_nothing_is_written_where_a_page_cannot_be_drawn(
    tmp_path: Path, tables: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tree", "lengths"):
        save(tmp_path / "runs" / name, shrunken(name), tables[name])

    def broken(*_: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setitem(STUDIES, "tree", study_pages.Shown([broken]))  # type: ignore[list-item]
    with pytest.raises(RuntimeError):
        site.build(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}


def test_pages_and_figures_of_earlier_builds_go_away_and_others_stay(
    tmp_path: Path, tables: dict[str, pd.DataFrame]
) -> None:
    save(empty(tmp_path) / "runs" / "tree", shrunken("tree"), tables["tree"])
    (tmp_path / "bench.json").write_text(json.dumps(BENCH), encoding="utf-8")
    site.build(tmp_path)
    own = [tmp_path / "studies" / "mine.html", tmp_path / "figures" / "mine.pdf"]
    for path in own:
        path.write_text("the reader's own", encoding="utf-8")
    shutil.rmtree(tmp_path / "runs" / "tree")
    (tmp_path / "bench.json").unlink()
    site.build(tmp_path)
    assert list((tmp_path / "studies").iterdir()) == own[:1]
    kept = "continuous-models-"  # of the comparison that comes along
    assert [path for path in (tmp_path / "figures").iterdir() if not path.name.startswith(kept)] == own[1:]
    assert not (tmp_path / "bench.html").exists()


def test_names_of_runs_do_not_lead_out_of_the_folder(tmp_path: Path, tables: dict[str, pd.DataFrame]) -> None:
    spec = shrunken("relabel")
    save(tmp_path / "mine", replace(spec, written=spec.written | {"name": "../../<b>x"}), tables["relabel"])
    site.build(tmp_path, [tmp_path / "mine"])
    assert [path.name for path in (tmp_path / "studies").iterdir()] == ["-b-x.html"]
    assert "<b>x" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_two_figures_cannot_have_one_name() -> None:
    use_style()
    draw, figure = Gallery().on(), steps(pd.DataFrame({"decoder": ["a"], "steps": [1], "probability": [1.0]}))
    assert "figures/steps.pdf" in draw("steps", figure, "steps")
    with pytest.raises(ValueError, match="two figures are called steps"):
        draw("steps", figure, "steps")


# Where runs are, and a real one ------------------------------------------------------------------------------------


def test_runs_are_found_once_wherever_they_are(tmp_path: Path, tables: dict[str, pd.DataFrame]) -> None:
    for folder in ("a/tree", "b/again"):
        save(tmp_path / folder, shrunken("tree"), tables["tree"])
    assert find([tmp_path / "a", tmp_path / "a" / "tree"]) == [tmp_path / "a" / "tree"]
    assert find([tmp_path / "none"]) == []
    built = site.build(tmp_path, [tmp_path / "a", tmp_path / "b"])
    assert built.notes == [f"tree is drawn from {tmp_path / 'a' / 'tree'}, not from {tmp_path / 'b' / 'again'}"]


REAL = """
name = "my-own"
title = "Chains & windows"
seeds = [1, 2]
replicates = 2
record = ["lengths"]
[[process]]
name = "markov"
vocabulary = 8
length = 12
[[decoder]]
name = "sjd"
grid.window = [2, 4]
[[rule]]
name = "speculative"
"""


@pytest.mark.slow
def test_a_real_run_of_ones_own_has_a_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my-own.toml").write_text(REAL, encoding="utf-8")
    folder = tmp_path / "sweeps" / "mine"
    assert cli.main(["run", str(tmp_path / "my-own.toml"), "--out", str(folder), "--workers", "1"]) == 0
    table = pd.read_parquet(folder / "table.parquet")
    capfd.readouterr()
    assert cli.main(["report", "--out", str(tmp_path)]) == 0
    said = capfd.readouterr()
    assert f"pages  {tmp_path / 'index.html'}" in said.out
    assert "not there      window         simlab run window" in said.out
    assert said.err == ""
    text = Page(tmp_path / "studies" / "my-own.html").text
    for piece in ("Chains & windows", "4 sequences a setting", "window = 2", "window = 4", "my-own.toml"):
        assert piece in text
    mean = table[table["decoder.window"] == 4]["compression"]
    assert f"{mean.mean():.3f} ± {mean.sem():.3f}" in text


def test_the_index_counts_the_verdicts(results: Path, built: site.Site) -> None:
    claims = json.loads((results / "verdicts.json").read_text(encoding="utf-8"))["claims"]
    text = " ".join(Page(results / "index.html").text.split())
    counted = counts(claims)
    assert sum(sum(kind.values()) for kind in counted.values()) == len(claims)
    for kind, found in counted.items():
        line = "".join(str(found[verdict] or "–") for verdict in VERDICT_NAMES)
        assert f"{kind}{line}" in text.replace(" –", "–")


def test_the_index_sets_printed_beside_predicted(results: Path, built: site.Site, tmp_path: Path) -> None:
    text = Page(results / "index.html").text
    assert "Printed beside predicted" in text
    assert "SJD + AC, L = 32" in text
    site.build(empty(tmp_path))
    assert "Printed beside predicted" not in Page(tmp_path / "index.html").text


def test_specs_are_where_the_reports_look() -> None:
    assert SPECS.is_dir()
    assert set(STUDIES) <= set(MADE)
