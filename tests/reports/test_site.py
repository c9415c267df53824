"""The whole site: drawn from saved tables alone, whole, and telling what is missing.

What all pages must do is in tests/reports/test_pages.py. Tables here have the columns of real ones and numbers at
random (:mod:`tests.support.tiny_runs`); one run is real.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from markupsafe import escape

from experiments.bench.verifying import setting
from experiments.cli import main as cli
from experiments.sweeps import parse_spec
from reports.__main__ import _pages
from reports.data.sweeps import Run, find, shipped
from reports.figures.plot_style import use_style
from reports.figures.small_processes import steps
from reports.pages import study as study_pages
from reports.pages import study_tables
from reports.pages.elements import texts
from reports.pages.study import STUDIES
from reports.site import build as site
from reports.site.gallery import Gallery
from reports.site.html import png, svg
from tests.support.page_documents import BENCH, CERTIFICATE, RATIO
from tests.support.pages import Page, empty, write
from tests.support.sweeps import GOOD, MANY
from tests.support.tiny_runs import faked, save, save_study, shrunken, table_of
from theory.published.ledger import published

pytestmark = [pytest.mark.cli, pytest.mark.usefixtures("own_pages_alone")]

MADE = sorted(shipped())


@pytest.mark.slow
def test_every_study_has_a_page_with_its_figures_and_no_excuse(tmp_path: Path) -> None:
    for name in MADE:
        save_study(tmp_path / "runs" / name, name)
    built = site.build(tmp_path)
    assert not built.problems
    assert not built.missing
    assert {path.stem for path in (tmp_path / "studies").glob("*.html")} == set(MADE)
    index = Page(built.index).text
    for name in MADE:
        text = (tmp_path / "studies" / f"{name}.html").read_text(encoding="utf-8")
        assert 'class="note"' not in text  # why figures of its own are missing
        for told in texts().get(name, {}).get("pictures", []):
            assert f'aria-label="{told["heading"]}"' in text
            assert f'href="../figures/{told["name"]}.pdf"' in text
            assert told.get("counterpart", "") in index
    assert "SJD + AC, L = 32" in index  # printed beside predicted


def test_every_text_has_a_figure_and_every_figure_a_text() -> None:
    assert set(texts()) == {
        *STUDIES,
        "large",
        "continuous",
        "continuous_models",
        "draft-length",
        "image_methods",
        "models",
    }
    for name, study in STUDIES.items():
        assert len(texts()[name].get("pictures", [])) == len(study.figures)
        assert texts()[name]["lead"].strip()


# What is missing, and what comes along -----------------------------------------------------------------------------


def test_what_nobody_has_run_or_finished_is_named_with_its_command(tmp_path: Path) -> None:
    (empty(tmp_path) / "runs" / "tree" / "cells").mkdir(parents=True)
    built = site.build(tmp_path)
    assert [study.name for study in built.missing] == sorted(MADE, key=study_pages.order)
    text = Page(tmp_path / "index.html").text
    for study in built.missing:
        assert study.state == ("not finished" if study.name == "tree" else "not there")
        assert study.command == f"simlab run {study.name} --out {tmp_path.as_posix()}/runs/{study.name}"
        assert f"{study.state}: {study.command}" in text


@pytest.mark.slow
def test_a_run_that_comes_along_is_drawn_where_there_are_claims_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_study(tmp_path / "kept" / "tree", "tree")
    monkeypatch.setattr(site, "KEPT", tmp_path / "kept")
    out = empty(tmp_path / "out")
    built = site.build(out)
    assert "studies/tree.html" in built.pages
    assert "tree" not in [missing.name for missing in built.missing]
    save_study(out / "runs" / "tree", "tree")
    built = site.build(out)
    assert str(out / "runs" / "tree") in (out / "studies" / "tree.html").read_text(encoding="utf-8")
    assert not built.notes
    with pytest.raises(FileNotFoundError):
        site.build(tmp_path / "nothing")


def test_a_table_of_another_spec_has_a_page_without_the_figures(tmp_path: Path) -> None:
    spec = shrunken("tree")
    save(tmp_path / "mine", replace(spec, written=spec.written | {"name": "window"}), table_of("tree"))
    site.build(tmp_path, [tmp_path / "mine"])
    text = Page(tmp_path / "studies" / "window.html").text
    assert "sjd" in text
    assert "candidates = 5" in text
    assert not list((tmp_path / "figures").glob("window*"))


def test_figures_that_another_spec_has_no_numbers_for_leave_the_site_whole(tmp_path: Path) -> None:
    """A copy of the spec of that name in which one decoder goes without a parameter that the figures are over."""
    spec = shrunken("tree")
    other = replace(spec, written=spec.written | {"title": "Mine"})
    column = table_of("tree")["decoder.candidates"]
    table = table_of("tree").assign(**{"decoder.candidates": column.astype("Int64").mask(column == column.max())})
    save(tmp_path / "mine", other, table)
    save_study(tmp_path / "others", "relabel")
    assert site.build(tmp_path, [tmp_path / "mine", tmp_path / "others"]).problems == []
    text = Page(tmp_path / "studies" / "tree.html").text
    assert text.count("cannot be drawn") == 1  # of figures and tables it is the same reason
    assert "cannot be made" not in text
    with pytest.raises(ValueError, match="NA"):
        study_pages.study(Run("tree", "", spec.written | {"title": spec.title}, {}, table, tmp_path), published())


def test_a_table_that_cannot_be_made_leaves_the_figures() -> None:
    table = table_of("lengths").drop(columns="loglik_std")
    made = study_pages.study(Run("lengths", "", {}, {}, table, Path()), published())
    assert len(made.pictures) == len(STUDIES["lengths"].figures)
    assert "loglik_std" in made.note


def test_a_run_called_as_another_page_does_not_say_what_stands_there(tmp_path: Path) -> None:
    made = study_pages.study(Run("models", "", {}, {}, table_of("tree"), tmp_path), published())
    assert (made.lead, made.note) == ("", "")


def test_a_run_that_was_stopped_says_how_far_it_is(tmp_path: Path) -> None:
    folder = save_study(tmp_path / "runs" / "tree", "tree")
    manifest = json.loads((folder / "manifest.json").read_text())
    write(folder / "manifest.json", manifest | {"cells": {"all": 1060, "kept": 4, "computed": 20, "stale": 0}})
    site.build(tmp_path)
    assert "so far 24 of 1,060 cells" in Page(tmp_path / "studies" / "tree.html").text
    write(folder / "manifest.json", manifest | {"cells": "none"})
    site.build(tmp_path)
    assert "so far" not in Page(tmp_path / "studies" / "tree.html").text


def test_a_table_with_other_rows_than_its_run_is_named(tmp_path: Path) -> None:
    folder = save_study(empty(tmp_path) / "runs" / "tree", "tree")
    table_of("tree").iloc[1:].to_parquet(folder / "table.parquet")
    (problem,) = site.build(tmp_path).problems
    assert "runs/tree/table.parquet" in problem
    assert f"{len(table_of('tree')) - 1} rows" in problem


def test_a_certificate_alone_makes_a_site(tmp_path: Path) -> None:
    write(tmp_path / "certify" / "certificate.json", CERTIFICATE)
    assert "certify/certificate.html" in site.build(tmp_path).pages
    assert "mine:verify" in Page(tmp_path / "certify" / "certificate.html").text


def test_benchmarks_of_a_run_stand_beside_versions_before(tmp_path: Path) -> None:
    shares = [
        RATIO | {"what": setting(size, where, 0.25, blocks), "against": against}
        for against in ("reading alone", "reading the same rows")
        for size in (1024, 16384)
        for where in ("inside", "beyond")
        for blocks in ("rejecting", "accepting")
    ]
    told = {"kind": "share", "value": 0.5, "at_least": None, "at_most": None, "met": None}
    write(tmp_path / "bench.json", BENCH | {"ratios": [*BENCH["ratios"], *(one | told for one in shares)]})
    assert site.build(tmp_path).problems == []
    figure = next(tmp_path.rglob("bench-reading*.svg")).read_text(encoding="utf-8")
    for label in ("rejecting, 0.25.0", "accepting, 0.26.0", "accepting, reading the same rows", "accepting, this run"):
        assert label in figure


# Whole or not at all -----------------------------------------------------------------------------------------------


def test_nothing_is_written_where_a_page_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tree", "lengths"):
        save_study(tmp_path / "runs" / name, name)

    def broken(*_: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setitem(STUDIES, "tree", study_pages.Shown([broken]))  # type: ignore[list-item]
    with pytest.raises(RuntimeError):
        site.build(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}


def test_figures_of_earlier_builds_go_away_and_others_stay(tmp_path: Path) -> None:
    write(empty(tmp_path) / "bench.json", BENCH)
    site.build(tmp_path)
    own = tmp_path / "figures" / "mine.pdf"
    own.write_text("the reader's own", encoding="utf-8")
    (tmp_path / "bench.json").unlink()
    site.build(tmp_path)
    assert list((tmp_path / "figures").iterdir()) == [own]


def test_names_of_runs_do_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    spec = shrunken("relabel")
    save(tmp_path / "mine", replace(spec, written=spec.written | {"name": "../../<b>x"}), table_of("relabel"))
    site.build(tmp_path, [tmp_path / "mine"])
    (page,) = (tmp_path / "studies").iterdir()
    assert "b-x" in page.name
    assert "<b>x" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_runs_of_other_names_have_other_pages() -> None:
    """Names such as ``simlab run`` takes, and what a manifest may say besides."""
    names = ("a.b", "a-b", "a b", "a/b")
    runs = [Run(name, "", {}, {}, pd.DataFrame(), Path()) for name in names]
    paths = [study_pages.Study(run, "", []).path for run in runs]
    assert paths[:2] == ["studies/a.b.html", "studies/a-b.html"]
    assert len(set(paths)) == len(names)


def test_a_run_with_other_seeds_is_made_again_with_them() -> None:
    spec = shrunken("tree").written
    runs = [Run("tree", "", one, {}, pd.DataFrame(), Path("a b")) for one in (spec, spec | {"seeds": [7, 8]}, {})]
    out = "--out 'a b'"
    wanted = f"simlab run tree {out}", f"simlab run tree {out} --seed 7 --seed 8", f"simlab run tree.toml {out}"
    assert tuple(run.again for run in runs) == wanted


def test_of_one_page_only_what_it_is_made_of_is_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _pages(empty(tmp_path), ["judge"]) == 2
    assert f"{tmp_path / 'judge.json'} is missing; expected" in capsys.readouterr().err


def test_two_figures_cannot_have_one_name() -> None:
    use_style()
    draw, figure = Gallery().on(), steps(pd.DataFrame({"decoder": ["a"], "steps": [1], "probability": [1.0]}))
    assert "figures/steps.pdf" in draw("steps", figure, "steps")
    with pytest.raises(ValueError, match="steps"):
        draw("steps", figure, "steps")


def test_the_name_of_a_figure_is_text() -> None:
    figure = steps(pd.DataFrame({"decoder": ["a"], "steps": [1], "probability": [1.0]}))
    title = 'a "b" <c> & \\1'
    assert all(f'="{escape(title)}"' in drawn(figure, title) for drawn in (svg, png))


# Where runs are, and a real one ------------------------------------------------------------------------------------


def test_runs_are_found_once_wherever_they_are(tmp_path: Path) -> None:
    for folder in ("a/tree", "b/again"):
        save_study(tmp_path / folder, "tree")
    assert find([tmp_path / "a", tmp_path / "a" / "tree"]) == [tmp_path / "a" / "tree"]
    assert find([tmp_path / "none"]) == []
    (note,) = site.build(tmp_path, [tmp_path / "a", tmp_path / "b"]).notes
    assert note.index(str(tmp_path / "a" / "tree")) < note.index(str(tmp_path / "b" / "again"))


def test_what_verify_left_is_no_run(tmp_path: Path) -> None:
    """Its manifest would be called damaged, and the reader told to remove it."""
    built = site.build(empty(tmp_path / "out"), [tmp_path])
    assert built.problems == []
    (note,) = built.notes
    assert note.startswith(f"{tmp_path} has no runs")


LABELLED = GOOD.replace("grid.window = [2, 3]", "window = 2").replace("grid.delta = [0.0, 0.5]", "delta = 0.5")
ALIKE = [  # decoders that would read the same: one of two has a parameter, or they differ in their name
    ('name = "sjd"\nwindow = 2\ninitial = "repeat-left"', ["", "initial = repeat-left"]),
    ('name = "jacobi"\nlabel = "sjd"\nwindow = 2', ["name = sjd", "name = jacobi"]),
]


@pytest.mark.parametrize(("other", "told"), ALIKE)
def test_settings_that_would_read_the_same_are_not_pooled(other: str, told: list[str]) -> None:
    table = faked(parse_spec(LABELLED.replace('name = "speculative"\ngamma = 2', other), "spec"))
    shown = study_tables.settings(table)
    place = shown.columns.index("what varies")
    assert [row[place] for row in shown.rows] == told
    whose = table["decoder"] + table.get("decoder.initial", pd.Series("", index=table.index)).fillna("")
    means = table.groupby(whose, sort=False)["compression"].mean()
    assert [row[place + 2].partition(" ")[0] for row in shown.rows] == [f"{mean:.3f}" for mean in means]


def test_lossy_rules_are_held_against_the_lossless_one_for_each_decoder() -> None:
    text = GOOD.replace('["lengths", "loglik"]', '["distortion"]').replace("grid.delta = [0.0, 0.5]", "delta = 0.5")
    table = faked(parse_spec(text + '[[rule]]\nname = "speculative"\n', "spec"))
    shown = study_tables.trades(table, published())
    records = [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]
    names = ["sjd window = 2", "sjd window = 3", "speculative"]
    assert list(dict.fromkeys(record["decoder"] for record in records)) == names
    own = table[(table["decoder.window"] == 3) & (table["rule"] == "lantern")]["compression"]
    (mean,) = (each["mean"] for each in records if (each["decoder"], each["rule"]) == (names[1], "lantern"))
    assert mean.partition(" ")[0] == f"{own.mean():.3f}"


REAL = (
    MANY.replace('"many"', '"my-own"')
    .replace("Many quick cells", "Chains & windows")
    .replace('"1..20"', "[1, 2]")
    .replace("replicates = 12", "replicates = 2")
    .replace("window = 8", "grid.window = [2, 4]")
)


@pytest.mark.slow
def test_a_real_run_of_ones_own_has_a_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my-own.toml").write_text(REAL, encoding="utf-8")
    folder = tmp_path / "sweeps" / "mine"
    assert cli.main(["run", str(tmp_path / "my-own.toml"), "--out", str(folder), "--workers", "1"]) == 0
    table = pd.read_parquet(folder / "table.parquet")
    capfd.readouterr()
    assert cli.main(["report", "--out", str(tmp_path)]) == 0
    said = capfd.readouterr()
    assert str(tmp_path / "index.html") in said.out
    assert "simlab run window" in said.out
    assert said.err == ""
    text = Page(tmp_path / "studies" / "my-own.html").text
    for piece in ("Chains & windows", "4 sequences a setting", "window = 2", "window = 4", "my-own.toml"):
        assert piece in text
    mean = table[table["decoder.window"] == 4]["compression"]
    assert f"{mean.mean():.3f} ± {mean.sem():.3f}" in text
