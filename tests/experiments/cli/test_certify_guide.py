"""The documents on ``simlab certify`` are true: their code runs, prints what it says, and tables are the code's."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import typer.main

from experiments.certification.servers import ServerRequest
from experiments.cli.main import app, main
from simlab.certify import CONTRACTS, assert_lossless, certify
from simlab.certify.adapters.checkouts.registry import PUBLISHED
from simlab.certify.certificate import VERDICTS
from simlab.certify.engine.planning import LOOSE, Plan
from simlab.certify.servers.toy import Server, Toy
from simlab.mutants.catalogue import bugs
from simlab.statistics.pairs import Paired
from tests.support.cli import certificate, files_of, pytest_in, written

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "simlab" / "certify" / "README.md").read_text(encoding="utf-8")
FILES = files_of(GUIDE)
ROWS = re.findall(r"^\| (\d+) [^|]*\| ([^|]*) \| ([^|]*) \|$", GUIDE, re.M)


@pytest.fixture
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the guide, as the current one."""
    monkeypatch.syspath_prepend(here)
    return written(here, FILES)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_bug_is_found_with_the_output_that_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"```text\n(.*?)```", GUIDE, re.S)
    assert shown
    assert main(["certify", "verifier.py:verify"]) == 1
    assert lines(capsys.readouterr().out) == lines(shown[1])
    assert (folder / "out" / "certify" / "reproduce.py").exists()


def test_the_fix_passes_as_a_test(folder: Path) -> None:
    names: dict[str, object] = {"__name__": "test_verifier"}
    exec(FILES["test_verifier.py"], names)
    names["test_verify_is_lossless"]()  # type: ignore[operator]


@pytest.mark.slow
def test_the_bug_fails_as_a_test_and_the_message_says_it_all(folder: Path) -> None:
    from verifier import verify  # type: ignore[import-not-found]

    with pytest.raises(AssertionError) as failed:
        assert_lossless(verify, calls=64, processes=1)
    message = str(failed.value)
    for text in ("verifier:verify is lossy", "0.125", "residual drawn from p", "q = [[0.75, 0.25]]", "exact 0.46875"):
        assert text in message
    script = message.partition("to see it, run:\n")[2]
    exec("\n".join(line[4:] for line in script.splitlines()).replace("n, V = 3000", "n, V = 10"), {})


def test_the_wrapped_verifier_is_not_passed_by_calls_that_exclude_nothing(folder: Path) -> None:
    """And none of them is a fault: a thousand calls would do."""
    pytest.importorskip("torch")
    from wrapped import verify  # type: ignore[import-not-found]

    with pytest.raises(AssertionError, match=r"nothing was found, but no TV below 0\.\d+ is excluded; calls=\d000 may"):
        assert_lossless(verify, calls=32, processes=1)


def test_a_verifier_of_tensors_is_told_what_it_is_given(folder: Path) -> None:
    torch = pytest.importorskip("torch")

    def verify(p: object, q: object, drafts: object, generator: object) -> object:
        return torch.multinomial(p[0], 1, generator=generator)  # type: ignore[index]

    found = certify(verify, calls=1, processes=1)
    assert found.verdict == "breaks"
    (note,) = (note for note in found.notes if "--arrays torch" in note)
    assert re.findall(r"such as (\w+)", note)[0] in CONTRACTS


def test_every_contract_that_is_told_is_there() -> None:
    told = re.findall(r"^\| `(\w+\(.*?)` \|", GUIDE, re.M)
    assert told
    assert set(told) <= {contract.signature for contract in CONTRACTS.values()}


def test_every_verdict_is_told_with_its_exit_status() -> None:
    from experiments.cli.certify import STATUS

    assert set(STATUS) == set(VERDICTS)
    assert all(f"| `{verdict}` | {status} |" in GUIDE for verdict, status in STATUS.items())


def test_every_bug_has_a_row_and_its_contracts_know_it() -> None:
    known: dict[str, set[str]] = {}
    for bug in bugs():
        known.setdefault(bug.contract, set()).add(bug.mutant)
    known["verify_batch"] |= known["verify"]
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 1 + len(ROWS)))
    assert {number for numbers in known.values() for number in numbers} <= {number for number, _, _ in ROWS}
    for number, contracts, seen in ROWS:
        named = re.findall(r"`(\w+)`", contracts)
        assert named
        assert seen
        assert {name for name in named if number not in known[name]} == set(), number


