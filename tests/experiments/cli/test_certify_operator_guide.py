"""The guide to certifying a torch operator is true: its files run, its commands are those of the program."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli.main import main

pytestmark = [pytest.mark.cli, pytest.mark.slow]

GUIDE = (Path(__file__).parents[3] / "docs" / "certify-guide.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", GUIDE, re.S))
SHELL = re.search(r"```sh\n(.*?)```", GUIDE, re.S)
GATES = re.findall(r"simlab (certify chain.py[^|`]*?)\|\|", GUIDE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("torch")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_guide_shows_three_commands() -> None:
    assert SHELL
    assert len(SHELL[1].strip().splitlines()) == 3
    assert list(FILES) == ["chain.py", "test_chain.py"]


def test_the_last_command_certifies_the_operator(folder: Path) -> None:
    assert SHELL
    *_, last = SHELL[1].strip().splitlines()
    assert main([*shlex.split(last)[1:], "--budget", "5", "--epsilon", "0.99"]) in (0, 3)
    found = json.loads((folder / "out" / "certify" / "certificate.json").read_text(encoding="utf-8"))
    assert found["failure"] is None
    assert found["exact"].split()[1:3] == ["of", found["exact"].split()[2]], found["exact"]
    assert found["acceptance"]["kept"] == pytest.approx(found["acceptance"]["most"], abs=0.1)
    assert "--arrays torch" in found["command"]


@pytest.mark.parametrize("gate", range(2))
def test_the_gates_are_commands_of_the_program(gate: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.cli.certify._certify", lambda *_: 0)
    assert main(shlex.split(GATES[gate])) == 0


def test_the_test_of_the_guide_passes(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "simlab.pytest_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, "--certify-budget", "4"], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_chain_is_lossless: chain:verify is" in done.stdout
