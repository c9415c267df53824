"""``simlab prove --judge`` as a user meets it: rules that are brought, what is said, what is saved, what is drawn."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
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
from simlab.rules import RULES, make_rule
from theory.acceptance import alpha
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.cli
DEFAULT_EVERY = 3

PLAIN = """
import numpy as np

def accept(p, q, x):
    return min(1, p[x] / q[x])

def residual(p, q, x):
    over = np.maximum(p - q, 0)
    return over / over.sum() if over.sum() > 0 else p
"""

RULE = """
import random
import numpy as np
from types import SimpleNamespace
from simlab.rules import Amplify, codebook_neighbours, make_rule
import plain

class Rule:
    accept = staticmethod(plain.accept)
    residual = staticmethod(plain.residual)

class Changed(Rule):
    def __init__(self, **functions):
        self.__dict__.update(functions)

def in_place(p, q, x):
    row = plain.residual(p, q, x)
    p[x] = 0
    return row

def fails(p, q, x):
    raise RuntimeError("<script>alert(1)</script> & [red]more[/red]")

rule = Rule()
pair = plain.accept, plain.residual
namespace = SimpleNamespace(accept=plain.accept, residual=plain.residual)
built_in = Amplify(2)
half = Changed(accept=lambda p, q, x: plain.accept(p, q, x) / 2)
keeps_all = Changed(accept=lambda p, q, x: 1)
nan = Changed(residual=lambda p, q, x: p * np.nan)
shape = Changed(residual=lambda p, q, x: p[:-1])
mutates = Changed(residual=in_place)
raises = Changed(accept=fails)
large = Changed(accept=lambda p, q, x: p[x] / q[x])
nothing = Changed(accept=lambda p, q, x: None)
fickle = Changed(accept=lambda p, q, x: random.random())
single = Changed(
    accept=lambda p, q, x: np.minimum(1, np.float32(p[x]) / np.float32(q[x])),
    residual=lambda p, q, x: plain.residual(p.astype(np.float32), q.astype(np.float32), x),
)
endless = Changed(accept=lambda p, q, x: 10**400)
odd = Changed(accept=lambda p, q, x: 2.0 if len(p) == 64 and x == 5 else plain.accept(p, q, x))
barely = Changed(accept=lambda p, q, x: 1 - 1e-10, residual=fails)
sixth = Changed(accept=lambda p, q, x: 1 if len(p) == 7 else plain.accept(p, q, x))
late = Changed(residual=lambda p, q, x: 1 / 0 if len(p) == 64 and p.min() > 0 else plain.residual(p, q, x))

def make():
    return Rule()

def lantern(codebook):
    near = codebook_neighbours(codebook, min(4, len(codebook) - 1))
    return make_rule("lantern", neighbours=near, delta=0.2)

def needs(k, labels):
    return Rule()

def wrong():
    return 3

def broken():
    raise KeyError("missing")

number = 3
only = SimpleNamespace(accept=plain.accept)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder with rules in it, as the current one; searches and the map at their least."""
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "mine.py").write_text(RULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(judge, "SEARCH_SECONDS", 0.0)
    monkeypatch.setattr(judge, "MAP_SECONDS", 0.0)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def judged(folder: Path, spec: str, seed: int = 0) -> dict[str, Any]:
    """What judge.json holds, without the page."""
    rule = load_rule(spec, lambda vocabulary: codebook(seed, vocabulary))
    document = judge.judge(rule, spec, seed, folder / "out", lambda name, done, total: None)
    assert json.loads((folder / "out" / "judge.json").read_text(encoding="utf-8")) == document
    return document


# A whole run ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Two functions in a module, judged by the command, beside a decoy ``reports`` package."""
    folder = tmp_path_factory.mktemp("judge")
    (folder / "plain.py").write_text(PLAIN)
    (folder / "reports").mkdir()
    (folder / "reports" / "__main__.py").write_text("raise SystemExit('not the simlab package')")
    command = [sys.executable, "-P", "-c", "import sys; from experiments.cli.main import main; sys.exit(main())"]
    arguments = ["prove", "plain", "--judge", "--seed", "3", "--out", "results", "--json", "copy.json"]
    done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    return folder, done


