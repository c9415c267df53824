"""How verification treats checks that fail, and what it saves of the measurements.

The tasks run in this process, so that a claim can be replaced by one whose check fails.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.cli import main as cli
from experiments.verification import pool
from experiments.verification.claims import with_parts
from experiments.verification.pool import Done, Task
from experiments.verification.verify import verify
from theory.claims import CLAIMS, CheckFailed, Finding

pytestmark = pytest.mark.cli


def inline(tasks: Sequence[Task], follow: Callable[[Done], Sequence[Task]]) -> Iterator[Done]:
    for task in tasks:
        for name, job in task.jobs.items():
            done = pool.attempt(name, job)
            yield done
            yield from inline(follow(done), follow)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gsd.speed` has a check that fails, `gsd.printed-slice` one that breaks."""

    def fails(seed: int) -> Finding:
        raise CheckFailed("the check does not see a wrong rule")

    def breaks(seed: int) -> Finding:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(CLAIMS, "gsd.speed", replace(CLAIMS["gsd.speed"], decide=fails))
    monkeypatch.setitem(CLAIMS, "gsd.printed-slice", replace(CLAIMS["gsd.printed-slice"], decide=breaks))
    monkeypatch.setattr(pool, "run", inline)


@pytest.mark.usefixtures("broken")
def test_failed_checks_are_reported_and_return_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = ["gsd.speed", "gsd.printed-slice", "gsd.accumulation"]
    status = cli.main(["verify", "--out", str(tmp_path), *(part for id in ids for part in ("--claim", id))])
    document = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert status == 1
    assert set(document["failed"]) == {"gsd.speed", "gsd.printed-slice"}
    assert document["failed"]["gsd.speed"].endswith("CheckFailed: the check does not see a wrong rule")
    assert document["failed"]["gsd.printed-slice"].endswith("ZeroDivisionError: division by zero")
    verdicts = {entry["id"]: entry["verdict"] for entry in document["claims"]}
    assert verdicts["gsd.speed"] == verdicts["gsd.printed-slice"] == "not-decided"
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


FEW = ["gsd.printed-slice", "gsd.speed"]


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
def test_files_that_would_say_the_same_are_left_as_they_are(tmp_path: Path) -> None:
    decided(tmp_path, *FEW)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    decided(tmp_path, FEW[0])
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == written


@pytest.mark.usefixtures("in_turn")
def test_verdicts_of_another_seed_of_other_code_or_unreadable_do_not_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alone = decided(tmp_path / "alone", FEW[1])
    decided(tmp_path / "seed", FEW[0], seed=1)
    assert decided(tmp_path / "seed", FEW[1]) == alone
    decided(tmp_path / "broken", FEW[0])
    (tmp_path / "broken" / "manifest.json").write_text("{", encoding="utf-8")
    assert decided(tmp_path / "broken", FEW[1]) == alone
    decided(tmp_path / "versions", FEW[0])
    with monkeypatch.context() as patched:
        patched.setattr("experiments.verification.verify.versions", lambda: {"simlab": "0"})
        assert [entry["id"] for entry in json.loads(decided(tmp_path / "versions", FEW[1]))["claims"]] == [FEW[1]]
    decided(tmp_path / "code", *FEW)
    monkeypatch.setitem(CLAIMS, FEW[1], replace(CLAIMS[FEW[1]], proof="another"))
    assert [entry["id"] for entry in json.loads(decided(tmp_path / "code", FEW[1]))["claims"]] == [FEW[1]]


def test_a_claim_with_parts_brings_them() -> None:
    assert with_parts(["gsd.dynamic"]) == ["gsd.dynamic", *CLAIMS["gsd.dynamic"].parts]


def ended(jobs: object) -> None:
    """What a worker does that the system kills."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_lost_is_told_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pool, "_in_turn", ended)
    claims = ["--claim", "gsd.accumulation", "--claim", "gsd.speed"]
    assert cli.main(["verify", *claims, "--out", str(tmp_path)]) == 1
    assert "gsd." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
