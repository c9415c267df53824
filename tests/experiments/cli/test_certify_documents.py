"""What the documents on processes, servers and published code say is so: their commands run, their tables are true."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from experiments.certification import published
from experiments.cli.main import app, main
from simlab.certify.adapters.checkouts.registry import PUBLISHED
from simlab.certify.servers.toy import Server, Toy

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[3]
LANGUAGES, SERVERS, CODE = (
    (ROOT / "docs" / f"certify-{name}.md").read_text(encoding="utf-8")
    for name in ("any-language", "servers", "published-code")
)
CLIENTS = re.findall(r"^\| \S+ \| \[`([\w.]+)`\]\(.*?\) \| (?:`(.*?)`)? ?\| `(.*?)` \|$", LANGUAGES, re.M)
KEPT = re.findall(r"^\| (`[\w-]+`(?:, `[\w-]+`)*) \| (\S+@\w+) \| .* \|$", CODE, re.M)
CERTIFY = re.findall(r"^simlab (certify --url.*?[^\\])$", SERVERS, re.M | re.S)
CARGO = Path.home() / ".cargo" / "bin"


def test_the_clients_are_where_the_document_says() -> None:
    line = re.search(r'`python (-c "import simlab.certify.clients.*?")`', LANGUAGES)
    assert line
    folder = subprocess.run([sys.executable, *shlex.split(line[1])], capture_output=True, text=True, check=True).stdout
    assert [(Path(folder.strip()) / name).is_file() for name, _, _ in CLIENTS] == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["verifier.cpp", "verifier.rs", "verifier.py"])
def test_a_client_is_built_and_certified_as_the_document_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, command = next((build, command) for file, build, command in CLIENTS if file == name)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], str(CARGO)])
    monkeypatch.setenv("PATH", search)
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "simlab" / "certify" / "clients" / name, tmp_path)
    if build:
        if shutil.which(shlex.split(build)[0]) is None:
            pytest.skip(f"there is no {shlex.split(build)[0]}")
        subprocess.run(shlex.split(build), check=True)
    shown = re.search(r"^simlab (certify --command \./verifier .*)$", LANGUAGES, re.M)
    assert shown
    said = [command if word == "./verifier" else word for word in shlex.split(shown[1])]
    assert main([*said, "--calls", "16", "--epsilon", "0.99"]) in (0, 3)
    assert json.loads((tmp_path / "out/certify/certificate.json").read_text())["failure"] is None


@pytest.mark.parametrize("number", range(3))
def test_the_commands_for_servers_ask_what_is_there(number: int, here: Path, undrawn: None) -> None:
    assert len(CERTIFY) == 3
    with Server(Toy()) as engine, Server(Toy()) as reference:
        line = CERTIFY[number].replace("\\\n", "")
        for there, here in zip(("808[0]|8000", "808[1]|8001"), (engine, reference), strict=True):
            line = re.sub(rf"http://localhost:(?:{there})", here.url.removesuffix("/completion"), line)
        assert "localhost" not in line
        assert main([*shlex.split(line), "--requests", "40"]) == 3
        assert engine.requests + reference.requests == 40


def test_every_option_for_servers_is_told() -> None:
    command = typer.main.get_command(app).commands["certify"]  # type: ignore[attr-defined]
    own = {one.opts[0] for one in command.params if getattr(one, "rich_help_panel", None) == "With --url"}
    told = {name for row in re.findall(r"^\| (`--.*?) \|", SERVERS, re.M) for name in re.findall(r"--[\w-]+", row)}
    assert told - {"--limit"} == own - {"--reference"}


def test_what_is_kept_of_published_code_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert published.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(PUBLISHED)
    told = {name: commit for names, commit in KEPT for name in re.findall(r"`([^`]+)`", names)}
    assert sorted(told) == sorted(PUBLISHED)
    for name, (repository, commit) in ((name, commit.split("@")) for name, commit in told.items()):
        assert repository == PUBLISHED[name].repository
        kept = ROOT / "experiments/engines/certificates" / f"{name}.json"
        if kept.exists():
            document = json.loads(kept.read_text(encoding="utf-8"))
            assert document["repository"] == repository
            assert document["commit"].startswith(commit)
