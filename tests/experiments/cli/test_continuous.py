"""What is of continuous tokens alone in ``simlab generate``, ``record``, ``replay`` and ``compare``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.cli.main import main
from experiments.models import compare
from experiments.models.continuous.compare import Drawn, counted
from experiments.models.continuous.kind import Continuous, Samples, Settings
from experiments.models.continuous.methods import NAMES
from experiments.models.continuous.recording import Trajectories
from simlab.continuous.decoders import Outcome
from simlab.continuous.networks.sampler import Sampler
from simlab.continuous.rules import LastStep
from tests.support.continuous_pair import DIM, write_pair

pytestmark = pytest.mark.cli


def test_places_are_drawn_and_the_first_tokens_are_the_targets_own(pair: Path, tmp_path: Path) -> None:
    files = "--models", str(pair), "--out", str(tmp_path / "grid.png"), "--tokens", str(tmp_path / "t.npz")
    more = "--count", "3", "--steps", "3", "--order", "random", "--gamma", "5", "--prefill", "2"
    assert main(["generate", "--model", "fashion-continuous", *files, *more]) == 0
    with np.load(tmp_path / "t.npz") as saved:
        assert saved["tokens"].shape == (3, 9, DIM)
        assert (np.sort(saved["places"]) == np.arange(9)).all()
        assert (saved["places"][0] != saved["places"][1]).any()
        assert (saved["outcome"][:, :2] == 0).all()
        assert saved["outcome"][:, 2:].any()


@pytest.mark.parametrize(
    ("given", "took"),
    [(["--temperature", "0"], "autoregressive"), (["--variances", "ddim"], "autoregressive"), ([], "last-step")],
)
def test_auto_takes_a_lossless_method_that_there_is(
    given: list[str], took: str, pair: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--models", str(pair), "--out", str(tmp_path / "grid.png"), "--count", "2", "--steps", "3"]
    assert main(["generate", "--model", "fashion-continuous", *files, *given]) == 0
    assert f"{took} (lossless)" in capsys.readouterr().out


def test_methods_whose_densities_are_not_there_are_left_out(pair: Path) -> None:
    loaded = Continuous(pair)
    assert loaded.names(Settings(Sampler(3))) == tuple(name for name in NAMES if name != "reflection")
    assert loaded.names(Settings(Sampler(3, variances="upper"))) == NAMES
    for still in (Sampler(3, variances="ddim"), Sampler(3, temperature=0.0)):
        assert loaded.names(Settings(still)) == ("autoregressive", "last-noise", "target-end")


# Recordings --------------------------------------------------------------------------------------------------------

STEPS = 3


def recorded(pair: Path, folder: Path, method: str) -> Trajectories:
    out = folder / f"{method}.npz"
    given = ["--models", str(pair), "--method", method, "--out", str(out), "--count", "6", "--steps", str(STEPS)]
    assert main(["record", "--model", "fashion-continuous", "--spacing", "trailing", *given]) == 0
    return Trajectories(out)


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


def test_a_replay_without_a_table_leaves_none_of_another(pair: Path, tmp_path: Path) -> None:
    recorded(pair, tmp_path, "last-step")
    (tmp_path / "replay.parquet").touch()
    assert main(["replay", str(tmp_path / "last-step.npz"), "--out", str(tmp_path), "--rule", "last-step"]) == 0
    assert not (tmp_path / "replay.parquet").exists()


# Comparisons -------------------------------------------------------------------------------------------------------

COMPARED = "autoregressive,last-step"


def command(models: Path, out: Path, *more: str) -> list[str]:
    own = ["--models", str(models), "--out", str(out), "--methods", COMPARED, "--count", "12", "--timing-batch", "1"]
    return ["compare", "--model", "fashion-continuous", "--steps", "2", "--spacing", "trailing", *own, *more]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pair(tmp_path_factory.mktemp("pair"))


@pytest.mark.slow
def test_what_became_of_drafts_is_told(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "FIRST", 6)
    assert main(command(models, tmp_path)) == 0
    first, last = capsys.readouterr().out.split("\n12 images a method")
    assert "so far 6 of 12 images a method" in first
    assert ("speedup, batch 1" in first, "speedup, batch 1" in last) == (False, True)
    document = json.loads((tmp_path / "compare-continuous.json").read_text())
    alone, drafted = document["methods"]
    assert alone["acceptance"]["mean"] is None
    assert "ranks" not in alone["checks"]
    assert 0 < drafted["acceptance"]["mean"] < 1
    (times,) = drafted["timing"]
    assert min(times[name] for name in ("speedup", "predicted")) > 0
    assert set(drafted["checks"]) == {"ranks", "tokens", "features", "accuracy"}
    assert drafted["checks"]["ranks"]["detects"] < 0.3
    with np.load(tmp_path / "compare-continuous.npz") as saved:
        assert saved["images"].shape == (2, 10, 28, 28)
        assert saved["accepted"].shape == (2, 7, 7)


def test_the_error_of_acceptance_is_that_of_the_mean_beside_it() -> None:
    """Accepted 3 of 3 drafts of one image and 0 of 1 of the other: both means weigh drafts alike."""
    outcome = np.full((2, 4), Outcome.TARGET, np.int8)
    outcome[0, :3], outcome[1, 0] = Outcome.ACCEPTED, Outcome.REPLACED
    none = np.zeros((2, 4), np.int64)
    samples = Samples(np.zeros((2, 4, 1)), np.tile(np.arange(4), (2, 1)), outcome, none, np.ones(2, np.int64))
    empty = np.zeros(0)
    drawn = Drawn(samples, None, empty, empty, np.array([0.0, np.inf]), empty)  # type: ignore[arg-type]
    found = counted(drawn, (2, 2))
    assert found["acceptance"] == {"mean": 0.75, "error": pytest.approx(0.375)}  # 3 - 2.25 and 0 - 0.75, by 2 a image
    assert found["gap"] is None


@pytest.mark.slow
def test_a_biased_rule_is_told_from_the_target(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ratio is four times what it must be, as a product of variances may make it."""
    right = LastStep.log_ratio
    monkeypatch.setattr(LastStep, "log_ratio", lambda self, pair, x: right(self, pair, x) + 1.5)
    assert main(command(models, tmp_path, "--methods", "last-step")) == 0
    (row,) = json.loads((tmp_path / "compare-continuous.json").read_text())["methods"]
    assert not row["checks"]["ranks"]["passes"]
