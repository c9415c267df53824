"""The whole site: drawn from saved tables alone, whole, and telling what is missing or cannot be read.

Tables here have the columns of real ones and numbers at random (:mod:`tests.cli.tiny_runs`); one run is real.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments import cli, large_vocabulary
from experiments.results import write_table
from experiments.sweeps import Listener, cells, local, parse_spec, run_sweep
from reports import figures, large_page, site, studies
from reports.averages import averages, gains, lengths, profiles, units
from reports.gallery import Gallery, pdf
from reports.lantern_figures import lantern
from reports.marks import PRINTED_COLOUR
from reports.pac_figures import ablation, ablation_numbers, tree, tree_numbers
from reports.page import VERDICT_NAMES
from reports.process_figures import CHOSEN
from reports.runs import SPECS, Unreadable, Unsuitable, find, read, shipped
from reports.sjd_figures import window
from reports.studies import STUDIES, content, texts
from tests.cli.test_claim_pages import Page, dead
from tests.cli.tiny_runs import faked, large, save, shrunken
from theory.ledger import published

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


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    """A table for every spec that comes with simlab."""
    return {name: faked(shrunken(name)) for name in MADE}


@pytest.fixture(scope="module")
def results(tables: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of all specs, verdicts of two claims, and a benchmark."""
    out = tmp_path_factory.mktemp("site")
    for name in MADE:
        save(out / "runs" / name, shrunken(name), tables[name])
    assert cli.main(["verify", "--claim", "gsd.speed", "--claim", "published.steps", "--out", str(out)]) == 0
    for name, frame in large().items():
        write_table(out / "large" / f"{name}.parquet", frame)
    (out / "bench.json").write_text(json.dumps(BENCH), encoding="utf-8")
    return out


@pytest.fixture(scope="module")
def built(results: Path) -> site.Site:
    return site.build(results)


def empty(folder: Path) -> Path:
    """Results with nothing in them but a verdict."""
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = {"simlab": "0", "seed": 0, "failed": {}, "claims": []}
    (folder / "verdicts.json").write_text(json.dumps(verdicts), encoding="utf-8")
    manifest = {"measured": False, "sequences": 0, "versions": {}, "seconds": {"all": 1.0}}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


# The pages ---------------------------------------------------------------------------------------------------------


def test_every_study_has_a_page_with_its_figures_and_no_excuse(results: Path, built: site.Site) -> None:
    assert not built.problems
    assert not built.missing
    assert {path.stem for path in (results / "studies").glob("*.html")} == set(MADE)
    for name in MADE:
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
    assert {path.name for path in pages} >= {"index.html", "report.html", "bench.html", "window.html"}
    for path in pages:
        assert dead(path) == [], path
        assert path.stat().st_size < LARGEST
        assert re.findall(r'(?:src|href)="https?:', path.read_text(encoding="utf-8")) == []
    links = set(Page(results / "index.html").links)
    assert links >= {"report.html", "published.html", "bench.html", *(f"studies/{name}.html" for name in MADE)}
    assert "../index.html" in Page(results / "studies" / "window.html").links
    assert "index.html" in Page(results / "report.html").links


def test_every_figure_is_a_pdf_too(results: Path, built: site.Site) -> None:
    told = [each["name"] for name in STUDIES for each in texts()[name].get("pictures", [])]
    told += [
        "bench-verification",
        "large-naive-16384",
        *(f"{each['name']}-1024" for each in texts()["large"]["pictures"]),
    ]
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
    figures.style()
    data = pdf(figures.steps(pd.DataFrame({"decoder": ["a"], "steps": [1], "probability": [1.0]})))
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
    assert set(texts()) == {*STUDIES, "large"}
    for name, study in STUDIES.items():
        assert len(texts()[name].get("pictures", [])) == len(study.figures)
        assert texts()[name]["lead"].strip()


# From saved results alone ------------------------------------------------------------------------------------------


