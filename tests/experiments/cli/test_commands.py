"""``simlab verify`` and ``simlab claims``: what they print, write and return; and the command line as a whole.

Where a check fails, tasks run in this process, so that a claim can be replaced.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from experiments.cli import claims
from experiments.cli.main import main, run_process
from experiments.results import write_json
from experiments.terminal import numbers_table, plain_math, plain_table
from experiments.verification import pool
from experiments.verification.claims import with_parts
from experiments.verification.pool import Done, Task
from experiments.verification.verify import verify
from tests.support.cli import simlab, usage_error
from theory.claims import CLAIMS, CheckFailed, Finding

pytestmark = pytest.mark.cli

QUICK = ["gsd.speed", "gsd.dynamic.centred", "gsd.unbiased", "leviathan.residual-cost"]


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One run over a few quick claims, in a process of its own, as for a user."""
    folder = tmp_path_factory.mktemp("verify")
    chosen = [part for id in QUICK for part in ("--claim", id)]
    asked = ["verify", *chosen, "--out", "results", "--json", "copy.json", "--seed", "3"]
    done = simlab(*asked, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")  # no progress where there is no terminal
    return folder, done


@pytest.fixture(scope="module")
def document(verified: tuple[Path, Any]) -> dict[str, Any]:
    return json.loads((verified[0] / "results" / "verdicts.json").read_text(encoding="utf-8"))


def test_it_decides_the_claims_asked_for_and_their_parts_and_prints_them(
    verified: tuple[Path, Any], document: dict[str, Any]
) -> None:
    ids = [entry["id"] for entry in document["claims"]]
    assert set(ids) == {*QUICK, *CLAIMS["gsd.unbiased"].parts}
    assert ids == [id for id in CLAIMS if id in ids]
    assert document["seed"] == 3
    assert document["failed"] == {}
    for entry in document["claims"]:
        line = next(line for line in verified[1].stdout.splitlines() if line.startswith(entry["id"] + " "))
        assert entry["verdict"] in line


def test_whole_files_are_written_and_nothing_else(verified: tuple[Path, Any]) -> None:
    folder, _ = verified
    names = {path.name for path in (folder / "results").iterdir()}
    assert names == {".lock", "verdicts.json", "manifest.json", "report.html", "claims"}
    assert (folder / "copy.json").read_bytes() == (folder / "results" / "verdicts.json").read_bytes()


def test_a_claim_decided_again_leaves_the_report_of_all_and_names_its_page(
    verified: tuple[Path, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    shutil.copytree(verified[0] / "results", out)
    (out / ".lock").unlink()
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.rglob("*") if path.is_file()}
    assert main(["verify", "--claim", "gsd.speed", "--out", str(out), "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert str(out / "claims" / "gsd.speed.html") in printed
    assert "gsd.dynamic.centred" not in printed  # the table is of what was asked for
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before
    assert len(before) == len([path for path in out.rglob("[!.]*") if path.is_file()])


def test_verdicts_are_not_written_into_the_folder_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A manifest says what a folder holds: a run's would be gone."""
    write_json(tmp_path / "manifest.json", {"spec": {"name": "one"}})
    given = ["verify", "--claim", "gsd.speed", "--out", str(tmp_path)]
    assert "manifest.json there is of another command" in usage_error(given, capsys)
    assert json.loads((tmp_path / "manifest.json").read_text()) == {"spec": {"name": "one"}}


def test_against_prints_what_changed(
    verified: tuple[Path, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = json.loads((verified[0] / "copy.json").read_text(encoding="utf-8"))
    old["claims"] = [e | ({"verdict": "refuted"} if e["id"] == "gsd.speed" else {}) for e in old["claims"]]
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    files = "--out", str(tmp_path / "o"), "--against", str(tmp_path / "old.json")
    assert main(["verify", "--claim", "gsd.speed", *files]) == 0
    printed = capsys.readouterr().out
    assert "gsd.speed: refuted -> holds" in printed
    assert "gsd.dynamic.centred: was refuted" in printed


# Claims ------------------------------------------------------------------------------------------------------------


def test_claims_lists_all_of_them_whole_where_there_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims", "--out", str(tmp_path)]) == 0
    listed = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [id for id, *_ in listed] == list(CLAIMS)
    for id, verdict, where, statement in listed:
        assert (verdict, where) == ("-", CLAIMS[id].source.where)
        assert statement == " ".join(plain_math(CLAIMS[id].statement).split())


def test_what_no_claim_has_is_told_and_a_question_has_few_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "is", "gsd", "lossless", "qqqqqq"]) == 0
    said = capsys.readouterr()
    first, *others = said.out.splitlines()
    assert first.startswith("gsd.unbiased.group-residual\t")
    assert "GSD is not lossless" in first
    assert len(others) < 10
    assert "no claim has 'qqqqqq'" in said.err


def test_of_one_paper_the_claims_that_answer_best_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where those of others answer a question better by far."""
    assert main(["claims", "--paper", "candidates", "is sjd lossless"]) == 0
    assert capsys.readouterr().out.startswith("candidates.lossless\t")
    with pytest.raises(SystemExit):
        main(["claims", "--paper", "traversal", "codebook"])
    assert "no claim of traversal has to do with 'codebook'" in capsys.readouterr().err


def test_claims_in_a_terminal_fit_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(claims, "output", lambda: screen)
    assert main(["claims", "--paper", "gsd", "--out", str(tmp_path)]) == 0
    lines = screen.file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) > len([claim for claim in CLAIMS.values() if claim.paper == "gsd"])


def test_an_explained_claim_has_its_verdict_and_those_of_its_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = {"id": "gsd.dynamic", "verdict": "refuted", "evidence": [{"kind": "example", "summary": "a row"}]}
    saved = {"claims": [whole, {"id": "gsd.dynamic.scale", "verdict": "holds"}]}
    (tmp_path / "verdicts.json").write_text(json.dumps(saved), encoding="utf-8")
    assert main(["claims", "gsd.dynamic", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    first, *lines = [line.split() for line in printed.splitlines()]
    assert (first[0], first[-1]) == ("gsd.dynamic", "refuted")
    assert ["gsd.dynamic.scale", "holds"] in lines
    assert ["gsd.dynamic.centred", "-"] in lines
    assert "evidence\n  a row\n" in printed
    assert main(["claims", "--paper", "gsd", "--out", str(tmp_path)]) == 0
    found = dict(line.split("\t")[:2] for line in capsys.readouterr().out.splitlines())
    assert list(found) == [id for id, claim in CLAIMS.items() if claim.paper == "gsd"]
    assert {id for id, verdict in found.items() if verdict != "-"} == {"gsd.dynamic", "gsd.dynamic.scale"}


@pytest.mark.parametrize("id", ["gsd.theorem-1", "sjd.initialisation", "gsd.dynamic"])
def test_an_explained_claim_is_told_whole(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", id]) == 0
    printed, claim = " ".join(capsys.readouterr().out.split()), CLAIMS[id]
    for text in (claim.statement, *claim.assumptions, *claim.parts, claim.proof):
        assert " ".join(plain_math(text).split()) in printed


# The command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_options(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As its script asks: commands after the first letters, then options of the command."""

    def answer(line: str) -> str:
        asked = {"_SIMLAB_COMPLETE": f"complete_{shell}", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        for name, value in (asked | {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit):
            run_process()
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    assert "verify" in answer("simlab ver")
    assert "--claim" in answer("simlab verify --cl")
    assert "--claim" not in answer("simlab record --cl")


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


@pytest.mark.parametrize("width", [30, 40, 60, 63, 80, 150])
def test_an_id_is_never_cut_and_a_row_is_a_line_where_the_terminal_has_room_for_it(width: int) -> None:
    screen = Console(file=StringIO(), width=width, color_system=None)
    id = max(CLAIMS, key=len)
    rows = [(id, "holds-under-assumptions", CLAIMS[id].statement), ("gsd.speed", "refuted", "Short.")]
    screen.print(plain_table(screen, ("claim", "verdict", "statement"), rows), highlight=False)
    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    first = [line.split(" ")[0] for line in lines]
    assert "".join(first) == f"claim{id}gsd.speed"
    assert max(map(len, lines)) <= width
    if width > len(id):
        assert len(lines) == 3
    if width > 63:
        assert rows[0][1] in lines[1]


def test_a_reader_that_has_enough_is_no_error() -> None:
    done = subprocess.run(
        "set -o pipefail; simlab claims | head -1", shell=True, executable="/bin/bash", capture_output=True, text=True,
        check=False, env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) in ((141, ""), (0, ""))
    assert done.stdout.startswith("leviathan.")


# Checks that fail, and what is saved ---------------------------------------------------------------------------------


def inline(tasks: Sequence[Task], follow: Callable[[Done], Sequence[Task]]) -> Iterator[Done]:
    for task in tasks:
        for name, job in task.jobs.items():
            done = pool.do(name, job)
            yield done
            yield from inline(follow(done), follow)


def fails(seed: int) -> Finding:
    """In the place of a claim's own check."""
    raise CheckFailed("the check does not see a wrong rule")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gsd.speed` has a check that fails, `gsd.dynamic.centred` one that breaks."""

    def breaks(seed: int) -> Finding:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(CLAIMS, "gsd.speed", replace(CLAIMS["gsd.speed"], decide=fails))
    monkeypatch.setitem(CLAIMS, "gsd.dynamic.centred", replace(CLAIMS["gsd.dynamic.centred"], decide=breaks))
    monkeypatch.setattr(pool, "run", inline)


@pytest.mark.usefixtures("broken")
def test_failed_checks_are_reported_and_return_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = ["gsd.speed", "gsd.dynamic.centred", "gsd.accumulation"]
    status = main(["verify", "--out", str(tmp_path), *(part for id in ids for part in ("--claim", id))])
    document = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert status == 1
    assert set(document["failed"]) == {"gsd.speed", "gsd.dynamic.centred"}
    assert document["failed"]["gsd.speed"].endswith("CheckFailed: the check does not see a wrong rule")
    assert document["failed"]["gsd.dynamic.centred"].endswith("ZeroDivisionError: division by zero")
    verdicts = {entry["id"]: entry["verdict"] for entry in document["claims"]}
    assert verdicts["gsd.speed"] == verdicts["gsd.dynamic.centred"] == "not-decided"
    assert verdicts["gsd.accumulation"] == "holds"
    assert "gsd.speed" in capsys.readouterr().out
    assert "does not see a wrong rule" in (tmp_path / "report.html").read_text(encoding="utf-8")


def decided(out: Path, *ids: str, seed: int = 0) -> str:
    """What ``verdicts.json`` says after these claims were asked for."""
    verify(with_parts(ids), seed, out, measure=False, progress=lambda *_: None)
    return (out / "verdicts.json").read_text(encoding="utf-8")


@pytest.fixture
def in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "run", inline)


FEW = ["gsd.dynamic.centred", "gsd.speed"]


@pytest.mark.usefixtures("in_turn")
def test_claims_decided_one_after_the_other_are_all_there_as_if_decided_together(tmp_path: Path) -> None:
    """Whoever decides one claim again, after all of them, does not lose the others."""
    together = decided(tmp_path / "together", *FEW)
    for id in reversed(FEW):
        apart = decided(tmp_path / "apart", id)
    assert apart == together
    names = {path.name for path in (tmp_path / "apart" / "claims").iterdir()}
    assert names == {path.name for path in (tmp_path / "together" / "claims").iterdir()}
    seconds = json.loads((tmp_path / "apart" / "manifest.json").read_text(encoding="utf-8"))["seconds"]
    assert seconds.keys() == {*FEW, "all"}


@pytest.mark.usefixtures("in_turn")
def test_verdicts_of_another_seed_or_of_other_code_do_not_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone = decided(tmp_path / "alone", FEW[1])
    decided(tmp_path / "seed", FEW[0], seed=1)
    assert decided(tmp_path / "seed", FEW[1]) == alone
    decided(tmp_path / "versions", FEW[0])
    with monkeypatch.context() as patched:
        patched.setattr("experiments.verification.verify.versions", lambda: {"simlab": "0"})
        assert [entry["id"] for entry in json.loads(decided(tmp_path / "versions", FEW[1]))["claims"]] == [FEW[1]]
    decided(tmp_path / "code", *FEW)
    monkeypatch.setitem(CLAIMS, FEW[1], replace(CLAIMS[FEW[1]], proof="another"))
    assert [entry["id"] for entry in json.loads(decided(tmp_path / "code", FEW[1]))["claims"]] == [FEW[1]]


@pytest.mark.usefixtures("in_turn")
@pytest.mark.parametrize("full", ["manifest.json", "verdicts.json"])
def test_after_a_run_that_ended_between_its_files_none_says_what_is_of_another_seed(
    full: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As where the disk is full, or a run is killed, once the first of the two is written."""
    alone = decided(tmp_path / "alone", FEW[1], seed=1)

    def none_left(path: Path, value: object) -> None:
        if path.name == full:
            raise OSError(errno.ENOSPC, "no space left", str(path))
        write_json(path, value)

    decided(tmp_path / "apart", FEW[0])
    with monkeypatch.context() as patched:
        patched.setattr("experiments.verification.verify.write_json", none_left)
        with pytest.raises(OSError, match="no space left"):
            decided(tmp_path / "apart", FEW[1], seed=1)
    assert decided(tmp_path / "apart", FEW[1], seed=1) == alone


@pytest.mark.usefixtures("in_turn")
@pytest.mark.parametrize("damaged", ["manifest.json", "verdicts.json"])
def test_verdicts_that_cannot_be_read_do_not_go_untold(damaged: str, tmp_path: Path) -> None:
    assert verify([FEW[1]], 0, tmp_path, measure=False, progress=lambda *_: None).gone == ""
    (tmp_path / damaged).write_text("{", encoding="utf-8")
    found = verify([FEW[0]], 0, tmp_path, measure=False, progress=lambda *_: None)
    assert "verdicts.json or manifest.json there could not be read" in found.gone
    assert [entry["id"] for entry in found.document["claims"]] == [FEW[0]]


@pytest.mark.usefixtures("in_turn")
def test_the_program_of_a_verdict_goes_with_it(tmp_path: Path) -> None:
    decided(tmp_path, *FEW)
    decided(tmp_path, FEW[1], seed=1)
    assert [path.name for path in (tmp_path / "claims").iterdir()] == [f"{FEW[1]}.py"]


@pytest.mark.usefixtures("in_turn")
def test_a_check_that_fails_says_nothing_of_other_verdicts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither when it begins to fail nor when it no longer does; what follows from its claim goes, and is told."""
    whole = json.loads(decided(tmp_path, *FEW, "gsd.dynamic"))
    ids = {entry["id"] for entry in whole["claims"]}
    with monkeypatch.context() as patched:
        patched.setitem(CLAIMS, FEW[0], replace(CLAIMS[FEW[0]], decide=fails))
        found = verify([FEW[0]], 0, tmp_path, measure=False, progress=lambda *_: None)
    verdicts = {entry["id"]: entry["verdict"] for entry in found.document["claims"]}
    assert verdicts.keys() == ids - {"gsd.dynamic"}
    assert verdicts[FEW[0]] == "not-decided"
    assert FEW[0] in found.document["failed"]
    assert found.gone == f"1 verdict that stood there on other claims went: they follow from {FEW[0]}"
    decided(tmp_path, FEW[0])
    assert json.loads(decided(tmp_path, "gsd.dynamic")) == whole


@pytest.mark.usefixtures("in_turn")
def test_verdicts_that_do_not_stay_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decided(tmp_path, *FEW)
    monkeypatch.setitem(CLAIMS, FEW[1], replace(CLAIMS[FEW[1]], proof="another"))
    monkeypatch.setattr("experiments.cli.verify.drawn", lambda *_: True)
    assert main(["verify", "--claim", FEW[1], "--out", str(tmp_path)]) == 0
    assert f"1 verdict that stood there on other claims went: {FEW[1]} comes out otherwise" in capsys.readouterr().out


@pytest.mark.usefixtures("in_turn")
def test_a_claim_that_is_not_decided_has_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def witness() -> str:
        found = json.loads(decided(tmp_path, FEW[1]))["claims"]
        return next(str(entry["witness"]) for entry in found if entry["id"] == FEW[1])

    program = tmp_path / "claims" / f"{FEW[1]}.py"
    assert witness() == f"claims/{FEW[1]}.py"
    assert program.exists()
    monkeypatch.setitem(CLAIMS, FEW[1], replace(CLAIMS[FEW[1]], decide=fails))
    assert witness() == ""
    assert not program.exists()


def ended(jobs: object) -> None:
    """What a worker does that the system kills."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_lost_is_told_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pool, "_in_turn", ended)
    claims = ["--claim", "gsd.accumulation", "--claim", "gsd.speed"]
    assert main(["verify", *claims, "--out", str(tmp_path)]) == 1
    assert "gsd." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


WAITING = """
import threading, time
from functools import partial
from experiments.verification import pool

def tell():
    while not pool.active_children():
        time.sleep(0.05)
    print("begun", flush=True)

threading.Thread(target=tell, daemon=True).start()
for done in pool.run([pool.Task({"waiting": partial(time.sleep, 600)})], lambda done: []):
    pass
"""


def test_workers_end_soon_after_one_that_was_killed() -> None:
    """All of them have its output, which ends with the last."""
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.kill()
        assert process.communicate(timeout=60)[0] == ""