@pytest.mark.slow
def test_a_lossless_rule_is_judged_so(run: tuple[Path, Any]) -> None:
    folder, done = run
    assert done.returncode == 0, done.stderr
    document = json.loads((folder / "results" / "judge.json").read_text(encoding="utf-8"))
    assert document["verdict"] == "lossless"
    assert document["arithmetic"] == "rationals"
    assert document["tolerance"] == 0
    assert document["counterexample"] is None
    assert document["seed"] == 3
    assert "no proof" in document["summary"]
    assert not any(one["found"] for one in document["searches"])
    assert document["behaves_like"]["rule"] == "speculative"
    assert document["map"]["tv"] < 1e-12
    assert [row["candidates"] for row in document["candidates"]] == [1, 2, 3]
    for row in document["candidates"]:
        assert row["acceptance"] == row["lossless"] <= row["optimum"] == row["frontier"]
        assert row["tv"] == 0


@pytest.mark.slow
def test_it_prints_the_verdict_and_where_things_are(run: tuple[Path, Any]) -> None:
    _, done = run
    assert done.stderr == ""
    assert done.stdout.startswith("lossless: no deviation found\n")
    texts = "accept returns one number from 0 to 1", "behaves like: speculative", "this rule", "judge.html", "\nproven "
    for text in texts:
        assert text in done.stdout


@pytest.mark.slow
def test_it_saves_whole_files_and_nothing_else(run: tuple[Path, Any]) -> None:
    folder, _ = run
    names = {"judge.json", "judge-manifest.json", "judge-map.parquet", "judge-frontier.parquet", "judge.html"}
    names |= {"answer.json", "check.py", "proof-1.smt2", "proof-2.smt2"}
    assert {path.name for path in (folder / "results").iterdir()} == names
    assert (folder / "copy.json").read_bytes() == (folder / "results" / "answer.json").read_bytes()
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {"plain.py", "reports", "results", "copy.json"}


@pytest.mark.slow
def test_every_built_in_rule_is_on_the_map(run: tuple[Path, Any]) -> None:
    table = pd.read_parquet(run[0] / "results" / "judge-map.parquet")
    assert set(table["family"]) == {*RULES, "this rule"}
    assert (table["gained"] <= table["tv"] + 1e-9).all()
    assert (table["wasserstein"] >= table["least_wasserstein"] - 1e-9).all()
    assert table["own"].sum() == 1
    assert set(table[table["nearest"]]["family"]) == set(table["family"])
    assert table["nearest"].sum() == table["family"].nunique()


@pytest.mark.slow
def test_the_page_stands_alone_and_is_drawn_from_the_files(run: tuple[Path, Any]) -> None:
    folder, _ = run
    page = (folder / "results" / "judge.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=.http|url\(.?http|@import|<script", page)
    assert page.count("<svg") == 1
    for text in ("<b>lossless</b>", "Acceptance bought with distortion", "The contract of a rule", "this rule"):
        assert text in page
    assert "smallest counterexample" not in page
    assert build(folder / "results").read_text(encoding="utf-8") == page