def test_reports_know_nothing_that_simulates() -> None:
    known = "import sys, reports.__main__; print(sorted(m for m in sys.modules if m.startswith(('simlab', 'numba'))))"
    done = subprocess.run([sys.executable, "-c", known], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [name for name in MADE if name in STUDIES])
def test_figures_are_functions_of_the_table(
    name: str, tables: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read, the table stays as it was, and another table gives another figure."""
    figures.style()
    ledger, other = published(), faked(shrunken(name), seed=1)
    table = tables[name].copy(deep=True)
    for reader in ("read_parquet", "read_csv", "read_json"):
        monkeypatch.delattr(pd, reader)
    for draw in STUDIES[name].figures:
        assert shown(draw(table, ledger)) == shown(draw(table, ledger)) != shown(draw(other, ledger))
    pd.testing.assert_frame_equal(table, tables[name])


def shown(figure: Figure) -> list[object]:
    """What a figure shows, without the time it takes to draw it: numbers behind lines, bars, maps and texts."""
    seen: list[object] = []
    for ax in figure.axes:
        seen += [ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left"), *(text.get_text() for text in ax.texts)]
        seen += [np.nan_to_num(line.get_xydata()).tolist() for line in ax.lines]
        seen += [patch.get_path().vertices.tolist() for patch in ax.patches if not isinstance(patch, Rectangle)]
        seen += [(patch.get_xy(), patch.get_height()) for patch in ax.patches if isinstance(patch, Rectangle)]
        seen += [np.ma.getdata(each.get_array()).tolist() for each in ax.collections if each.get_array() is not None]
    return seen


def test_figures_on_large_vocabularies_are_functions_of_their_tables() -> None:
    figures.style()
    one, other, ledger = large(), large(seed=1), published()
    for name, draw in large_page.DRAW.items():
        own, others = (frame[name].query("vocabulary == 1024") for frame in (one, other))
        assert shown(draw(own, ledger)) == shown(draw(own, ledger)) != shown(draw(others, ledger))


def test_the_tables_of_large_vocabularies_have_the_columns_that_are_made() -> None:
    told = large_vocabulary.__doc__ or ""
    for name, columns in large_page.COLUMNS.items():
        assert name in told
        assert set(columns) <= set(large()[name].columns)
    made = large_vocabulary.naive(128, 1, rows=["flat"])
    assert set(large_page.COLUMNS["naive"]) <= set(made.columns)
    made = large_vocabulary.neighbours(128, 1, rows=["flat"])
    assert set(large_page.COLUMNS["neighbours"]) <= set(made.columns)


def test_printed_marks_are_the_ledgers(tables: dict[str, pd.DataFrame]) -> None:
    ledger = published()
    row = ledger.one({"L": "32"}, paper="sjd-pac", table="2", method="sjd+pd")
    moved = ledger.altered({row.line: 9.87})
    assert set(ablation_numbers(tables["ablation"], ledger)["printed"].dropna()) == {2.31, 2.71, 3.52, 4.51}
    assert set(ablation_numbers(tables["ablation"], moved)["printed"].dropna()) == {2.31, 9.87, 3.52, 4.51}
    drawn = {mark for ax in ablation(tables["ablation"], moved).axes for mark in printed_at(ax)}
    assert {2.31, 9.87, 3.52, 4.51} <= drawn
    assert 2.71 not in drawn
    assert sorted(tree_numbers(tables["tree"], ledger)["printed"]) == [4.23, 4.34, 4.42, 4.47, 4.49, 4.51]


def printed_at(ax: Axes) -> set[float]:
    """Where on the x axis marks of printed numbers stand."""
    marks = [line for line in ax.lines if line.get_markeredgecolor() == PRINTED_COLOUR]
    return {round(float(x), 6) for line in marks for x in line.get_xdata()}


def test_what_was_fitted_is_said(tables: dict[str, pd.DataFrame]) -> None:
    ledger = published()
    told = ablation_numbers(tables["ablation"], ledger).set_index(["decoder", "size"])["told"]
    assert set(told[told == "fitted"].index) == {("sjd", 32), ("sjd-pac", 64)}
    assert told["sjd-ac", 32] == told["sjd-ac", 64] == "predicted; not printed"
    assert told["sjd-pd", 32] == "predicted"
    trees = tree_numbers(tables["tree"], ledger).set_index(["K", "D"])["told"]
    assert list(trees[trees == "fitted"].index) == [(4, 3)]
    spec = shrunken("ablation").processes[0].parameters
    assert {f"process.{key}": spec[key] for key in ("locality", "jitter", "floor")} == CHOSEN


# The numbers -------------------------------------------------------------------------------------------------------


def small(image: list[int], calls: list[int], **more: list) -> pd.DataFrame:
    """Sequences of 60 tokens, one setting."""
    steps = np.array(calls)
    frame = {"process.image": image, "seed": 1, "replicate": range(len(calls)), "decoder": "sjd", "steps": steps}
    return pd.DataFrame(frame | {"tokens": 60, "compression": 60 / steps} | more)


def test_both_ratios_and_their_errors() -> None:
    found = averages(small([0, 1, 2], [10, 20, 60]), ["decoder"]).iloc[0]
    assert found["mean"] == pytest.approx((6 + 3 + 1) / 3)
    assert found["error"] == pytest.approx(np.std([6, 3, 1], ddof=1) / np.sqrt(3))
    assert found["pooled"] == pytest.approx(180 / 90)
    # the ratio of means r: residuals 60 - 2 calls are 40, 20, -60
    spread = np.sqrt((40**2 + 20**2 + 60**2) / 2 / 3) / 30
    assert found["pooled_error"] == pytest.approx(spread)
    assert found["sequences"] == found["units"] == 3


def test_sequences_of_one_image_count_as_one() -> None:
    table = small([0, 0, 1, 1], [10, 30, 20, 20])
    found = averages(table, ["decoder"]).iloc[0]
    assert (found["units"], found["sequences"]) == (2, 4)
    assert found["error"] == pytest.approx(np.std([4, 3], ddof=1) / np.sqrt(2))
    assert set(units(table.drop(columns="process.image"))) == {"1/0", "1/1", "1/2", "1/3"}
    assert np.isnan(averages(small([0], [10]), ["decoder"]).iloc[0]["error"])


def test_gains_are_paired_by_image_whatever_the_order() -> None:
    one, other = small([0, 1, 2], [10, 20, 60]), small([2, 0, 1], [30, 12, 15]).assign(decoder="sjd-pac")
    found = gains(other, ["decoder"], one).iloc[0]
    differences = [60 / 12 - 6, 60 / 15 - 3, 60 / 30 - 1]
    assert found["gain"] == pytest.approx(np.mean(differences))
    assert found["gain_error"] == pytest.approx(np.std(differences, ddof=1) / np.sqrt(3))
    with pytest.raises(Unsuitable, match="same images"):
        gains(small([0, 1, 3], [10, 20, 30]), ["decoder"], one)


def test_lengths_are_shares_of_calls_and_of_what_they_save() -> None:
    table = small([0, 1], [10, 20], lengths=[[4, 2], [1, 1, 0, 2]])
    found = lengths(table, ["decoder"]).set_index("tokens")
    assert list(found["share"]) == pytest.approx([5 / 10, 3 / 10, 0, 2 / 10])
    assert list(found["extra"]) == pytest.approx([0, 3 / 9, 0, 6 / 9])
    assert found["share_error"][1] == pytest.approx(np.sqrt((4 - 3) ** 2 + (1 - 2) ** 2) / np.sqrt(2) / 5)
    binned = lengths(table, ["decoder"], [1, 2, 3, 9]).set_index("tokens")
    assert list(binned.index) == [1, 2, 3]
    assert list(binned["share"]) == pytest.approx([5 / 10, 3 / 10, 2 / 10])
    assert list(binned["extra"]) == pytest.approx([0, 3 / 9, 6 / 9])


def test_profiles_are_means_place_by_place() -> None:
    table = small([0, 1], [10, 20], keep=[[0.5, 0.7], [0.9, np.nan, 0.3]])
    found = profiles(table, ["decoder"], "keep", 1)
    assert list(found["place"]) == [1, 2, 3]
    assert list(found["value"]) == pytest.approx([0.7, 0.7, 0.3])
    assert found["error"][0] == pytest.approx(0.2)


# What is missing, and what cannot be read --------------------------------------------------------------------------


def test_what_nobody_has_run_is_named_with_its_command(tmp_path: Path) -> None:
    built = site.build(empty(tmp_path))
    assert [study.name for study in built.missing] == sorted(MADE, key=site._order)
    text = Page(tmp_path / "index.html").text
    for name in MADE:
        assert f"not there: simlab run {name} --out {tmp_path.as_posix()}/runs/{name}" in text


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


def test_nothing_to_draw_is_wrong_usage(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "--out", str(tmp_path)]) == 2
    assert "there are no results of simlab verify, run or bench" in capfd.readouterr().err
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

    monkeypatch.setitem(studies.STUDIES, "tree", studies.Study([broken]))  # type: ignore[list-item]
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
    assert list((tmp_path / "figures").iterdir()) == own[1:]
    assert not (tmp_path / "bench.html").exists()


def test_names_of_runs_do_not_lead_out_of_the_folder(tmp_path: Path, tables: dict[str, pd.DataFrame]) -> None:
    spec = shrunken("relabel")
    save(tmp_path / "mine", replace(spec, written=spec.written | {"name": "../../<b>x"}), tables["relabel"])
    site.build(tmp_path, [tmp_path / "mine"])
    assert [path.name for path in (tmp_path / "studies").iterdir()] == ["-b-x.html"]
    assert "<b>x" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_two_figures_cannot_have_one_name() -> None:
    figures.style()
    draw, figure = Gallery().on(), figures.steps(pd.DataFrame({"decoder": ["a"], "steps": [1], "probability": [1.0]}))
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


def test_a_real_run_of_ones_own_has_a_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spec = parse_spec(REAL, "my-own.toml")
    table = run_sweep(spec, cells(spec), tmp_path / "sweeps" / "mine", local(1), Listener()).table
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


def test_figures_need_what_they_show(tables: dict[str, pd.DataFrame]) -> None:
    ledger = published()
    with pytest.raises(Unsuitable, match=r"no column decoder\.window"):
        window(tables["ablation"].drop(columns="decoder.window"), ledger)
    with pytest.raises(Unsuitable, match="no rows of sjd-pac with a budget of 64"):
        tree(tables["tree"].assign(**{"decoder.budget": 32}), ledger)
    with pytest.raises(Unsuitable, match=r"rule\.neighbours\.count"):
        lantern(tables["groups"], ledger)
    with pytest.raises(Unsuitable, match="distortion"):
        lantern(tables["lantern"].drop(columns=["distortion_tv"], errors="ignore"), ledger)


def test_the_index_counts_the_verdicts(results: Path, built: site.Site) -> None:
    claims = json.loads((results / "verdicts.json").read_text(encoding="utf-8"))["claims"]
    text = " ".join(Page(results / "index.html").text.split())
    for verdict in VERDICT_NAMES:
        count = sum(claim["verdict"] == verdict for claim in claims)
        assert (f"{count}{verdict}" in text) == (count > 0)


def test_the_index_sets_printed_beside_predicted(results: Path, built: site.Site, tmp_path: Path) -> None:
    text = Page(results / "index.html").text
    assert "Printed beside predicted" in text
    assert "SJD + AC, L = 32" in text
    site.build(empty(tmp_path))
    assert "Printed beside predicted" not in Page(tmp_path / "index.html").text


def test_specs_are_where_the_reports_look() -> None:
    assert SPECS.is_dir()
    assert set(STUDIES) <= set(MADE)
    assert content  # the studies are drawn in `built`