def test_the_bound_of_cases_that_are_not_principal_is_told() -> None:
    page = (ROOT / "docs" / "tutorials" / "first-certificate.md").read_text(encoding="utf-8")
    for epsilon, most in ((0.03, LOOSE), (0.9, 0.9)):
        plan = cast(Plan, SimpleNamespace(principal=[0], epsilon=epsilon))
        assert [Plan.goal(plan, i) for i in (0, 1)] == [epsilon, most]
    assert f"at most {LOOSE:g}, or `--epsilon` where that is more, in every other" in GUIDE
    assert f"at most {LOOSE:g}".replace("0.", ".") + ", or `--epsilon` where that is more, in all others" in page


# The guide to operators of torch -----------------------------------------------------------------------------------

OPERATOR_GUIDE = (ROOT / "docs" / "certify-guide.md").read_text(encoding="utf-8")
OPERATORS = files_of(OPERATOR_GUIDE)
SHELL = re.search(r"```sh\n(.*?)```", OPERATOR_GUIDE, re.S)
GATES = re.findall(r"simlab (certify chain.py[^|`]*?)\|\|", OPERATOR_GUIDE)


@pytest.fixture
def torch_folder(here: Path) -> Path:
    pytest.importorskip("torch")
    return written(here, OPERATORS)


@pytest.mark.slow
def test_the_last_command_certifies_the_operator(torch_folder: Path) -> None:
    assert SHELL
    *_, last = SHELL[1].strip().splitlines()
    assert main([*shlex.split(last)[1:], "--budget", "5", "--epsilon", "0.99"]) in (0, 3)
    found = certificate(torch_folder)
    assert found["failure"] is None
    assert found["exact"].split()[1:3] == ["of", found["exact"].split()[2]], found["exact"]
    assert found["acceptance"]["kept"] == pytest.approx(found["acceptance"]["most"], abs=0.1)
    assert "--arrays torch" in found["command"]


@pytest.mark.slow
@pytest.mark.parametrize("gate", range(2))
def test_the_gates_are_commands_of_the_program(gate: int, torch_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.cli.certify._certify", lambda *_: 0)
    assert main(shlex.split(GATES[gate])) == 0


@pytest.mark.slow
def test_the_test_of_the_guide_passes(torch_folder: Path) -> None:
    asked = ["--certify-at-most", "V=8,gamma=2", "--certify-budget", "20"]  # several times what a slow machine needs
    done = pytest_in(torch_folder, *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_chain_is_lossless: chain:verify is" in done.stdout


# Processes, servers and published code -------------------------------------------------------------------------------


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


def test_how_many_requests_a_precision_takes_is_told() -> None:
    """The precision that is asked for unless one says otherwise needs more than are made unless one says otherwise."""
    usual = ServerRequest("http://localhost/completion", reference="http://localhost/completion")
    told = re.search(r"`--requests (\d+)`", SERVERS)
    assert told
    assert f"`{usual.epsilon}`, which is asked for unless you say otherwise" in " ".join(SERVERS.split())
    lines = len(usual.prompts) * (2 * usual.tokens - 1)

    def bound(requests: int) -> float:
        test, each = Paired(), requests // (2 * len(usual.prompts))
        test.n = each
        test.first = test.second = Counter({0: each // 2, 1: each - each // 2})
        return test.tv_upper(1 - (1 - usual.confidence) / lines)

    assert bound(usual.requests) > 1.5 * usual.epsilon
    assert bound(int(told[1])) < usual.epsilon


def test_what_is_kept_of_published_code_is_told() -> None:
    told = {name: commit for names, commit in KEPT for name in re.findall(r"`([^`]+)`", names)}
    assert sorted(told) == sorted(PUBLISHED)
    for name, (repository, commit) in ((name, commit.split("@")) for name, commit in told.items()):
        assert repository == PUBLISHED[name].repository
        kept = ROOT / "experiments/engines/certificates" / f"{name}.json"
        if kept.exists():
            document = json.loads(kept.read_text(encoding="utf-8"))
            assert document["repository"] == repository
            assert document["commit"].startswith(commit)