# Verdicts ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", mutants.RULES)
def test_every_wrong_variant_is_caught(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = mutants.RULES[name]
    monkeypatch.setattr("simlab.mutants.decoders.judged", rule, raising=False)
    document = judged(folder, "simlab.mutants.decoders:judged")
    assert document["verdict"] == "lossy"
    assert document["behaves_like"]["told"] == f"behaves like: the wrong variant “{name}”"
    found = document["counterexample"]
    p, q = np.array(found["p"]), np.array(found["q"])
    assert len(p) <= 4
    assert found["tv"] > 0
    np.testing.assert_allclose(step_law(rule, p, q), found["law"])
    assert acceptance(rule, p, q) == pytest.approx(found["acceptance"])
    assert alpha(p, q) == pytest.approx(found["acceptance_speculative"])


def test_a_counterexample_can_be_added_up_by_hand(folder: Path) -> None:
    document = judged(folder, "mine:half")
    found = document["counterexample"]
    law = np.zeros(len(found["p"]))
    for x, keep in found["accept"].items():
        law[int(x)] += found["q"][int(x)] * keep
        law += found["q"][int(x)] * (1 - keep) * np.array(found["residual"].get(x, law * 0))
    np.testing.assert_allclose(law, found["law"])
    searches = {one["question"]: one["found"] for one in document["searches"]}
    assert searches == {"law": True, "support": False, "acceptance": True, "wasteful": True}


def test_keeping_everything_emits_what_has_no_target_probability(folder: Path) -> None:
    document = judged(folder, "mine:keeps_all")
    assert document["verdict"] == "lossy"
    assert document["behaves_like"]["rule"] == "accepting every draft"
    support = next(one for one in document["searches"] if one["question"] == "support")
    emitted, wanted = np.array(support["example"]["law"]), np.array(support["example"]["p"])
    assert ((emitted > 0) & (wanted == 0)).any()


@pytest.mark.parametrize(
    ("name", "check", "message"),
    [
        ("nan", "residual", "residual returns NaN"),
        ("shape", "residual", "residual returns an array of shape (1,)"),
        ("mutates", "inputs", "residual changes p in place"),
        ("raises", "answers", "accept raises RuntimeError: <script>"),
        ("large", "accept", "accept returns 2"),
        ("nothing", "accept", "accept returns None"),
        ("fickle", "repeatable", "two ways"),
    ],
)
def test_a_rule_that_breaks_the_contract(name: str, check: str, message: str, folder: Path) -> None:
    document = judged(folder, f"mine:{name}")
    assert document["verdict"] == "breaks"
    assert document["map"] is None
    failing = {line["check"]: line for line in document["contract"] if line["outcome"] == "fails"}
    assert message in failing[check]["message"]
    assert len(failing[check]["example"]["p"]) == 2


def test_a_failure_that_only_the_map_shows_breaks_the_contract_too(folder: Path) -> None:
    document = judged(folder, "mine:late")
    assert document["verdict"] == "breaks"
    failing = [line for line in document["contract"] if line["outcome"] == "fails"]
    assert [line["check"] for line in failing] == ["later"]
    assert failing[0]["message"].startswith("residual raises ZeroDivisionError: division by zero; at V = 64, x = ")


def test_a_rule_that_computes_in_float32_may_be_off_by_as_much(folder: Path) -> None:
    document = judged(folder, "mine:single")
    assert document["verdict"] == "lossless"
    assert (document["arithmetic"], document["tolerance"]) == ("floats", 1e-5)
    assert "where rows are rationals" in document["not_rational"]


def test_the_same_seed_gives_the_same_bytes(folder: Path) -> None:
    judged(folder, "mine:half", seed=5)
    first = (folder / "out" / "judge.json").read_bytes()
    judged(folder, "mine:half", seed=5)
    assert (folder / "out" / "judge.json").read_bytes() == first


def test_nothing_of_an_earlier_rule_is_left(folder: Path) -> None:
    judged(folder, "mine:half")
    judged(folder, "mine:nan")
    assert {path.name for path in (folder / "out").iterdir()} == {"judge.json", "judge-manifest.json"}


# The command and the page --------------------------------------------------------------------------------------


def test_a_broken_contract_returns_1_and_is_drawn_without_markup_of_the_user(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["prove", "mine:raises", "--judge"]) == 1
    page = (folder / "out" / "proofs" / "mine.raises" / "judge.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; [red]more[/red]" in page
    printed = capsys.readouterr().out
    assert printed.startswith("breaks: it breaks the contract of a rule\n")
    assert "[red]more[/red]" in printed


def test_a_lossy_rule_is_refuted_and_its_page_shows_the_counterexample(folder: Path) -> None:
    assert cli.main(["prove", "mine:built_in", "--judge", "--size", "2", "--out", "page"]) == 1
    page = (folder / "page" / "judge.html").read_text(encoding="utf-8")
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
    p, q = (row[:5] for row in (np.array([0.5, 0.2, 0.1, 0.1, 0.1]), np.array([0.1, 0.1, 0.1, 0.2, 0.5])))
    doubled = load_rule("mine:built_in", lambda v: codebook(0, v))
    np.testing.assert_allclose(step_law(doubled, p, q), step_law(make_rule("amplify", k=2), p, q))
    lantern = judged(folder, "mine:lantern")
    assert lantern["verdict"] == "lossy"
    assert lantern["map"]["acceptance"] > lantern["map"]["lossless"]


def test_a_file_elsewhere_finds_its_neighbours(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    away = tmp_path_factory.mktemp("away")
    (away / "neighbour.py").write_text(PLAIN)
    (away / "it.py").write_text("from neighbour import accept, residual")
    assert (
        load_rule(f"{away / 'it.py'}", lambda v: codebook(0, v)).acceptance_of(
            np.array([0.5, 0.5]), np.array([0, 1.0]), 1
        )
        == 0.5
    )
    del sys.modules["neighbour"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("absent:rule", "there is no module 'absent'"),
        ("mine.deeper:rule", "there is no module 'mine.deeper'"),
        ("absent.py:rule", "there is no file 'absent.py'"),
        (":rule", "names no module"),
        ("", "names no module"),
        ("mine:rool", "mine has no 'rool'; it has SimpleNamespace, Amplify"),
        ("mine", "a module without accept and residual; expected an object with methods"),
        ("mine:number", "mine:number is 3; expected"),
        ("mine:only", "mine:only is namespace(accept="),
        ("mine:needs", "mine:needs needs k, labels; expected"),
        ("mine:in_place", "mine:in_place needs p, q, x; expected"),
        ("mine:wrong", "mine:wrong makes 3; expected"),
        ("mine:broken", "raises KeyError: 'missing'; expected"),
        ("simlab.rules:Amplify", "simlab.rules:Amplify needs k; expected"),
        ("failing:rule", "failing cannot be imported: ZeroDivisionError: division by zero"),
        ("needy:rule", "needy cannot be imported: ModuleNotFoundError: No module named 'absent'"),
        ("syntax.py:rule", "syntax.py cannot be imported: SyntaxError:"),
        ("leaves:rule", "leaves cannot be imported: SystemExit: 5"),
    ],
)
def test_wrong_usage_is_explained_and_returns_2(
    spec: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "failing.py").write_text("1 / 0")
    (folder / "needy.py").write_text("import absent")
    (folder / "syntax.py").write_text("def f(:\n    pass")
    (folder / "leaves.py").write_text("raise SystemExit(5)")
    with pytest.raises(SystemExit) as left:
        cli.main(["prove", spec])
    assert left.value.code == 2
    told = capsys.readouterr()
    assert told.err.startswith("simlab: ")
    assert message in told.err
    assert told.out == ""
    assert not (folder / "out").exists()


def test_a_folder_that_cannot_be_written_is_wrong_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "taken").write_text("")
    with pytest.raises(SystemExit) as left:
        cli.main(["prove", "mine:rule", "--out", "taken"])
    assert left.value.code == 2
    assert "expected a folder" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "told"), [("endless", "OverflowError"), ("odd", "V = 64, x = 5")])
def test_answers_that_come_as_a_surprise_break_the_contract(folder: Path, name: str, told: str) -> None:
    document = judged(folder, f"mine:{name}")
    assert document["verdict"] == "breaks"
    assert told in document["summary"]


@pytest.mark.parametrize("name", ["barely", "sixth"])
def test_what_is_kept_too_often_is_seen_at_any_size_and_the_residual_not_asked_for_nothing(
    folder: Path, name: str
) -> None:
    assert judged(folder, f"mine:{name}")["verdict"] == "lossy"


def test_a_copy_cannot_be_a_folder(folder: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["prove", "plain", "--json", str(folder)])
    assert stopped.value.code == 2


def test_rows_over_which_tokens_were_looked_at_are_listed(folder: Path) -> None:
    assert "V = 2 to 8, 12, 20" in judged(folder, "mine:rule")["summary"]
