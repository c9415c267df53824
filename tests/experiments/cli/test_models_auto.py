"""``simlab generate --method auto`` and what ``simlab model device`` measures for it, on tiny models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments.cli.main import main
from experiments.models import choice, compression, curve, payoff
from experiments.models.compression import Candidate, Compression
from experiments.results import write_json

pytestmark = pytest.mark.cli

STEPS = [
    Compression(Candidate("ar", {}), None, 1, 0, 1.0, 0.0),
    Compression(Candidate("sjd-ac", {"window": 4}), None, 5, 0, 1.8, 0.0),
    Compression(Candidate("speculative", {"gamma": 2}), "draft", 3, 2, 2.1, 0.0),
]


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that nobody measured, and a folder of one's own."""
    monkeypatch.setenv(choice.CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr(choice, "known_steps", lambda *_: STEPS)
    monkeypatch.setattr(payoff, "known_steps", lambda *_: STEPS)


def costs(path: Path, fixed: float, per_row: float) -> Path:
    """A file of made-up costs."""
    target = [{"batch": b, "rows": r, "seconds": fixed + per_row * b * r} for b in (1, 64) for r in (1, 33)]
    drafting = {"draft": [{"batch": 1, "drafts": 1, "seconds": 10.0}]}
    write_json(path, {"kind": "curve", "target": target, "drafting": drafting})
    return path


@pytest.mark.parametrize(
    ("fixed", "per_row", "says", "took"),
    [
        (1.0, 0.0, "sjd-ac, window 4: at 3 images at once 5 rows a call cost 1.00x", "sjd-ac (lossless)"),
        (0.0, 1.0, "ar: at 3 images at once the 5 rows of sjd-ac, window 4 cost 5.00x", "ar (lossless)"),
    ],
)
def test_the_default_says_what_it_takes_and_why(
    fixed: float, per_row: float, says: str, took: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--out", str(tmp_path / "grid.png"), "--tokens", str(tmp_path / "tokens.npz")]
    file = costs(tmp_path / "curve.json", fixed, per_row)
    assert main(["generate", "--models", str(models), *files, "--count", "3", "--curve", str(file)]) == 0
    printed = capsys.readouterr().out
    assert says in printed
    assert "one image at a time sjd-ac, window 4, " in printed
    assert took in printed
    assert str(file) in printed
    drawn = np.load(tmp_path / "tokens.npz")["tokens"]
    named = ["--method", took.split()[0], *(["--set", "window=4"] if took.startswith("sjd") else [])]
    assert main(["generate", "--models", str(models), *files, "--count", "3", *named]) == 0
    assert (np.load(tmp_path / "tokens.npz")["tokens"] == drawn).all()


def test_explain_draws_what_calls_cost_and_what_that_makes_of_methods(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["generate", "--models", str(models), "--out", str(tmp_path / "grid.png"), "--count", "2", "--explain"]
    assert main([*command, "--curve", str(costs(tmp_path / "curve.json", 1.0, 1 / 64))]) == 0
    printed = capsys.readouterr().out
    (cost,) = (line for line in printed.splitlines() if line.startswith("33 "))
    assert f"{(1 + 66 / 64) / (1 + 2 / 64):.2f}" in cost  # for 2 images
    assert f"{(1 + 33 / 64) / (1 + 1 / 64):.2f}" in cost  # for one
    (method,) = (line for line in printed.splitlines() if line.startswith("sjd-ac, window 4 "))
    assert f"{1.8 * (1 + 2 / 64) / (1 + 10 / 64):.2f}" in method


def test_device_writes_what_generate_takes(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "curve.json"
    assert main(["model", "device", "--curve", "--models", str(models), "--batch", "2", "--out", str(path)]) == 0
    found = json.loads(path.read_text())
    assert [entry["rows"] for entry in found["target"]] == list(curve.ROWS)
    assert all(entry["seconds"] > 0 for entry in found["target"])
    grid = str(tmp_path / "grid.png")
    assert main(["generate", "--models", str(models), "--count", "2", "--curve", str(path), "--out", grid]) == 0


@pytest.mark.slow
def test_device_measures_tokens_a_step(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compression, "candidates", lambda: [step.candidate for step in STEPS])
    monkeypatch.setattr(compression, "IMAGES", 2)
    path = tmp_path / "compression.json"
    assert main(["model", "device", "--compression", "--models", str(models), "--out", str(path)]) == 0
    assert "sjd-ac, window 4" in capsys.readouterr().out
    found = json.loads(path.read_text())
    assert [table["sampling"]["guidance"] for table in found["tables"]] == list(compression.GUIDANCE)
    ar, sjd, speculative = found["tables"][0]["rows"]
    assert (ar["tokens"], ar["rows"], sjd["rows"], speculative["drafts"]) == (1.0, 1, 5, 2)
