"""``simlab record`` and ``simlab replay`` with a model of continuous tokens."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.cli.main import main
from experiments.models.continuous.recording import Recording
from tests.support.cli import usage_error
from tests.support.continuous_pair import DIM, write_pair

pytestmark = [pytest.mark.cli, pytest.mark.slow]
STEPS = 3


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pair(tmp_path_factory.mktemp("pair"), side=12)


def recorded(models: Path, folder: Path, method: str) -> Recording:
    out = folder / f"{method}.npz"
    given = ["--models", str(models), "--method", method, "--out", str(out), "--count", "6", "--steps", str(STEPS)]
    assert main(["record", "--model", "fashion-continuous", "--spacing", "trailing", *given]) == 0
    return Recording(out)


@pytest.mark.parametrize(
    "method", ["last-step", *(pytest.param(m, marks=pytest.mark.slow) for m in ("algorithm-1", "path", "target-end"))]
)
def test_a_rule_takes_its_own_decisions_again(method: str, models: Path, tmp_path: Path) -> None:
    found = recorded(models, tmp_path, method)
    states, means, sds = (found.arrays[f"target_{part}"] for part in ("states", "means", "sds"))
    assert states.shape == (len(found), STEPS + 1, DIM)
    noise = (states[:, :-1] - means) / sds  # step t at index t - 1
    assert np.abs(noise[:, 1:]).max() < 8.58  # the farthest normal there is
    assert 0 < found.arrays["accepted"].mean() < 1
    assert main(["replay", str(tmp_path / f"{method}.npz"), "--out", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "replay.json").read_text())
    rows = {row["rule"]: row for row in document["rules"]}
    own = rows[found.manifest["rule"]]
    assert own["decisions"] == 1.0
    assert own["acceptance"] == pytest.approx(found.arrays["accepted"].mean(), abs=0.4)
    assert "closed form" in rows["marginal"]["refused"]
    if method == "last-step":
        assert rows["path"]["refused"] is None  # the target's kernels at the draft's states are there
        assert rows["path"]["decisions"] < 1
    if method == "target-end":
        assert "adds no noise" in rows["last-step"]["refused"]
        assert "walk back" in rows["last-noise"]["refused"]


def test_noise_is_shared_where_it_was(models: Path, tmp_path: Path) -> None:
    for method, shared in (("last-step", True), ("last-step-unaligned", False)):
        held = recorded(models, tmp_path, method).arrays
        same = np.abs(held["target_states"][:, -1] - held["draft_states"][:, -1]).max() == 0
        assert same == shared


def test_what_is_refused(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.npz"
    given = ["record", "--model", "fashion-continuous", "--models", str(models), "--out", str(out)]
    assert "autoregressive verifies no drafts" in usage_error([*given, "--method", "autoregressive"], capsys)
    assert "--calls 3: is not for --model fashion-continuous" in usage_error([*given, "--calls", "3"], capsys)
    assert "no draft was verified" in usage_error([*given, "--prefill", "9", "--count", "1"], capsys)
    assert list(tmp_path.iterdir()) == []
