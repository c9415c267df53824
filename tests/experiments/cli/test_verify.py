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
    assert "check failed: gsd.speed" in capsys.readouterr().out
    assert "does not see a wrong rule" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_claim_with_parts_brings_them() -> None:
    assert with_parts(["gsd.dynamic"]) == ["gsd.dynamic", *CLAIMS["gsd.dynamic"].parts]
    nested = with_parts(["gsd.naive-lossy"])
    assert "gsd.naive-lossy.explode.addition" in nested


def ended(jobs: object) -> None:
    """What a worker does that the system kills."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_lost_is_told_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pool, "_in_turn", ended)
    claims = ["--claim", "gsd.accumulation", "--claim", "gsd.speed"]
    assert cli.main(["verify", *claims, "--out", str(tmp_path)]) == 1
    assert "a worker process was killed or crashed while it did one of: gsd." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
