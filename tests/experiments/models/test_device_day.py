"""A day on a device: its steps end in time, none stops another, and what they found is there at once."""

from __future__ import annotations

import json
import sys
import time
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
from experiments.cli.device_day import device_day_command
from experiments.cli.main import main
from experiments.models.device_day import Step, prepare, run_day, steps
from reports.data.measured import read_measured
from reports.pages import device_tables
from tests.support.cli import alive

pytestmark = pytest.mark.cli

WRITES = "import json, sys, pathlib; path = pathlib.Path(sys.argv[1]); path.write_text(json.dumps({'found': 1})); "


def step(name: str, folder: Path, then: str = "", seconds: float = 60.0, **more: Any) -> Step:
    """A step that writes its result, and then does something."""
    path = folder / f"{name}.json"
    return Step(name, seconds, (sys.executable, "-c", WRITES + then, str(path)), {path: f"of-{name}"}, **more)


def day(asked: list[Step], folder: Path, seconds: float = 60.0) -> dict[str, Any]:
    heard: list[str] = []
    found = run_day(asked, "box", folder, folder / "results", seconds, heard.append)["steps"]
    return {name: (own["state"], own["attempts"]) for name, own in found.items()} | {"heard": heard}


def test_a_step_that_fails_or_takes_too_long_stops_no_other(tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    asked = [
        step("wrong", tmp_path, "print('no such kernel'); sys.exit(2)"),
        step("slow", tmp_path, "import time; time.sleep(60)", seconds=1.5),
        step("lossy", tmp_path, "sys.exit(1)", answers=(0, 1)),
        step("later", tmp_path, f"sys.exit(not pathlib.Path({str(tried)!r}).exists())"),
        Step("absent", 10.0, (sys.executable, "-c", "pass"), {tmp_path / "absent.json": "of-absent"}),
    ]
    begun = time.monotonic()
    first = day(asked, tmp_path)
    assert time.monotonic() - begun < 40
    states = {name: first[name][0] for name in ("wrong", "slow", "lossy", "later", "absent")}
    assert states == {"wrong": "failed", "slow": "stopped", "lossy": "done", "later": "failed", "absent": "done"}
    results = {path.name for path in (tmp_path / "results").iterdir()}
    assert results == {"box-day.json", *(f"box-of-{name}.json" for name in ("wrong", "slow", "lossy", "later"))}
    written = json.loads((tmp_path / "results" / "box-day.json").read_text())["steps"]
    assert written["wrong"]["said"] == ["no such kernel"]
    assert (written["wrong"]["results"], written["absent"]["results"]) == (["of-wrong"], [])

    tried.touch()  # what is done is not run again, and what was never tried comes first
    again = day([*asked, step("new", tmp_path)], tmp_path)
    assert again["heard"] == ["new", "wrong", "slow", "later"]
    assert (again["later"], again["lossy"], again["wrong"]) == (("done", 2), ("done", 1), ("failed", 2))


@pytest.mark.parametrize("written", ["", "[]", '{"steps": []}', '{"steps": {"one": "done"}}'])
def test_what_became_of_steps_is_told_anew_where_it_cannot_be_read(tmp_path: Path, written: str) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "box-day.json").write_text(written)
    assert day([step("one", tmp_path)], tmp_path) == {"one": ("done", 1), "heard": ["one"]}


def test_a_step_of_another_command_begins_afresh(tmp_path: Path) -> None:
    """As one of small sizes does before that of the day; what it has written is not the other's."""
    small, real = step("one", tmp_path), step("one", tmp_path, "pass")
    assert day([small], tmp_path)["one"] == ("done", 1)
    assert day([small], tmp_path)["heard"] == []
    silent = Step("one", 60.0, (sys.executable, "-c", "raise SystemExit(2)"), real.results)
    assert day([silent], tmp_path) == {"one": ("failed", 1), "heard": ["one"]}
    assert not (tmp_path / "one.json").exists()
    assert day([real], tmp_path) == {"one": ("done", 1), "heard": ["one"]}
    assert day([real], tmp_path)["heard"] == []


def test_what_the_models_of_a_day_lack_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.safetensors").touch()
    with pytest.raises(ValueError, match=r"draft.safetensors: there is no such file; expected what the step medium"):
        prepare(tmp_path / "day", tmp_path)
    assert not (tmp_path / "day").exists()


def test_nothing_begins_that_has_no_time_left(tmp_path: Path) -> None:
    assert day([step("one", tmp_path)], tmp_path, seconds=5.0) == {"heard": []}  # less than it is given to end in


def test_what_a_step_has_started_ends_with_it(tmp_path: Path) -> None:
    """Interrupted first, as by Ctrl-C, and killed where that does not end it."""
    own = tmp_path / "pid"
    heedless = "import os, pathlib, signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    child = f"{heedless}pathlib.Path({str(own)!r}).write_text(str(os.getpid())); time.sleep(60)"
    heeds = f"import subprocess, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    assert day([step("parent", tmp_path, heeds, seconds=1.5)], tmp_path)["parent"] == ("stopped", 1)
    time.sleep(0.2)
    assert not own.exists() or not alive(int(own.read_text()))  # on a busy machine it may not have begun


def test_every_step_has_its_time_within_the_day(tmp_path: Path) -> None:
    asked = steps(tmp_path, "cuda", False, None)
    assert sum(step.seconds for step in asked) <= signature(device_day_command).parameters["seconds"].default
    assert len({step.name for step in asked}) == len(asked)
    results = [name for step in asked for name in step.results.values()]
    assert len(set(results)) == len(results)


@pytest.mark.slow
def test_a_dry_run_of_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a CPU, over tiny models: kernels for a device are not installed and there is no data to train on, and all
    else is done. The pages show it as it is."""
    from tests.support.continuous_pair import write_pair
    from tests.support.fashion import write_models

    models, results = tmp_path / "models", tmp_path / "results"
    models.mkdir()
    write_models(models)
    write_pair(models)
    places = "--out", str(tmp_path / "out"), "--results", str(results), "--models", str(models)
    given = "--device", "cpu", "--small", "--data", str(tmp_path)
    assert main(["model", "device-day", "dry", *given, *places]) == 3
    states = {name: own["state"] for name, own in json.loads((results / "dry-day.json").read_text())["steps"].items()}
    kernels = dict.fromkeys(("vllm", "sglang", "flashinfer", "sgl-kernel"), "failed")
    missing = {"medium": "failed", "medium-map": "failed"}
    assert states == {
        **dict.fromkeys(("tests", "device", "compare", "compare-continuous", "map"), "done"), **kernels, **missing
    }  # fmt: skip
    assert "test_triton" in (results / "dry-tests.xml").read_text()
    said = capsys.readouterr().out
    assert "needs a CUDA device" in said or "vllm" in said
    measured = read_measured(results)
    assert [set(own) for own in measured] == [
        {"dry-device"}, {"dry-compare"}, {"dry-compare-continuous"}, {"dry-map"}, set(), set(), {"dry-day"}
    ]  # fmt: skip
    tables = device_tables.more(measured, None)
    assert [table.heading for table in tables] == [
        "Continuous tokens, dry-compare-continuous", "What auto takes, dry-map", "A day on dry"
    ]  # fmt: skip
    assert len(tables[-1].rows) == len(states)
