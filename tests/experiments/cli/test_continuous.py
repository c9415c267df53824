"""``simlab generate``, ``record``, ``replay`` and ``compare`` with a model of continuous tokens."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments.cli.main import main
from experiments.models.continuous import compare as comparing
from experiments.models.continuous.methods import METHODS, NAMES
from experiments.models.continuous.recording import Recording
from simlab.continuous.rules import LastStep
from tests.support.continuous_pair import DIM, write_pair

pytestmark = pytest.mark.cli

QUICK = ("autoregressive", "last-step")


def given(pair: Path, out: Path, method: str, *more: str) -> list[str]:
    own = ["--models", str(pair), "--method", method, "--out", str(out / "grid.png"), "--tokens", str(out / "t.npz")]
    return ["generate", "--model", "fashion-continuous", "--count", "3", "--steps", "3", *own, *more]


@pytest.mark.parametrize(
    "method", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_every_method_draws(method: str, pair: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drafts = [] if method == "autoregressive" else ["--gamma", "5", "--prefill", "2"]
    drafts += ["--variances", "posterior"] if method == "reflection" else []
    assert main(given(pair, tmp_path, method, "--order", "random", *drafts)) == 0
    said = capsys.readouterr().out
    lossless = method not in METHODS or METHODS[method].lossless
    assert f"{method} ({'lossless' if lossless else 'lossy'})" in said
    assert Image.open(tmp_path / "grid.png").size[0] > 2 * 12
    with np.load(tmp_path / "t.npz") as saved:
        assert saved["tokens"].shape == (3, 9, DIM)
        assert np.isfinite(saved["tokens"]).all()
        assert (np.sort(saved["places"]) == np.arange(9)).all()
        assert (saved["outcome"][:, :2] == 0).all()
        assert (saved["calls"] <= 9).all()


@pytest.mark.slow
def test_an_image_is_the_same_in_every_batch(pair: Path, tmp_path: Path) -> None:
    found = []
    for batch in ("1", "3"):
        more = "--batch", batch, "--order", "random", "--guidance", "1.5"
        assert main(given(pair, tmp_path, "last-step", *more)) == 0
        with np.load(tmp_path / "t.npz") as saved:
            found.append((saved["tokens"], saved["places"]))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-4)
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert (found[0][1][0] != found[0][1][1]).any()


# Recordings --------------------------------------------------------------------------------------------------------

STEPS = 3


def recorded(pair: Path, folder: Path, method: str) -> Recording:
    out = folder / f"{method}.npz"
    given = ["--models", str(pair), "--method", method, "--out", str(out), "--count", "6", "--steps", str(STEPS)]
    assert main(["record", "--model", "fashion-continuous", "--spacing", "trailing", *given]) == 0
    return Recording(out)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["last-step", "algorithm-1", "path", "target-end"])
def test_a_rule_takes_its_own_decisions_again(method: str, pair: Path, tmp_path: Path) -> None:
    found = recorded(pair, tmp_path, method)
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
    assert rows["marginal"]["refused"]
    if method == "last-step":
        assert rows["path"]["refused"] is None  # the target's kernels at the draft's states are there
        assert rows["path"]["decisions"] < 1
    if method == "target-end":
        assert rows["last-step"]["refused"]
        assert rows["last-noise"]["refused"]


@pytest.mark.slow
def test_noise_is_shared_where_it_was(pair: Path, tmp_path: Path) -> None:
    for method, shared in (("last-step", True), ("last-step-unaligned", False)):
        held = recorded(pair, tmp_path, method).arrays
        same = np.abs(held["target_states"][:, -1] - held["draft_states"][:, -1]).max() == 0
        assert same == shared


# Comparisons -------------------------------------------------------------------------------------------------------

COMPARED = "autoregressive,last-step"


def command(models: Path, out: Path, *more: str) -> list[str]:
    own = ["--models", str(models), "--out", str(out), "--methods", COMPARED, "--count", "12", "--timing-batch", "1"]
    return ["compare", "--model", "fashion-continuous", "--steps", "2", "--spacing", "trailing", *own, *more]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pair(tmp_path_factory.mktemp("pair"))


@pytest.mark.slow
def test_it_goes_on_where_it_was_stopped(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "CHUNK", 6)
    drawn, made = comparing.draw, []

    def stopped(models: object, method: object, labels: np.ndarray, *more: object, **options: object) -> object:
        made.append(len(labels))
        if len(made) == 3:
            raise KeyboardInterrupt
        return drawn(models, method, labels, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(comparing, "draw", stopped)
    assert main(command(models, tmp_path)) == 130
    assert "simlab: interrupted" in capsys.readouterr().err
    assert len(list((tmp_path / "parts").glob("*.npz"))) == 2
    assert main(command(models, tmp_path)) == 0
    assert made.count(6) == 3 + 4  # of six pieces two were there
    assert not (tmp_path / "parts").exists()
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


@pytest.mark.slow
def test_a_biased_rule_is_told_from_the_target(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ratio is four times what it must be, as a product of variances may make it."""
    right = LastStep.log_ratio
    monkeypatch.setattr(LastStep, "log_ratio", lambda self, pair, x: right(self, pair, x) + 1.5)
    assert main(command(models, tmp_path, "--methods", "last-step")) == 0
    (row,) = json.loads((tmp_path / "compare-continuous.json").read_text())["methods"]
    assert not row["checks"]["ranks"]["passes"]
