"""``simlab prove --judge`` as a user meets it: rules that are brought, what is said, what is saved, what is drawn."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.cli import main as cli
from experiments.judging import judge
from experiments.judging.load_object import load_rule
from experiments.judging.measures import codebook
from reports.pages.judge import build
from simlab import mutants
from simlab.rules import RULES, codebook_neighbours, make_rule
from tests.support.callables import PLAIN
from tests.support.pages import fetched
from theory.acceptance import alpha
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.cli
DEFAULT_EVERY = 3

RULE = """
import numpy as np
from fractions import Fraction
from types import SimpleNamespace
from simlab.rules import Amplify, codebook_neighbours, make_rule
import plain

class Rule:
    accept = staticmethod(plain.accept)
    residual = staticmethod(plain.residual)

class Changed(Rule):
    def __init__(self, **functions):
        self.__dict__.update(functions)

def fails(p, q, x):
    raise RuntimeError("<script>alert(1)</script> & [red]more[/red]")

rule = Rule()
pair = plain.accept, plain.residual
namespace = SimpleNamespace(accept=plain.accept, residual=plain.residual)
built_in = Amplify(2)
half = Changed(accept=lambda p, q, x: plain.accept(p, q, x) / 2)
nan = Changed(residual=lambda p, q, x: p * np.nan)
raises = Changed(accept=fails)
rarely = Changed(accept=lambda p, q, x: min(1 - (5e-10 if p.dtype == float else Fraction(1, 2 * 10**9)), p[x] / q[x]))
late = Changed(residual=lambda p, q, x: 1 / 0 if len(p) == 64 and p.min() > 0 else plain.residual(p, q, x))

wide = Changed(accept=lambda p, q, x: plain.accept(p, q, x) if len(p) < 30 else 1)

def make():
    return Rule()

class Scaled(Rule):
    def __init__(self, k=1):
        self.k = k

    def accept(self, p, q, x):
        return min(1, self.k * p[x] / q[x])

def lantern(codebook):
    near = codebook_neighbours(codebook, min(4, len(codebook) - 1))
    return make_rule("lantern", neighbours=near, delta=0.2)
"""


@pytest.fixture
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with rules in it, as the current one; searches and the map at their least."""
    (here / "plain.py").write_text(PLAIN)
    (here / "mine.py").write_text(RULE)
    monkeypatch.setattr(judge, "SEARCH_SECONDS", 0.0)
    monkeypatch.setattr(judge, "MAP_SECONDS", 0.0)
    return here


def judged(folder: Path, spec: str, seed: int = 0) -> dict[str, Any]:
    """What judge.json holds, without the page."""
    rule = load_rule(spec, lambda vocabulary: codebook(seed, vocabulary))
    document = judge.judge(rule, spec, seed, folder / "out", lambda name, done, total: None)
    assert json.loads((folder / "out" / "judge.json").read_text(encoding="utf-8")) == document
    return document


# A whole run ---------------------------------------------------------------------------------------------------


