"""The whole run at a small size: what is measured on digits is saved, and the page is drawn from it alone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.measurements import candidates, codebook, digits, digits_pac, small_processes
from experiments.verification import measurements, pool, verify
from experiments.verification.pool import Done, Task
from reports.figures.plot_style import RULE_STYLES, rule_style
from reports.pages import article
from reports.pages.report import build, papers
from reports.site import build as site
from simlab.processes.digits import fit_digits
from simlab.randomness import Tape
from simlab.rules import make_rule
from tests.support.frontiers import below
from theory.exact import acceptance
from theory.example_processes import random_process
from theory.papers import PAPERS

pytestmark = [pytest.mark.cli, pytest.mark.slow]  # all that `simlab verify` measures, at a small size

SEQUENCES = 6


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything `simlab verify` saves, for two claims and a few sequences a pair."""
    out = tmp_path_factory.mktemp("results")

    def in_this_process(tasks: Sequence[Task], follow: Callable[[Done], Sequence[Task]]) -> Iterator[Done]:
        for task in tasks:
            for name, job in task.jobs.items():
                done = pool.do(name, job)
                yield done
                after = follow(done)
                assert name != measurements.FIT or len(after) == measurements.AFTER_FIT
                yield from in_this_process(after, follow)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "run", in_this_process)
        patch.setattr(measurements, "SEQUENCES", SEQUENCES)
        patch.setattr(codebook, "CONTEXTS", 8)
        patch.setattr(candidates, "CONTEXTS", 2)
        processes = {"tokens / three": (random_process(0, 3, 3, zeros=0.3), small_processes.PAC)}
        patch.setattr(small_processes, "PAC_PROCESSES", processes)
        verify.verify(["gsd.speed", "leviathan.frontier"], 0, out, True, lambda done, count, total: None)
    return out


def test_every_decoder_rule_pair_is_measured(results: Path) -> None:
    table = pd.read_parquet(results / "digits.parquet")
    pairs = set(zip(table["decoder"], table["rule"], strict=True))
    judged = set(digits.DECODERS) - set(digits.RULELESS)
    assert pairs == {(d, r) for d in judged for r in digits.RULES} | {(d, "(none)") for d in digits.RULELESS}
    assert (table["sequences"] == SEQUENCES).all()


def test_lossless_pairs_spend_nothing_and_lossy_ones_stay_below_the_frontier(results: Path) -> None:
    table = pd.read_parquet(results / "digits-map.parquet")
    lossless = table[table["rule"] == "speculative"]
    np.testing.assert_allclose(lossless[["tv", "kl", "wasserstein"]], 0, atol=1e-12)
    assert (table["acceptance"] <= table["lossless"] + table["tv"] + 1e-12).all()
    assert (table[table["rule"] != "speculative"]["tv"] > 1e-3).all()


def test_no_rule_on_digits_crosses_the_frontier_in_distance(results: Path) -> None:
    bound = pd.read_parquet(results / "digits-frontier.parquet")
    assert set(bound["decoder"]) == {digits.MAPPED}
    points = pd.read_parquet(results / "digits-map.parquet").query("decoder == @digits.MAPPED")
    assert not below(points, bound).any()
    assert below(points.assign(wasserstein=0.1 * points["wasserstein"]), bound).any()


def test_trees_and_step_distributions_are_saved(results: Path) -> None:
    runs, lengths, steps = (
        pd.read_parquet(results / f"{n}.parquet") for n in ("digits-pac", "digits-lengths", "pac-steps")
    )
    assert set(runs["initial"]) == set(lengths["initial"]) == set(digits_pac.INITIALS)
    assert (runs["sequences"] == SEQUENCES).all()
    assert set(runs["decoder"]) == {"sjd", "sjd-ac", "sjd-pd", "sjd-pac"}
    totals = steps.groupby(["world", "decoder", "reading"])["probability"].sum()
    assert len(totals) == len(small_processes.PAC)
    np.testing.assert_allclose(totals, 1)


def test_distortion_only_grows_along_a_sequence(results: Path) -> None:
    table = pd.read_parquet(results / "digits-compounding.parquet")
    for _, line in table.groupby(["decoder", "rule"]):
        assert list(line["position"]) == list(range(64))
        assert (line[["tv", "kl", "wasserstein"]].diff().dropna() >= -1e-12).all(axis=None)


