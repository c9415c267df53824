"""``simlab verify`` and ``simlab claims``: what they print, write and return; what loading the command line costs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from experiments.cli import claims
from experiments.cli.main import app, main
from experiments.cli.report import repeated
from experiments.cli.terminal import numbers_table, plain_math
from simlab.rules import make_rule
from tests.support.cli import simlab, usage_error
from theory.acceptance import alpha
from theory.claims import CLAIMS, VERDICTS
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.cli

QUICK = ["gsd.speed", "gsd.printed-slice", "gsd.unbiased", "leviathan.residual-cost"]


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One run over a few quick claims, in a folder that holds a decoy ``reports`` package."""
    folder = tmp_path_factory.mktemp("verify")
    (folder / "reports").mkdir()
    (folder / "reports" / "__main__.py").write_text("raise SystemExit('not the simlab package')")
    chosen = [part for id in QUICK for part in ("--claim", id)]
    done = simlab("verify", *chosen, "--out", "results", "--json", "copy.json", "--seed", "3", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.fixture(scope="module")
def document(verified: tuple[Path, Any]) -> dict[str, Any]:
    return json.loads((verified[0] / "results" / "verdicts.json").read_text(encoding="utf-8"))


def test_it_decides_the_claims_asked_for_and_their_parts(document: dict[str, Any]) -> None:
    ids = [entry["id"] for entry in document["claims"]]
    assert set(ids) == {*QUICK, *CLAIMS["gsd.unbiased"].parts}
    assert ids == [id for id in CLAIMS if id in ids]
    assert document["seed"] == 3
    assert document["failed"] == {}


def test_entries_have_what_the_contract_names(document: dict[str, Any]) -> None:
    for entry in document["claims"]:
        assert {"id", "paper", "where", "statement", "verdict", "assumptions", "evidence"} <= entry.keys()
        assert entry["verdict"] in VERDICTS
        assert entry["evidence"]
        for piece in entry["evidence"]:
            assert piece["kind"]
            assert piece["summary"]
        if entry["verdict"] == "refuted":
            assert any("counterexample" in piece for piece in entry["evidence"])


def test_a_counterexample_can_be_recomputed_from_the_file(document: dict[str, Any]) -> None:
    entry = next(e for e in document["claims"] if e["id"] == "gsd.printed-slice")
    found = entry["evidence"][0]["counterexample"]
    names = ("size", "max_gap", "max_distance", "distances", "window")
    rule = make_rule(found["rule"], **{name: found[name] for name in names})
    p, q = np.array(found["p"]), np.array(found["q"])
    assert acceptance(rule, p, q) == pytest.approx(found["acceptance"])
    assert acceptance(rule, p, q) < alpha(p, q) - 1e-6
    np.testing.assert_allclose(step_law(rule, p, q), found["law"])


def test_json_writes_the_same_document(verified: tuple[Path, Any]) -> None:
    folder, _ = verified
    assert (folder / "copy.json").read_bytes() == (folder / "results" / "verdicts.json").read_bytes()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(verified: tuple[Path, Any], tmp_path: Path) -> None:
    chosen = [part for id in QUICK for part in ("--claim", id)]
    assert main(["verify", *chosen, "--out", str(tmp_path), "--seed", "3"]) == 0
    assert (tmp_path / "verdicts.json").read_bytes() == (verified[0] / "results" / "verdicts.json").read_bytes()


def test_a_claim_decided_again_leaves_the_report_of_all_and_names_its_page(
    verified: tuple[Path, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    shutil.copytree(verified[0] / "results", out)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.rglob("*") if path.is_file()}
    assert main(["verify", "--claim", "gsd.speed", "--out", str(out), "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert f"page      {out / 'claims' / 'gsd.speed.html'}\n" in printed
    assert "gsd.printed-slice" not in printed  # the table is of what was asked for
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before
    assert len(before) == len([path for path in out.rglob("*") if path.is_file()])


def test_nothing_half_written_is_left(verified: tuple[Path, Any]) -> None:
    names = {path.name for path in (verified[0] / "results").iterdir()}
    assert names == {"verdicts.json", "manifest.json", "report.html", "claims"}


def test_the_table_names_every_claim_and_verdict(verified: tuple[Path, Any], document: dict[str, Any]) -> None:
    _, done = verified
    for entry in document["claims"]:
        line = next(line for line in done.stdout.splitlines() if line.startswith(entry["id"] + " "))
        assert entry["verdict"] in line
    assert "report" in done.stdout


def test_progress_is_silent_where_there_is_no_terminal(verified: tuple[Path, Any]) -> None:
    assert verified[1].stderr == ""


def test_the_report_stands_alone(verified: tuple[Path, Any], document: dict[str, Any]) -> None:
    page = (verified[0] / "results" / "report.html").read_text(encoding="utf-8")
    for entry in document["claims"]:
        assert f'id="{entry["id"].replace(".", "-")}"' in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "")
    assert "<script src" not in page
    assert "<link" not in page


def test_against_prints_what_changed(
    verified: tuple[Path, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = json.loads((verified[0] / "copy.json").read_text(encoding="utf-8"))
    old["claims"] = [e | ({"verdict": "holds"} if e["id"] == "gsd.speed" else {}) for e in old["claims"]]
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    files = "--out", str(tmp_path / "o"), "--against", str(tmp_path / "old.json")
    assert main(["verify", "--claim", "gsd.speed", *files]) == 0
    printed = capsys.readouterr().out
    assert "gsd.speed: holds -> refuted" in printed
    assert "gsd.printed-slice: was refuted, not part of this run" in printed


def test_claims_lists_all_of_them_whole_where_there_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims", "--out", str(tmp_path)]) == 0
    listed = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [id for id, *_ in listed] == list(CLAIMS)
    for id, verdict, where, statement in listed:
        assert (verdict, where) == ("-", CLAIMS[id].source.where)
        assert statement == " ".join(plain_math(CLAIMS[id].statement).split())


def test_claims_lists_verdicts_that_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = {"claims": [{"id": "gsd.speed", "verdict": "refuted"}]}
    (tmp_path / "verdicts.json").write_text(json.dumps(saved), encoding="utf-8")
    assert main(["claims", "--paper", "gsd", "--out", str(tmp_path)]) == 0
    found = dict(line.split("\t")[:2] for line in capsys.readouterr().out.splitlines())
    assert list(found) == [id for id, claim in CLAIMS.items() if claim.paper == "gsd"]
    assert {id: verdict for id, verdict in found.items() if verdict != "-"} == {"gsd.speed": "refuted"}


def test_claims_in_a_terminal_fit_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(claims, "output", lambda: screen)
    assert main(["claims", "--paper", "gsd", "--out", str(tmp_path)]) == 0
    lines = screen.file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert lines[0].split() == ["claim", "verdict", "statement"]


def test_an_explained_claim_has_its_verdict_and_those_of_its_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = {"claims": [{"id": "gsd.dynamic", "verdict": "refuted"}, {"id": "gsd.dynamic.scale", "verdict": "holds"}]}
    (tmp_path / "verdicts.json").write_text(json.dumps(saved), encoding="utf-8")
    assert main(["claims", "gsd.dynamic", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "gsd.dynamic (gsd, 4.1) refuted"
    assert "  gsd.dynamic.scale      holds" in lines
    assert "  gsd.dynamic.centred    -" in lines


@pytest.mark.parametrize("id", ["gsd.theorem-1.partition", "sjd.initialisation", "gsd.dynamic"])
def test_claims_explains_one(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", id]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    claim = CLAIMS[id]
    for text in (claim.statement, *claim.assumptions, *claim.parts, claim.proof):
        assert " ".join(plain_math(text).split()) in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "--claim", "gsd.teorem-1"], "gsd.theorem-1"),
        (["verify", "--paper", "nature"], "--paper nature: expected one of leviathan, "),
        (["verify", "--seed", "-1"], "--seed -1: expected a whole number >= 0"),
        (["verify", "--seed", "4294967296"], "--seed 4294967296: expected a whole number <= 4294967295"),
        (["verify", "--seed", "pi"], "--seed pi: expected a whole number"),
        (["verify", "--against", "missing.json"], "missing.json"),
        (["verify", "--against", "broken.json"], "expected a verdicts.json"),
        (["verify", "--out", "broken.json"], "expected a folder"),
        (["verify", "--paper", "sjdpac"], "; did you mean sjd-pac?"),
        (["verify", "--papers", "gsd"], "No such option: --papers"),
        (["verify", "gsd"], "unexpected extra argument"),
        (["claims", "nothing"], "unknown claim 'nothing'"),
        (["claims", "gsd"], "simlab claims --paper gsd lists that paper's claims"),
        (["train", "nothing"], "'nothing' is not one of 'tokenizer', 'classifier'"),
        (["judge", "mine.py"], "simlab judge is now part of simlab prove: simlab prove mine.py --judge"),
        (["prove"], "expected one of SUBJECT and --decoder NAME"),
        (["report", "--out", ".", "--runs", ".", "missing"], "--runs missing: there is no such folder"),
        (["report", "missing"], "unexpected extra argument"),
        (["veryfy"], "No such command 'veryfy'. Did you mean 'verify'"),
        ([], "Missing command"),
    ],
)
def test_wrong_usage_is_explained_and_returns_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "broken.json").write_text("[]")
    monkeypatch.chdir(tmp_path)
    assert message in usage_error(arguments, capsys)
    assert {path.name for path in tmp_path.iterdir()} == {"broken.json"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--runs", "a", "b", "--out", "c"], ["--runs", "a", "--runs", "b", "--out", "c"]),
        (["--runs=a", "b"], ["--runs=a", "--runs", "b"]),
        (["--out", "c", "--runs", "a", "--runs", "b"], ["--out", "c", "--runs", "a", "--runs", "b"]),
    ],
)
def test_an_option_takes_several_values(given: list[str], expected: list[str]) -> None:
    assert repeated("--runs", given) == expected


def test_reports_explains_what_is_missing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-P", "-m", "reports", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 2
    assert "verdicts.json is missing" in done.stderr


# Loading -----------------------------------------------------------------------------------------------------------

HEAVY = ("numba", "hypothesis", "pandas", "sklearn", "matplotlib", "torch", "ot", "pyarrow", "statsmodels")
NUMERICAL = ("numpy", "scipy", "rich", *HEAVY)


def loaded(arguments: list[str], names: tuple[str, ...]) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """A command run in a fresh interpreter, and which modules of these ``names`` it has loaded."""
    code = f"""
import json
import sys
from experiments.cli.main import main
from experiments.cli.terminal import plain_math
status = main({arguments})
print(json.dumps([name for name in {names} if name in sys.modules]))
sys.exit(status)
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["run", "--help"]])
def test_help_loads_no_numerical_library(arguments: list[str]) -> None:
    done, found = loaded(arguments, NUMERICAL)
    assert done.stdout.startswith("Usage: simlab" if "--help" in arguments else "simlab ")
    assert found == []


@pytest.mark.parametrize("arguments", [["claims"], ["claims", "sjd.window"]])
def test_claims_are_listed_without_what_decides_them(arguments: list[str]) -> None:
    done, found = loaded(arguments, HEAVY)
    assert "sjd.window" in done.stdout
    assert found == []


def test_one_exact_claim_is_decided_without_what_others_need(tmp_path: Path) -> None:
    """Its first answer is there at once: nothing is compiled, fitted or plotted for it."""
    done, found = loaded(["verify", "--claim", "gsd.dynamic.centred", "--out", str(tmp_path)], (*HEAVY, "scipy.stats"))
    assert "refuted" in done.stdout
    assert found == []
    assert (tmp_path / "report.html").exists()


def test_what_a_rule_does_is_shown_without_what_others_need() -> None:
    _, found = loaded(["show", "1/3,1/3,1/3", "1/4,1/2,1/4", "--rule", "lantern"], (*HEAVY, "scipy.stats"))
    assert found == []


def test_pages_without_figures_are_drawn_without_what_draws_them() -> None:
    code = (
        "import sys, reports.__main__, reports.pages.report, reports.pages.claims\n"
        f"print([name for name in {(*HEAVY, 'seaborn')} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_options(shell: str) -> None:
    """As its script asks: commands after the first letters, then options of the command."""
    code = "from experiments.cli.main import run_process; run_process()"

    def answer(line: str) -> str:
        asked = {"_SIMLAB_COMPLETE": f"complete_{shell}", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        asked |= {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        done = subprocess.run([sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout

    assert "verify" in answer("simlab ver")
    assert "--claim" in answer("simlab verify --cl")
    assert "--claim" not in answer("simlab show --cl")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "simlab: device needs torch: pip install 'simlab[torch]'" in usage_error(["device"], capsys)


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    names = [command.name for command in app.registered_commands]
    assert len(set(names)) == len(names) == 18
    for name in names:
        assert main([str(name), "--help"]) == 0
        assert f"Usage: simlab {name}" in capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 80, 150])
def test_a_table_of_numbers_is_never_cut(width: int) -> None:
    """What a terminal has no room for follows in lines of its own, beside the names."""
    screen = Console(file=StringIO(), width=width, color_system=None)
    names = ["method", "steps", "tokens/call ± s.e.", "speedup, batch 1", "speedup, batch 16", "bits", "accuracy"]
    rows = [["sjd-pac-gumbel", "48.4", "4.103 ± 0.157", *["1.79 ± 0.05 (2.04)"] * 2, "3.860", "0.900"]]
    screen.print(numbers_table(screen, names, rows, "10 images"), highlight=False)
    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    cells = [cell for line in lines for cell in line.strip().split("  ") if cell]
    assert {"10 images", *names, *rows[0]} == {cell.strip() for cell in cells}
    assert max(map(len, lines)) <= width
    assert sum(line.startswith("sjd-pac-gumbel") for line in lines) == {60: 3, 80: 2, 150: 1}[width]


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"$\alpha_{GSD} \ge \alpha_{SD}$ holds", "α_GSD ≥ α_SD holds"),
        (r"$q(x) \le \eta$", "q(x) ≤ η"),
        (r"$\delta = 0.15$, $x\ne y$", "δ = 0.15, x ≠ y"),
        (r"$1 - \alpha^{\gamma + 1}$, $p^{(k)}$", "1 - α^(γ + 1), p^(k)"),
        ("no formula", "no formula"),
    ],
)
def test_formulas_read_well_in_a_terminal(latex: str, shown: str) -> None:
    assert plain_math(latex) == shown


def test_a_run_that_is_taken_for_results_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "table.parquet").touch()
    told = usage_error(["report", "--out", str(tmp_path)], capsys)
    assert f"is a run; expected a folder of results. simlab report --runs {tmp_path} draws it" in told


def test_a_reader_that_has_enough_is_no_error() -> None:
    done = subprocess.run(
        "set -o pipefail; simlab claims | head -1", shell=True, executable="/bin/bash", capture_output=True, text=True,
        check=False, env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) in ((141, ""), (0, ""))
    assert done.stdout.startswith("leviathan.")
