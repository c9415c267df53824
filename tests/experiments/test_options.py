"""Commands that are modules: their options are spelled, and wrong ones told, as those of simlab are."""

from __future__ import annotations

from importlib import import_module

import pytest

from experiments.options import run_module

pytestmark = pytest.mark.cli

COMMANDS = {  # a module, and the options that its documents name
    "certification.self_test_drawn": ("--count", "--runs", "--budget", "--seed", "--processes", "--contract", "--out"),
    "engines.record": ("--budget", "NAME"),
    "measurements.image_methods": ("--steps", "--timed", "BESIDE"),
    "models.partly_verified": ("--images", "OUT"),
    "models.continuous.denoising": ("--images", "OUT"),
    "models.continuous.measurement": ("--images", "--seed", "--out"),
}
WRONG = {
    "--nope": "No such option: --nope",
    "--images 0": "--images 0: expected a whole number >= 1",
    "--seed x": "--seed x: expected a whole number",
    "--contract verfy": "--contract verfy: did you mean verify? expected one of verify",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_spelled_and_errors_told_in_one_way(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name.startswith("models"):
        pytest.importorskip("torch")
    module = import_module(f"experiments.{name}")
    command = getattr(module, f"{name.rpartition('.')[2]}_command")
    assert run_module(command, ["--help"]) == 0
    shown = capsys.readouterr().out
    assert f"python -m experiments.{name}" in shown
    assert all(each in shown for each in COMMANDS[name])
    wrong = [words for words in WRONG if words.split()[0] in ("--nope", *COMMANDS[name])]
    for words in wrong:
        assert run_module(command, ["out.json", *words.split()] if "OUT" in COMMANDS[name] else words.split()) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith(f"experiments.{name}: {WRONG[words]}")