def test_recorded_contexts_are_the_drafts_that_were_verified() -> None:
    """With a rule that accepts nothing, exactly one draft a step is verified, at the first open position."""
    pair = fit_digits(0)
    nothing = make_rule("amplify", k=0)
    decoder = digits.DECODERS["sjd, random"]
    done, contexts = digits.decode(decoder, nothing, pair, Tape(1, 2))
    assert (done.steps == 64).all()
    for b in range(2):
        assert sorted(contexts.position[contexts.sequence == b]) == list(range(64))
    assert acceptance(nothing, contexts.p, contexts.q).max() == 0


def test_the_page_is_drawn_from_the_saved_files(results: Path) -> None:
    page = build(results).read_text(encoding="utf-8")
    titles = re.findall(r'<svg role="img" aria-label="([^"]+)"', page)
    assert len(set(titles)) == len(titles) == page.count("<svg ") == 10
    assert page.count("data:image/png;base64") == 1
    for row in pd.read_parquet(results / "codebook-map.parquet").to_dict("records"):
        assert f'<td class="rule">{row["rule"]}</td>' in page
        assert f'<td class="n">{row["wasserstein"]:.3f}</td>' in page
    for row in pd.read_parquet(results / "digits-pac.parquet").to_dict("records"):
        assert f'{row["one"]:.3f} <span class="soft">± {row["one_se"]:.3f}</span>' in page
    again = build(results).read_text(encoding="utf-8")
    assert again == page


@pytest.mark.usefixtures("own_results_alone")
def test_on_the_site_every_figure_of_the_report_is_a_pdf_too(results: Path) -> None:
    alone = build(results).read_text(encoding="utf-8")
    built = site.build(results)
    assert built.problems == []
    page = (results / "report.html").read_text(encoding="utf-8")
    figures = {path.stem for path in (results / "figures").glob("*.pdf")}
    names = {name for name in figures if not name.startswith(("continuous-", "draft-length-", "image-methods-"))}
    assert names == {
        "cells", "codebook-map", "rules-map", "candidates", "digits-map", "steps", "pac-steps-1", "compounding",
        "digits-compounding", "digits-samples", "digits-lengths",
    }  # fmt: skip
    assert all(f'href="figures/{name}.pdf"' in page for name in names)
    assert "figures/" not in alone
    assert 'href="index.html"' in page
    assert 'href="index.html"' not in alone


def test_article_and_poster_are_written_and_typeset_where_there_is_a_latex(results: Path) -> None:
    folder = article.build(results)
    drawn = {path.stem for path in (folder / "figures").glob("*.pdf")}
    for path in (folder / name for name in article.SOURCES):
        text = path.read_text(encoding="utf-8")
        assert text.count(r"\begin{") == text.count(r"\end{")
        assert set(re.findall(r"figures/([\w-]+)\.pdf", text)) <= drawn
        made = article.typeset(path)
        assert (made is None) == (shutil.which("pdflatex") is None)
        if made:
            assert made.read_bytes().startswith(b"%PDF")
            log = path.with_suffix(".log").read_text(encoding="latin-1")
            assert "Overfull" not in log
            assert ("(1 page," in log) == (path.name == "poster.tex")
            path.write_text(text.replace(r"\begin{document}", r"\nothing\begin{document}"))
            with pytest.raises(ValueError, match="Undefined control sequence"):
                article.typeset(path)


def test_every_rule_has_one_look_in_all_figures(results: Path) -> None:
    rules = {
        rule
        for name in ("digits-map", "codebook-map", "compounding", "digits-compounding")
        for rule in pd.read_parquet(results / f"{name}.parquet")["rule"]
        if rule != "(none)"
    }
    assert {rule_style(rule) for rule in rules} <= set(RULE_STYLES.values())
    assert rule_style("amplify, k = 2") == rule_style("amplify") != rule_style("addition, ε = 0.1")
    looks = [style for rule, style in RULE_STYLES.items() if rule != "lantern"]  # by L2, wherever it is not said
    assert len(set(looks)) == len(looks)
    assert RULE_STYLES["lantern"] == RULE_STYLES["lantern, l2"]


def test_papers_without_a_title_are_on_the_page_too() -> None:
    claims = [{"paper": paper} for paper in ("new", "sjd", "gsd", "sjd")]
    assert papers(claims) == {"gsd": PAPERS["gsd"].name, "sjd": PAPERS["sjd"].name, "new": "new"}
