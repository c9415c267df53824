"""Shapes of a certificate: what a user may ask for, what is printed of where it looked, and of coins at their ends."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.certification.certificate_format import maps, seen
from experiments.certification.gates import aside, junit, sarif
from experiments.certification.request import Request
from experiments.cli.main import main
from simlab.certify.certificate import BATTERY
from simlab.certify.shapes.drawing import cells
from simlab.certify.shapes.ranges import BATCH, CANDIDATES, GAMMA, Axis, V
from tests.support.callables import MINE
from tests.support.cli import certificate, pytest_in

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[3]
FEW = ("--processes", "1", "--at-most", "V=20,gamma=20")  # drawn shapes of the largest take most of the time
FEWER = ("--processes", "1", "--at-most", "V=4,gamma=1")  # of which laws are enumerated: among them zeros in p
EDGE = {
    "told": "it emits [1], in V = 2, gamma = 1, but only where a coin is 0 (one in 2^24 in single precision)",
    "arguments": {"uniforms": [0.0, 0.25, 1 - 2**-53]},
}


@pytest.fixture
def folder(here: Path, undrawn: None) -> Path:
    """A user's folder, as the current one."""
    (here / "mine.py").write_text(MINE)
    return here


def looked(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a certificate says of a range of shapes."""
    usual = {"name": "", "dtype": "", "source": "", "shapes": 4, "outcomes": 512, "detectable": 0.25}
    return {"of": of} | usual | {"tv_at_most": 0.125, "seen": True, "why": ""} | more


def shapes(axes: tuple[Axis, ...], at_most: dict[str, int] | None = None) -> dict[str, Any]:
    """The map of a certificate of these axes, in which all was seen."""
    found = [looked({name: list(cell.of[name]) for name in cell.given}) for cell in cells(axes, at_most or {})]
    return {"axes": [axis.name for axis in axes], "own": [], "cells": found, "told": "", "most": 1}


# What is told --------------------------------------------------------------------------------------------------


def test_a_map_has_the_bands_of_both_axes() -> None:
    (found,) = maps(shapes((V, GAMMA)))
    assert found.axis == "gamma"
    assert found.columns == ("1–3", "4–8", "9–16", "17–32", "33–96")
    assert len(found.rows) == len(V.bands)
    assert all(cell for row in found.cells for cell in row[:3])
    for row, band in zip(found.cells, V.bands, strict=True):
        assert all(cell is None or cell["of"]["V"] == list(band) for cell in row)


def test_batches_have_a_map_of_their_own_in_which_no_cell_of_the_other_is() -> None:
    by_gamma, by_batch = maps(shapes((V, GAMMA, BATCH)))
    assert (by_gamma.axis, by_batch.axis) == ("gamma", "batch")
    every = [cell for one in (by_gamma, by_batch) for row in one.cells for cell in row if cell]
    assert len({str(cell["of"]) for cell in every}) == len(every)
    assert all(set(cell["of"]) == {"V", "gamma"} for row in by_gamma.cells for cell in row if cell)
    assert all(set(cell["of"]) == {"V", "batch"} for row in by_batch.cells for cell in row if cell)


def test_a_map_of_candidates_has_rows_though_V_is_larger_than_twice_as_many() -> None:
    (found,) = maps(shapes((V, CANDIDATES)))
    assert len(found.rows) == len(V.bands)
    assert found.cells[0][-1] is None
    assert seen(None) == ""


def test_a_map_ends_at_most_where_it_is_told() -> None:
    (found,) = maps(shapes((V, GAMMA), {"V": 5000, "gamma": 10}))
    assert found.columns == ("1–3", "4–8", "9–10")
    assert found.rows[-1].endswith("–5,000")
    assert maps({"axes": ["V", "gamma"], "cells": []} | {"own": []}) == []


def test_gates_have_own_shapes_and_edges_beside_a_pass() -> None:
    found = shapes((V, GAMMA)) | {"own": [looked({"V": [9, 9]}, name="V=9")]}
    document = {"verdict": "lossless", "subject": "a.py:b", "contract": "verify", "summary": "", "seconds": 1.0}
    document |= {"epsilon": 0.03, "simlab": "1", "failure": None, "lines": [], "shapes": found, "edge": EDGE}
    assert [one.partition(":")[0] for one in aside(document)] == ["V=9", "edge"]
    assert "edge: coin 1 of 3 is exactly 0 and coin 3 of 3 is the largest float below 1" in junit(document)
    (note,) = sarif(document)["runs"][0]["results"]
    assert (note["ruleId"], note["level"]) == ("edge", "note")
    assert aside(document | {"failure": EDGE, "shapes": None}) == []  # asked to fail, it is the failure


# What is asked for ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "script", "dtype", "again"),
    [
        (
            "V = 63, gamma = 11, mostly ended by token 5",
            None,
            "float16",
            "--shape V=63,gamma=11,dtype=float16 --budget 30 --seed 7",
        ),
        ("V = 63, gamma = 11, mostly ended by token 5", None, "", "--shape V=63,gamma=11 --budget 30 --seed 7"),
        ("V = 63, gamma = 11", "print()", "", ""),
        ("4099 tokens", None, "", ""),
    ],
)
def test_a_failure_without_a_program_has_a_command(case: str, script: str | None, dtype: str, again: str) -> None:
    """In the precision of the case that fails, whatever other shapes of its size were asked for in."""
    request = Request("mine.py:verify", seed=7)
    own = [looked({"V": [63, 63], "gamma": [1, 96]}, dtype="float16")]
    failure = {"case": case, "script": script, "dtype": dtype}
    document = {"failure": failure, "shapes": shapes((V, GAMMA)) | {"own": own}}
    assert request.again(document) == (f"simlab certify mine.py:verify {again}" if again else "")
    assert request.again(document | {"failure": None}) == ""
    here = Request("mine.py:verify", seed=7, processes=0)  # of what survives no fork
    assert here.again(document) == (f"simlab certify mine.py:verify {again} --processes 0" if again else "")
    patient = Request("mine.py:verify", seed=7, limit=0.5)  # what hangs for 2 s is not seen with the usual limit
    assert patient.again(document) == (f"simlab certify mine.py:verify {again} --limit 0.5" if again else "")
    bounded = Request("mine.py:verify", seed=7, at_most="V=64,gamma=16")  # what it refuses beyond would break first
    told = again.replace(" --budget", " --at-most V=64,gamma=16 --budget")
    assert bounded.again(document) == (f"simlab certify mine.py:verify {told}" if again else "")


# What comes of it ----------------------------------------------------------------------------------------------


def test_own_shapes_lead_and_an_edge_is_told_beside_the_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["certify", "mine.py:at_zero", "--calls", "16", *FEWER, "--shape", "V=4,gamma=1"]
    assert main(words) in (0, 3)
    first, own, *rest = capsys.readouterr().out.splitlines()
    assert first.partition(":")[0] in ("lossless", "inconclusive")
    assert own.startswith("V=4,gamma=1: ")
    assert any(line.startswith("V by gamma ") for line in rest)
    (edge,) = [line for line in rest if line.startswith("edge: ")]
    assert re.match(r"edge: coin \d of \d is exactly 0: it emits ", edge)
    found = certificate(folder)
    assert found["failure"] is None
    assert found["battery"] == BATTERY
    assert found["shapes"]["own"][0]["of"] == {"V": [4, 4], "gamma": [1, 1]}
    script = folder / "out" / "certify" / "reproduce.py"
    done = subprocess.run([sys.executable, str(script)], cwd="/", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_edge_fails_if_it_is_asked_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "mine.py:at_zero", "--calls", "1", *FEWER, "--strict"]) == 1
    assert "\nedge: " not in capsys.readouterr().out
    found = certificate(folder)
    assert found["verdict"] == "lossy"
    assert found["failure"] == found["edge"]
    assert found["command"].endswith("--seed 0 --processes 1")
    assert "--strict" in found["command"]
    assert (
        main(["certify", "mine.py:late", "--calls", "1", "--processes", "1", "--at-most", "V=2,gamma=1", "--strict"])
        == 1
    )
    failure = certificate(folder)["failure"]
    assert failure["kind"] == "raises"
    assert 1 - 1e-9 < max(failure["arguments"]["uniforms"]) < 1


def test_a_failure_without_a_program_is_printed_with_its_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is found in a drawn shape alone is in tests/simlab/certify/test_certify_drawn.py; here it is given."""
    words = ["certify", "mine.py:up_to_sixteen", "--calls", "1", *FEWER]
    assert main(words) == 3
    failure = {"case": "V = 20, gamma = 11", "arguments": {}, "outcomes": [], "diagnosis": "", "script": None}
    document = certificate(folder) | {"verdict": "lossy", "failure": failure, "again": "simlab certify again"}
    monkeypatch.setattr("experiments.certification.certified.certified", lambda *_: document)
    assert main(words) == 1
    assert "to see it again: simlab certify again" in capsys.readouterr().out
    assert not (folder / "out" / "certify" / "reproduce.py").exists()


def test_what_is_not_taken_is_left_out_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["certify", "mine.py:up_to_sixteen", "--calls", "16", *FEW, "--shape", "V=9,gamma=20"]
    assert main(words) == 3
    printed = capsys.readouterr().out
    assert re.search(r"^V=9,gamma=20: .*NotImplementedError: more than 16 drafts$", printed, re.M)
    assert "left out: " in printed
    assert "V = 9, gamma = 20" in printed


# pytest, and the action ----------------------------------------------------------------------------------------


def test_the_fixture_passes_shapes_on(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import simlab.certify\n\n\nclass Found:\n    subject = verdict = summary = ''\n\n\n"
        "def certified(function, contract, **options):\n    print(sorted(options.items()))\n    return Found\n\n\n"
        "simlab.certify.assert_lossless = certified\n\n\n"
        "def test_right(assert_lossless):\n    assert_lossless(len, calls=8, shapes=['V=9'])\n    assert 0\n"
    )
    more = ["--certify-shape", "V=8,gamma=2", "--certify-shape=emu3", "--certify-at-most", "V=9", "--certify-strict"]
    done = pytest_in(tmp_path, *more, ".")
    options = [("at_most", "V=9"), ("calls", 8), ("shapes", ("V=9", "V=8,gamma=2", "emu3")), ("strict", True)]
    assert str(options) in done.stdout, done.stdout + done.stderr


STUB = '#!/bin/sh\nfor word; do echo "$word"; done >asked\nexit ${STATUS:-0}\n'
GIVEN = {"SHAPES": "V=9,gamma=2\n\nllama-3\n", "AT_MOST": "V=200000", "STRICT": "true", "CONTRACT": "draft"}
ASKED = "--contract draft --shape V=9,gamma=2 --shape llama-3 --at-most V=200000 --strict"


@pytest.mark.parametrize(
    ("given", "status", "ends", "asked"),
    [({}, 0, 0, ""), ({}, 3, 0, ""), ({"INCONCLUSIVE": "true"}, 3, 3, ""), (GIVEN, 1, 1, ASKED)],
)
def test_the_action_asks_for_what_it_is_given(
    given: dict[str, str], status: int, ends: int, asked: str, tmp_path: Path
) -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (step,) = action["runs"]["steps"]
    names = {name: re.findall(r"inputs\.([\w-]+)", text)[0] for name, text in step["env"].items()}
    assert sorted(names.values()) == sorted(action["inputs"])
    usual = {name: action["inputs"][of].get("default", "mine.py:verify") for name, of in names.items()}
    (tmp_path / "simlab").write_text(STUB)
    (tmp_path / "simlab").chmod(0o755)
    known = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "STATUS": str(status)}
    done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=usual | given | known, timeout=60)
    assert done.returncode == ends
    words = (tmp_path / "asked").read_text().splitlines()
    assert words[:4] == ["certify", "mine.py:verify", "--budget", "60"]
    assert words[10:] == shlex.split(asked)


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--command true --contract draft",
        "--command true --processes 3",
        "--calls 64",
        "--processes 0 --limit 0.5",
        "--contract draft --budget 1.5 --epsilon 1e-05 --confidence 0.99999999 --seed 3 --limit 1234567.5",
        "--shape V=9,gamma=2 --shape llama-3 --at-most V=200000 --strict",
    ],
)
def test_the_command_that_is_printed_asks_for_the_same(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Request] = []
    monkeypatch.setattr("experiments.cli.certify._certify", lambda request, *_: requests.append(request) or 0)
    main(shlex.split(f"certify {'' if 'command' in options else 'mine:verify '}{options}"))
    first = requests[0]
    main(shlex.split(first.command)[1:])
    assert requests == [first, first]
    assert [name in first.command for name in ("--processes", "--limit", "--shape", "--at-most", "--strict")] == [
        name in options for name in ("--processes", "--limit", "--shape", "--at-most", "--strict")
    ]
