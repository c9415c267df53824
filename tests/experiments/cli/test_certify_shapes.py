"""Shapes of a certificate: what a user may ask for, what is printed of where it looked, and of coins at their ends."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.certification.certificate_format import clauses, left_out, maps, reason, seen, told_edge, told_own
from experiments.certification.gates import aside, junit, sarif
from experiments.certification.request import Request
from experiments.cli.main import main
from simlab.certify.shapes.drawing import cells
from simlab.certify.shapes.ranges import BATCH, CANDIDATES, GAMMA, PRESETS, Axis, V
from tests.support.cli import usage_error

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[3]
MINE = """\
import numpy as np


def draw(weights, rng):
    return int(np.searchsorted(weights.cumsum() / weights.sum(), rng.random(), side="right"))


def at_zero(p, q, drafts, rng):
    for i, x in enumerate(drafts):
        if rng.random() * q[i, x] > p[i, x]:
            left = np.maximum(p[i] - q[i], 0)
            return [*drafts[:i], draw(left if left.any() else p[i], rng)]
    return [*drafts, draw(p[-1], rng)]


def at_eleven(p, q, drafts, rng):
    rng.integers(2)  # keeps its laws from being enumerated, and saves the time
    return [*drafts, draw(p[-1], rng)] if len(drafts) == 11 else at_zero(p, q, drafts, rng)


def up_to_sixteen(p, q, drafts, rng):
    if len(drafts) > 16:
        raise NotImplementedError("more than 16 drafts")
    rng.integers(2)
    return at_zero(p, q, drafts, rng)
"""
EDGE = {
    "told": "it emits [1], in V = 2, gamma = 1, but only where a coin is 0 (one in 2^24 in single precision)",
    "arguments": {"uniforms": [0.0, 0.25, 1 - 2**-53]},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, as the current one; pages have tests of their own."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr("experiments.cli.certify.drawn", lambda out, command: True)
    yield tmp_path
    sys.modules.pop("mine", None)


def looked(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a certificate says of a range of shapes."""
    usual = {"name": "", "dtype": "", "source": "", "shapes": 4, "outcomes": 512, "detectable": 0.25}
    return {"of": of} | usual | {"tv_at_most": 0.125, "seen": True, "why": ""} | more


def shapes(axes: tuple[Axis, ...], at_most: dict[str, int] | None = None) -> dict[str, Any]:
    """The map of a certificate of these axes, in which all was seen."""
    found = [looked({name: list(band) for name, band in cell.of.items()}) for cell in cells(axes, at_most or {})]
    return {"axes": [axis.name for axis in axes], "own": [], "cells": found, "told": "", "most": 1}


def request(**more: Any) -> Request:
    return Request("mine.py:verify", None, 60.0, 0.03, 0.999, 7, None, 2, 10.0, **more)


# What is told --------------------------------------------------------------------------------------------------


def test_a_map_has_the_bands_of_both_axes() -> None:
    (found,) = maps(shapes((V, GAMMA)))
    assert found.axis == "gamma"
    assert found.columns == ("1–3", "4–8", "9–16", "17–32", "33–96")
    assert len(found.rows) == len(V.bands)
    assert found.rows[-1].endswith("262,144")
    assert all(cell for row in found.cells for cell in row[:3])
    for row, band in zip(found.cells, V.bands, strict=True):
        assert all(cell is None or cell["of"]["V"] == list(band) for cell in row)


def test_batches_have_a_map_of_their_own_in_which_no_cell_of_the_other_is() -> None:
    by_gamma, by_batch = maps(shapes((V, GAMMA, BATCH)))
    assert (by_gamma.axis, by_batch.axis) == ("gamma", "batch")
    every = [cell for one in (by_gamma, by_batch) for row in one.cells for cell in row if cell]
    assert len({str(cell["of"]) for cell in every}) == len(every)
    assert all(cell["of"]["batch"] == [1, 256] for row in by_gamma.cells for cell in row if cell)
    assert all(cell["of"]["gamma"] == [1, 96] for row in by_batch.cells for cell in row if cell)


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


@pytest.mark.parametrize(
    ("more", "cell", "own"),
    [
        ({}, "0.25", "a TV of 0.25 would have been seen (outcomes: 512, shapes: 4)"),
        ({"seen": False}, "(0.25)", "too little was seen, only a TV of 0.25 or more (outcomes: 512, shapes: 4)"),
        ({"seen": False, "outcomes": 0, "why": "a call would take too long"}, ".", "not looked at: a call would take"),
        ({"seen": False, "detectable": None}, ".", "not looked at"),
    ],
)
def test_what_was_seen_is_told(more: dict[str, Any], cell: str, own: str) -> None:
    one = looked({"V": [9, 9]}, **more)
    assert seen(one).strip() == cell
    assert told_own(one).startswith(own)


