"""``simlab certify`` as an engine author meets it: what is said of callables, good and bad, what is saved."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.certification.certificate_format import format_value, most_off
from experiments.certification.request import Request, find_subject, standalone_script
from experiments.cli.main import main
from tests.support.callables import MINE
from tests.support.cli import COMMAND, HEEDED, certificate, written

pytestmark = pytest.mark.cli

DEFAULT_EVERY = 2

SMALL = ("--at-most", "V=4,gamma=2")  # larger ones take most of the time
FEW = ("--calls", "8", "--processes", "1", *SMALL)


@pytest.fixture
def folder(here: Path) -> Path:
    """A user's folder with callables in it, as the current one."""
    (here / "mine.py").write_text(MINE)
    return here


# Verdicts and exit status --------------------------------------------------------------------------------------


def test_a_bug_is_found_and_explained_and_whole_files_are_saved(
    folder: Path, laws_at_hand: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its page is drawn by simlab's ``reports``, and not by a package of this name in the folder."""
    written(folder, {"reports/__init__.py": "", "reports/__main__.py": "raise SystemExit('not the simlab package')"})
    there = {path.name for path in folder.iterdir()}
    asked = ["certify", "mine:wrong_measured", "--calls", "512", "--out", "results", "--json", "copy.json"]
    assert main([*asked, *SMALL]) == 1
    printed = capfd.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("lossy: ")
    assert "looks like: residual drawn from p" in printed.out
    found = json.loads((folder / "results" / "certificate.json").read_text(encoding="utf-8"))
    assert next(iter(found)) == "verdict"
    assert found["verdict"] == "lossy"
    assert found["subject"] == "mine:wrong_measured"
    assert found["signature"].startswith("verify(p, q, drafts, rng)")
    assert found["command"].startswith("simlab certify mine:wrong_measured --at-most V=4,gamma=2 --calls 512")
    assert "residual drawn from p" in found["failure"]["known"]
    assert found["versions"]["numpy"]
    names = {path.name for path in (folder / "results").iterdir()}
    assert names == {"certificate.json", "certificate.html", "reproduce.py"}
    assert (folder / "copy.json").read_bytes() == (folder / "results" / "certificate.json").read_bytes()
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {*there, "results", "copy.json"}


def test_a_lossless_one_returns_0_and_the_same_calls_give_the_same_certificate(
    folder: Path, undrawn: None, capsys: pytest.CaptureFixture[str]
) -> None:
    certificates = []
    for processes in ("1", "2"):
        options = ["--calls", "512", "--epsilon", "0.8", "--processes", processes, "--seed", "3", *SMALL]
        assert main(["certify", "mine:good", *options]) == 0
        certificates.append(certificate(folder))
    assert certificates[0]["verdict"] == "lossless"
    assert certificates[0]["seed"] == 3
    assert certificates[0]["lines"] == certificates[1]["lines"]
    assert certificates[0]["shapes"] == certificates[1]["shapes"]
    assert capsys.readouterr().out.startswith("lossless: ")


def test_a_method_in_a_file_is_enumerated_and_reproduced(folder: Path, undrawn: None, laws_at_hand: None) -> None:
    (folder / "mine.py").rename(folder / "my-own verifier.py")
    assert main(["certify", "./my-own verifier.py:engine.verify", *FEW]) == 1
    failure = certificate(folder)["failure"]
    assert failure["tv_exact"] > 0.02
    script = folder / "out" / "certify" / "reproduce.py"
    assert script.read_text(encoding="utf-8") == failure["script"]
    done = subprocess.run([sys.executable, str(script)], cwd="/", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_too_few_calls_are_inconclusive_and_nothing_of_an_earlier_certificate_is_left(
    folder: Path, undrawn: None
) -> None:
    out = folder / "out" / "certify"
    out.mkdir(parents=True)
    for name in ("certificate.html", "reproduce.py"):
        (out / name).write_text("old")
    assert main(["certify", "mine.py:engine", *FEW]) == 3
    assert certificate(folder)["verdict"] == "inconclusive"
    assert {path.name for path in out.iterdir()} == {"certificate.json"}


# Misbehaviour --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("raises", "raises", "RuntimeError: <script>alert(1)</script> & [red]more[/red]"),
        ("leaves", "raises", "SystemExit: 3"),
        ("hangs", "hangs", "within 1 s"),
        ("crashes", "dies", "exit status -11"),
        ("too_many", "broken", "returns 3 tokens, [0, 0, 0]; expected 1 to 2"),
    ],
)
def test_misbehaviour_is_told_and_returns_1(
    name: str, kind: str, told: str, folder: Path, undrawn: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """What else may be returned, and is no tokens, is in tests/simlab/certify/test_certify_contracts.py."""
    assert main(["certify", f"mine:{name}", *FEW, "--limit", "1"]) == 1
    found = certificate(folder)
    assert found["verdict"] == "breaks"
    assert found["failure"]["kind"] == kind
    assert told in found["summary"]
    assert found["failure"]["arguments"]["p"]
    printed = capsys.readouterr()
    assert printed.out.startswith("breaks: ")
    assert told in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(
    ("name", "noted"),
    [
        ("mutates", ["argument 1 in place", "argument 2 in place"]),
        ("chatters", []),
    ],
)
def test_peculiarities_are_noted(
    name: str, noted: list[str], folder: Path, undrawn: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", f"mine:{name}", *FEW]) == 3
    notes = certificate(folder)["notes"]
    assert len(notes) == len(noted)
    assert all(words in note for words, note in zip(noted, notes, strict=True))
    printed = capfd.readouterr()
    assert all(f"note: {note}" in printed.out for note in notes)
    assert "xxx" not in printed.out
    assert printed.err == ""


def test_an_interrupt_leaves_nothing_half_written(folder: Path) -> None:
    running = subprocess.Popen(
        [*COMMAND[:-1], HEEDED + COMMAND[-1], "certify", "mine:slow", "--budget", "60"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (folder / "out" / "certify").exists():  # made just before the first call
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130
    assert (out, err) == ("", "simlab: interrupted; nothing was written\n")
    assert list((folder / "out" / "certify").iterdir()) == []


@pytest.mark.parametrize("name", ["mine.py", "random.py", "my.verifier.py", "class.py", "it's {mine}.py"])
def test_a_program_gets_what_is_in_a_file_whatever_it_is_called(name: str, here: Path) -> None:
    """A module that NumPy has imported is not what a file of its name holds."""
    (here / name).write_text("class Own:\n    def verify(self):\n        return 'mine'\n\n\nown = Own()\n")
    subject = find_subject(Request(f"{name}:own.verify"))
    (here / "out").mkdir()
    imported = f"import numpy as np\nfrom {subject.module} import own as verify\n\n"
    imported += "rng = np.random.default_rng(0)\nprint(verify())\n"  # for which NumPy imports what is called random
    (here / "out" / "shown.py").write_text(standalone_script(imported, subject, here / "out"))
    done = subprocess.run([sys.executable, "out/shown.py"], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("mine\n", "")


def test_a_command_is_started_as_often_as_is_asked_for(here: Path) -> None:
    for processes, started in ((None, 1), (1, 1), (2, 2)):
        assert find_subject(Request("true", process=True, processes=processes)).processes == started


# Small parts ---------------------------------------------------------------------------------------------------


def test_contracts_and_adapters_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    from simlab.certify import CONTRACTS
    from simlab.certify.adapters import NAMED
    from simlab.certify.shapes.ranges import PRESETS

    assert main(["certify", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(contract.signature in listed for contract in CONTRACTS.values())
    assert all(name in listed for name in NAMED)
    assert all(name in listed and preset.source in listed for name, preset in PRESETS.items())


def test_the_outcomes_that_are_off_by_most_are_kept_in_their_order() -> None:
    rows = [
        {"outcome": str(k), "target": 0.1, "measured": None, "exact": 0.1 + d} for k, d in enumerate((0.2, 0, -0.3))
    ]
    assert [row["outcome"] for row in most_off(rows, 2)] == ["0", "2"]


def test_what_is_almost_one_is_not_shown_as_one() -> None:
    assert format_value([1.0, 0.25, 1 - 1e-9, 1 / 3]) == "[1, 0.25, 0.999999999, 0.333333]"
    assert format_value([0.5, 0.5 + 2**-51]) == "[0.5, 0.5000000000000004]"
