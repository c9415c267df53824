"""``simlab compare`` with a model of continuous tokens."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.cli.main import main
from experiments.models.continuous import compare as module
from simlab.continuous.rules import LastStep
from tests.support.cli import usage_error
from tests.support.continuous_pair import write_pair

pytestmark = [pytest.mark.cli, pytest.mark.slow]
METHODS = "autoregressive,last-step"


def command(models: Path, out: Path, *more: str) -> list[str]:
    own = ["--models", str(models), "--out", str(out), "--methods", METHODS, "--count", "12", "--timing-batch", "1"]
    return ["compare", "--model", "fashion-continuous", "--steps", "2", "--spacing", "trailing", *own, *more]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pair(tmp_path_factory.mktemp("pair"))


def test_it_goes_on_where_it_was_stopped(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 6)
    drawn, made = module.draw, []

    def stopped(models: object, method: object, labels: np.ndarray, *more: object, **options: object) -> object:
        made.append(len(labels))
        if len(made) == 3:
            raise KeyboardInterrupt
        return drawn(models, method, labels, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "draw", stopped)
    assert main(command(models, tmp_path)) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert len(list((tmp_path / "parts").glob("*.npz"))) == 2
    assert main(command(models, tmp_path)) == 0
    assert made.count(6) == 3 + 4  # of six pieces two were there
    assert not (tmp_path / "parts").exists()
    said = capsys.readouterr().out
    assert "12 images a method" in said
    document = json.loads((tmp_path / "compare-continuous.json").read_text())
    own = {row["method"]: row for row in document["methods"]}
    assert own["autoregressive"]["acceptance"]["mean"] is None
    assert own["autoregressive"]["steps"]["mean"] == 49
    drafted = own["last-step"]
    assert 0 < drafted["acceptance"]["mean"] < 1
    assert drafted["steps"]["mean"] < 49
    assert drafted["timing"]["speedup"] > 0
    assert drafted["timing"]["predicted"] > 0
    assert set(drafted["checks"]) == {"ranks", "tokens", "features", "accuracy"}
    assert all(check["passes"] for check in drafted["checks"].values())
    assert drafted["checks"]["ranks"]["detects"] < 0.3
    assert "ranks" not in own["autoregressive"]["checks"]
    with np.load(tmp_path / "compare-continuous.npz") as saved:
        assert saved["images"].shape == (2, 10, 28, 28)
        assert saved["accepted"].shape == (2, 7, 7)


def test_a_biased_rule_is_told_from_the_target(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ratio is four times what it must be, as a product of variances may make it."""
    right = LastStep.log_ratio
    monkeypatch.setattr(LastStep, "log_ratio", lambda self, pair, x: right(self, pair, x) + 1.5)
    assert main(command(models, tmp_path, "--methods", "last-step")) == 0
    (row,) = json.loads((tmp_path / "compare-continuous.json").read_text())["methods"]
    assert not row["checks"]["ranks"]["passes"]


def test_what_is_not_for_this_model(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--top-p 0.5: is not for" in usage_error(command(models, tmp_path, "--top-p", "0.5"), capsys)
    assert "unknown method 'eagle'" in usage_error(command(models, tmp_path, "--methods", "eagle"), capsys)