def test_a_lossless_rule_is_judged_so_beside_every_built_in_one(
    folder: Path, undrawn: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two functions in a module. Its page is drawn here, from the files alone."""
    files = ["--out", "results", "--json", "copy.json"]
    assert cli.main(["prove", "plain", "--judge", "--size", "2", "--seed", "3", *files]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("lossless: ")
    assert "\nproven " in printed.out
    out = folder / "results"
    document = json.loads((out / "judge.json").read_text(encoding="utf-8"))
    assert document["verdict"] == "lossless"
    assert document["arithmetic"] == "rationals"
    assert document["tolerance"] == 0
    assert document["counterexample"] is None
    assert document["seed"] == 3
    assert not any(one["found"] for one in document["searches"])
    assert document["behaves_like"]["rule"] == "speculative"
    assert document["map"]["tv"] < 1e-12
    assert [row["candidates"] for row in document["candidates"]] == [1, 2, 3]
    for row in document["candidates"]:
        assert row["acceptance"] == row["lossless"] <= row["optimum"] == row["frontier"]
        assert row["tv"] == 0
    names = {"judge.json", "judge-manifest.json", "judge-map.parquet", "judge-frontier.parquet"}
    assert {path.name for path in out.iterdir()} == names | {"answer.json", "check.py", "proof-1.smt2"}
    assert (folder / "copy.json").read_bytes() == (out / "answer.json").read_bytes()

    table = pd.read_parquet(out / "judge-map.parquet")
    assert set(table["family"]) == {*RULES, "this rule"}
    assert (table["gained"] <= table["tv"] + 1e-9).all()
    assert (table["wasserstein"] >= table["least_wasserstein"] - 1e-9).all()
    assert table["own"].sum() == 1
    assert set(table[table["nearest"]]["family"]) == set(table["family"])
    assert table["nearest"].sum() == table["family"].nunique()

    page = build(out).read_text(encoding="utf-8")
    assert fetched(page) == []
    assert page.count("<svg") == 1
    assert "<b>lossless</b>" in page
    assert 'id="counterexample"' not in page


# Verdicts ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", mutants.RULES)
def test_every_wrong_variant_is_caught(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = mutants.RULES[name]
    monkeypatch.setattr("simlab.mutants.decoders.judged", rule, raising=False)
    document = judged(folder, "simlab.mutants.decoders:judged")
    assert document["verdict"] == "lossy"
    assert name in document["behaves_like"]["told"]
    found = document["counterexample"]
    p, q = np.array(found["p"]), np.array(found["q"])
    assert len(p) <= 4
    assert found["tv"] > 0
    np.testing.assert_allclose(step_law(rule, p, q), found["law"])
    assert acceptance(rule, p, q) == pytest.approx(found["acceptance"])
    assert alpha(p, q) == pytest.approx(found["acceptance_speculative"])


def test_the_same_seed_gives_the_same_bytes_and_a_counterexample_to_add_up_by_hand(folder: Path) -> None:
    """And nothing of an earlier rule is left."""
    document = judged(folder, "mine:half", seed=5)
    first = (folder / "out" / "judge.json").read_bytes()
    judged(folder, "mine:half", seed=5)
    assert (folder / "out" / "judge.json").read_bytes() == first
    judged(folder, "mine:nan")
    assert {path.name for path in (folder / "out").iterdir()} == {"judge.json", "judge-manifest.json"}
    found = document["counterexample"]
    law = np.zeros(len(found["p"]))
    for x, keep in found["accept"].items():
        law[int(x)] += found["q"][int(x)] * keep
        law += found["q"][int(x)] * (1 - keep) * np.array(found["residual"].get(x, law * 0))
    np.testing.assert_allclose(law, found["law"])
    searches = {one["question"]: one["found"] for one in document["searches"]}
    assert searches == {"law": True, "support": False, "acceptance": True, "wasteful": True}


def test_a_failure_that_only_the_map_shows_breaks_the_contract_too(folder: Path) -> None:
    document = judged(folder, "mine:late")
    assert document["verdict"] == "breaks"
    failing = [line for line in document["contract"] if line["outcome"] == "fails"]
    assert [line["check"] for line in failing] == ["later"]
    assert "ZeroDivisionError: division by zero; at V = 64, x = " in failing[0]["message"]


# The command and the page --------------------------------------------------------------------------------------


def test_a_broken_contract_returns_1_and_is_drawn_without_markup_of_the_user(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["prove", "mine:raises", "--judge"]) == 1
    page = (folder / "out" / "proofs" / "mine.raises" / "judge.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; [red]more[/red]" in page
    printed = capsys.readouterr().out
    assert printed.startswith("breaks: ")
    assert "[red]more[/red]" in printed


def test_nothing_that_was_proven_before_is_left_of_a_rule_that_breaks(folder: Path, undrawn: None) -> None:
    assert cli.main(["prove", "mine:rule", "--size", "2", "--out", "here"]) == 0
    assert cli.main(["prove", "mine:raises", "--judge", "--out", "here", "--json", "copy.json"]) == 1
    answer = json.loads((folder / "here" / "answer.json").read_text(encoding="utf-8"))
    assert (answer["outcome"], answer["files"]) == ("unknown", [])
    assert "breaks the contract" in answer["why"]
    assert (folder / "copy.json").read_bytes() == (folder / "here" / "answer.json").read_bytes()
    assert not list((folder / "here").glob("*.smt2"))


def test_a_rule_is_judged_with_its_settings(folder: Path, undrawn: None) -> None:
    assert cli.main(["prove", "mine:Scaled", "--judge", "--set", "k=1.5", "--size", "2", "--out", "here"]) == 1
    document = json.loads((folder / "here" / "judge.json").read_text(encoding="utf-8"))
    assert document["rule"] == "mine:Scaled --set k=1.5"
    assert document["verdict"] == "lossy"
    assert document["behaves_like"]["rule"] == "amplify, k = 3/2"


def test_what_is_proven_of_small_rows_and_lossy_at_larger_ones_is_no_success(
    folder: Path, undrawn: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["prove", "mine:wide", "--judge", "--size", "2"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("lossy: ")
    assert "\nproven " in printed


def test_in_rationals_nothing_is_too_small_to_be_seen(folder: Path) -> None:
    document = judged(folder, "mine:rarely")
    assert document["arithmetic"] == "rationals"
    assert document["verdict"] == "lossy"
    assert 0 < document["counterexample"]["tv"] < 1e-9


def test_a_lossy_rule_is_refuted_and_its_page_shows_the_counterexample(folder: Path, undrawn: None) -> None:
    assert cli.main(["prove", "mine:built_in", "--judge", "--size", "2", "--out", "page"]) == 1
    page = build(folder / "page").read_text(encoding="utf-8")
    document = json.loads((folder / "page" / "judge.json").read_text(encoding="utf-8"))
    section = page[page.index('id="counterexample"') : page.index('id="map"')]
    rows = re.findall(r"<tr><td>(\d+)</td>", section)
    assert len(rows) == len(document["counterexample"]["p"])
    for exact in document["counterexample"]["exact"]["law"]:
        assert f'<td class="n">{exact}</td>' in section
    assert page.count('<tr class="own"') == 2  # in the short table and in the whole one


@pytest.mark.slow
def test_verdicts_and_a_judged_rule_are_drawn_side_by_side(folder: Path) -> None:
    assert cli.main(["verify", "--claim", "gsd.speed", "--out", "both"]) == 0
    assert cli.main(["prove", "mine:nan", "--judge", "--out", "both"]) == 1
    assert {"report.html", "judge.html"} <= {path.name for path in (folder / "both").iterdir()}


# What may be named ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        *("mine:rule", "mine:Rule", "mine:Changed", "mine:make", "mine:pair", "mine:namespace", "mine:plain"),
        *("plain", "plain:", "plain.py", "./mine.py:rule", "simlab.rules:Speculative"),
    ],
)
def test_every_way_to_bring_the_lossless_rule(spec: str, folder: Path) -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(step_law(load_rule(spec, lambda v: codebook(0, v)), p, q), p)


def test_a_built_in_rule_and_one_made_from_a_codebook(folder: Path) -> None:
    p, q = np.array([0.5, 0.2, 0.1, 0.1, 0.1]), np.array([0.1, 0.1, 0.1, 0.2, 0.5])
    doubled = load_rule("mine:built_in", lambda v: codebook(0, v))
    np.testing.assert_allclose(step_law(doubled, p, q), step_law(make_rule("amplify", k=2), p, q))
    lantern = load_rule("mine:lantern", lambda v: codebook(0, v))
    for size in (4, 5):
        right = make_rule("lantern", neighbours=codebook_neighbours(codebook(0, size), min(4, size - 1)), delta=0.2)
        rows = p[:size] / p[:size].sum(), q[:size] / q[:size].sum()
        np.testing.assert_allclose(step_law(lantern, *rows), step_law(right, *rows))


def test_a_file_elsewhere_finds_its_neighbours(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    away = tmp_path_factory.mktemp("away")
    (away / "neighbour.py").write_text(PLAIN)
    (away / "it.py").write_text("from neighbour import accept, residual")
    rule = load_rule(f"{away / 'it.py'}", lambda v: codebook(0, v))
    assert rule.acceptance_of(np.array([0.5, 0.5]), np.array([0, 1.0]), 1) == 0.5
    del sys.modules["neighbour"]
