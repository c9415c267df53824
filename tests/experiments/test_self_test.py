"""``simlab certify --self-test`` from its beginning to its end, on a few of everything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.certification import self_test, self_test_known
from experiments.certification.known_process import known
from experiments.certification.self_test_known import process_row, processes
from experiments.cli.main import main
from simlab.certify.registry import CONTRACTS
from simlab.mutants.catalogue import Implementation, bugs, correct

pytestmark = [pytest.mark.cli, pytest.mark.slow]


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_the_whole_self_test_with_few_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Correct ones are run in processes, and certified there by processes of their own.

    The command is interrupted before its last table, and goes on from there.
    """
    monkeypatch.setattr(self_test, "CONTRACTS", {"verify": CONTRACTS["verify"]})
    wrong, right = ([each for each in some() if each.contract == "verify"][:2] for some in (bugs, correct))
    for module in (self_test, self_test_known):
        monkeypatch.setattr(module, "bugs", lambda: wrong)
        monkeypatch.setattr(module, "correct", lambda: right)
    one = next(one for one in known(False) if one.contract == "verify")
    monkeypatch.setattr(self_test_known, "known", lambda bugs: [] if bugs else [one])
    monkeypatch.setattr(self_test_known, "CALLS", 5)
    monkeypatch.setattr(self_test_known, "WRONG", {})
    monkeypatch.setattr(self_test, "FEW_DRAWN", 2)
    monkeypatch.setattr(self_test, "FEW_SECONDS", 1.0)
    command = ["certify", "--self-test", "--quick", "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(self_test, "server_row", interrupted)
        assert main(command) == 130
    kept = tmp_path / self_test.JOURNAL
    assert len(kept.read_text().splitlines()) == 1 + 1 + 2 + 2 + 2 + 1
    with kept.open("a") as file:
        file.write('[["servers", ')  # a line that was cut off
    with monkeypatch.context() as patch:  # what is there is not found again
        for find in ("pass_row", "bug_row", "confirmed_row", "short_row", "process_row"):
            patch.setattr(self_test, find, interrupted)
        assert main(command) == 0
    assert not kept.exists()
    document = json.loads((tmp_path / "selftest.json").read_text())
    assert [row["name"] for row in document["bugs"]] == [each.name for each in wrong]
    assert [row["name"] for row in document["correct"]] == [each.name for each in right]
    assert [row["fault"] for row in document["correct"]] == [None, None]
    assert document["missed"] == document["rejected"] == []
    assert [row["contract"] for row in document["drawn"]["wrong"]] == ["verify", "verify"]
    assert (tmp_path / "selftest.html").exists()


def test_processes_are_found_by_name_or_passed_and_those_of_no_use_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [bug for bug in known(True) if bug.contract == "verify"]
    right = next(one for one in known(False) if one.contract == "verify")

    def fewer(bugs: bool) -> list[Implementation]:
        return wrong if bugs else [right]

    monkeypatch.setattr(self_test_known, "known", fewer)
    monkeypatch.setattr(self_test_known, "CALLS", 5)
    chosen = processes(quick=False, sampled={("verify", "ratio inverted")})
    found, passed = (process_row(one, 0, wrong) for one, wrong in chosen)
    assert (found["name"], found["wrong"], found["verdict"], found["named"]) == ("ratio inverted", True, "lossy", True)
    assert (passed["name"], passed["wrong"]) == (right.name, False)
    assert passed["verdict"] == "inconclusive"