def test_reasons_are_told_once_each() -> None:
    why = "V = 9, gamma = 2: raises ValueError: not 9; at all; V = 9, gamma = 3: raises ValueError: not 9; at all"
    one = looked({"V": [9, 9], "gamma": [1, 3]}, why=why)
    assert reason(one) == "raises ValueError: not 9; at all"
    found = {"cells": [one, one, looked({"V": [9, 64]}, why="a call would take too long"), looked({"V": [2, 8]})]}
    assert left_out(found) == [
        "2 bands: raises ValueError: not 9; at all",
        "V = 9–64: a call would take too long",
    ]


def test_an_edge_names_its_coins() -> None:
    assert told_edge(EDGE) == (
        "coin 1 of 3 is exactly 0 and coin 3 of 3 is the largest float below 1: it emits [1], in V = 2, gamma = 1; "
        "one in 2^24 in single precision"
    )
    assert told_edge(EDGE | {"arguments": {}}).startswith("it emits [1]")


def test_a_summary_leaves_out_what_stands_elsewhere() -> None:
    summary = (
        "no deviation found; in shapes of V = 9 a TV of 0.1 would have been seen; in every band; with an edge: it; is"
    )
    document = {"summary": summary, "failure": None, "edge": EDGE, "shapes": shapes((V, GAMMA))}
    assert clauses(document) == ["no deviation found", "in every band", "with an edge"]
    assert clauses(document | {"shapes": None}) == [summary]


def test_gates_have_own_shapes_and_edges_beside_a_pass() -> None:
    found = shapes((V, GAMMA)) | {"own": [looked({"V": [9, 9]}, name="V=9")]}
    document = {"verdict": "lossless", "subject": "a.py:b", "contract": "verify", "summary": "", "seconds": 1.0}
    document |= {"epsilon": 0.03, "simlab": "1", "failure": None, "lines": [], "shapes": found, "edge": EDGE}
    assert [one.partition(":")[0] for one in aside(document)] == ["V=9", "edge"]
    assert "edge: coin 1 of 3" in junit(document)
    (note,) = sarif(document)["runs"][0]["results"]
    assert (note["ruleId"], note["level"]) == ("edge", "note")
    assert aside(document | {"failure": EDGE, "shapes": None}) == []  # asked to fail, it is the failure


# What is asked for ---------------------------------------------------------------------------------------------


def test_the_command_asks_for_the_same_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Request] = []
    monkeypatch.setattr("experiments.cli.certify._certify", lambda request, *_: requests.append(request) or 0)
    words = "certify mine.py:verify --shape V=9,gamma=2 --shape llama-3 --at-most V=200000 --strict"
    main(shlex.split(words))
    main(shlex.split(requests[0].command)[1:])
    assert requests[0] == requests[1]
    assert requests[0].shapes == ("V=9,gamma=2", "llama-3")
    assert (requests[0].at_most, requests[0].strict) == ("V=200000", True)


@pytest.mark.parametrize(
    ("case", "script", "again"),
    [
        (
            "V = 63, gamma = 11, mostly ended by token 5",
            None,
            "--shape V=63,gamma=11,dtype=float16 --budget 30 --seed 7",
        ),
        ("V = 64, gamma = 11, mostly ended by token 5", None, "--shape V=64,gamma=11 --budget 30 --seed 7"),
        ("V = 63, gamma = 11", "print()", ""),
        ("4099 tokens", None, ""),
    ],
)
def test_a_failure_without_a_program_has_a_command(case: str, script: str | None, again: str) -> None:
    own = [looked({"V": [63, 63], "gamma": [1, 96]}, dtype="float16")]
    document = {"failure": {"case": case, "script": script}, "shapes": shapes((V, GAMMA)) | {"own": own}}
    assert request().again(document) == (f"simlab certify mine.py:verify {again}" if again else "")
    assert request().again(document | {"failure": None}) == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shape", "V=1"], "V is 1 in shape 'V=1'; expected at least 2"),
        (["--shape", "gamma=0"], "gamma is 0 in shape 'gamma=0'; expected at least 1"),
        (["--shape", "V=x"], "V is 'x' in shape 'V=x'; expected a whole number"),
        (["--shape", "V=5..3"], "expected the smaller one first"),
        (["--shape", "V=9,dtype=int9"], "dtype is 'int9' in shape 'V=9,dtype=int9'; expected one of float64"),
        (["--shape", "V=9,dtype=float32"], "but verify takes float64 alone"),
        (["--contract", "chain_uniforms", "--shape", "V=9,dtype=bfloat16"], "'bfloat16', which NumPy has not"),
        (["--shape", "gpt-9"], "shape is 'gpt-9'; expected sizes such as V=151936,gamma=7, or one of llama-3"),
        (["--shape", ""], "shape is ''; expected sizes"),
        (["--shape", "batch=4"], "'batch' in shape 'batch=4'; expected V, gamma or dtype"),
        (["--shape", "V=262144,gamma=96"], "does not fit memory: its rows of p alone have more than"),
        (["--shape", "V=300", "--at-most", "V=200"], "shape 'V=300' is beyond at-most 'V=200'"),
        (["--at-most", "V=1"], "V is 1 in at-most 'V=1'; expected at least 2"),
        (["--at-most", "x"], "'x' in at-most 'x'; expected one of V, gamma"),
    ],
)
def test_shapes_that_there_are_not_are_wrong_usage(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(["certify", "mine.py:at_zero", *arguments], capsys)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["--list", "--strict"], "--strict"),
        (["--self-test", "--shape", "V=9"], "--shape"),
        (["--url", "http://a", "--at-most", "V=9"], "--at-most"),
        (["--list", "--at-most", ""], "--at-most"),
    ],
)
def test_shapes_are_of_what_is_called(arguments: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{option} belongs to a SPEC or --command" in usage_error(["certify", *arguments], capsys)


def test_presets_are_listed_with_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed and preset.source in listed for name, preset in PRESETS.items())


# What comes of it ----------------------------------------------------------------------------------------------


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "certify" / "certificate.json").read_text(encoding="utf-8"))
    return found


def test_own_shapes_lead_and_an_edge_is_told_beside_the_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["certify", "mine.py:at_zero", "--calls", "16", "--processes", "1", "--shape", "V=9,gamma=2"]
    assert main(words) in (0, 3)
    first, own, *rest = capsys.readouterr().out.splitlines()
    assert first.partition(":")[0] in ("lossless", "inconclusive")
    assert own.startswith("V=9,gamma=2: ")
    assert any(line.startswith("V by gamma ") for line in rest)
    (edge,) = [line for line in rest if line.startswith("edge: ")]
    assert re.match(r"edge: coin \d of \d is exactly 0: it emits ", edge)
    assert "one in 2^24" in edge
    found = document(folder)
    assert found["failure"] is None
    assert found["battery"] == 2
    assert found["shapes"]["own"][0]["of"] == {"V": [9, 9], "gamma": [2, 2]}
    script = folder / "out" / "certify" / "reproduce.py"
    done = subprocess.run([sys.executable, str(script)], cwd="/", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_an_edge_fails_if_it_is_asked_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "mine.py:at_zero", "--calls", "1", "--processes", "1", "--strict"]) == 1
    assert "\nedge: " not in capsys.readouterr().out
    found = document(folder)
    assert found["verdict"] == "lossy"
    assert found["failure"] == found["edge"]
    assert found["command"].endswith("--seed 0 --processes 1")
    assert "--strict" in found["command"]


def test_a_failure_that_no_small_case_shows_has_a_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["certify", "mine.py:at_eleven", "--calls", "512", "--processes", "1", "--shape", "V=20,gamma=11"]
    assert main(words) == 1
    printed = capsys.readouterr().out
    found = document(folder)
    assert found["verdict"] == "lossy"
    assert found["failure"]["script"] is None
    assert "gamma=11 --budget 30" in found["again"]
    assert f"to see it again: {found['again']}" in printed
    assert not (folder / "out" / "certify" / "reproduce.py").exists()


def test_what_is_not_taken_is_left_out_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["certify", "mine.py:up_to_sixteen", "--calls", "16", "--processes", "1", "--shape", "V=9,gamma=20"]
    assert main(words) == 3
    printed = capsys.readouterr().out
    assert "V=9,gamma=20: not looked at: raises NotImplementedError: more than 16 drafts" in printed
    assert "left out: " in printed
    assert "too little was seen of V = 9, gamma = 20, which was asked for" in printed


# pytest, and the action ----------------------------------------------------------------------------------------


def test_the_fixture_passes_shapes_on(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import simlab.certify\n\n\nclass Found:\n    subject = verdict = summary = ''\n\n\n"
        "def certified(function, contract, **options):\n    print(sorted(options.items()))\n    return Found\n\n\n"
        "simlab.certify.assert_lossless = certified\n\n\n"
        "def test_right(assert_lossless):\n    assert_lossless(len, calls=8, shapes=['V=9'])\n    assert 0\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "simlab.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    more = ["--certify-shape", "V=8,gamma=2", "--certify-shape=emu3", "--certify-at-most", "V=9", "--certify-strict"]
    done = subprocess.run([*command, *more, "."], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    options = [("at_most", "V=9"), ("calls", 8), ("shapes", ("V=9", "V=8,gamma=2", "emu3")), ("strict", True)]
    assert str(options) in done.stdout, done.stdout + done.stderr


STUB = '#!/bin/sh\nfor word; do echo "$word"; done >asked\nexit ${STATUS:-0}\n'


@pytest.mark.parametrize(
    ("given", "status", "ends", "asked"),
    [
        ({}, 0, 0, []),
        ({}, 3, 0, []),
        ({"INCONCLUSIVE": "true"}, 3, 3, []),
        (
            {"SHAPES": "V=9,gamma=2\n\nllama-3\n", "AT_MOST": "V=200000", "STRICT": "true", "CONTRACT": "draft"},
            1,
            1,
            [
                "--contract",
                "draft",
                "--shape",
                "V=9,gamma=2",
                "--shape",
                "llama-3",
                "--at-most",
                "V=200000",
                "--strict",
            ],
        ),
    ],
)
def test_the_action_asks_for_what_it_is_given(
    given: dict[str, str], status: int, ends: int, asked: list[str], tmp_path: Path
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
    assert words[10:] == asked
