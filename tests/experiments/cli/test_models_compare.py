"""``simlab compare``: what it writes, how it counts and takes time, and clear words where it cannot compare."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")
import torch
from PIL import Image

from experiments.cli.main import main
from experiments.models import compare
from experiments.models import timing as clock
from experiments.models.methods import make_method
from experiments.models.session import Models, Samples, draw, processes
from experiments.models.timing import Clock, Timed
from simlab.decoders import run
from simlab.models.process.sampling import Sampling
from simlab.randomness import Tape
from tests.support.cli import usage_error
from tests.support.fashion import SIDE, write_models

pytestmark = [pytest.mark.cli, pytest.mark.slow]

METHODS = ("ar", "speculative", "sjd-pac", "gsd", "sjd-pac+grouped")
N, COUNT = (SIDE // 2) ** 2, 12


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


@pytest.fixture(scope="module")
def results(models: Path) -> Path:
    out = models.parent / "compared"
    arguments = "--methods", ",".join(METHODS), "--count", str(COUNT), "--timing-batch", "2", "--guidance", "1.5"
    assert main(["compare", "--models", str(models), "--out", str(out), *arguments]) == 0
    return out


@pytest.fixture(scope="module")
def document(results: Path) -> dict[str, Any]:
    def constant(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads((results / "compare.json").read_text(encoding="utf-8"), parse_constant=constant)


# What is written --------------------------------------------------------------------------------------------------


def test_nothing_else_is_written(results: Path) -> None:
    assert {path.name for path in results.iterdir()} == {
        "compare.json",
        "compare.npz",
        "compare.parquet",
        "samples.png",
    }


def test_the_document_says_what_was_compared(document: dict[str, Any]) -> None:
    assert document["n"] == COUNT
    assert document["sampling"] == {"guidance": 1.5, "temperature": 1.0, "top_k": None, "top_p": None}
    assert document["device"] == "CPU"
    assert document["memory"] == "not measured on a CPU"
    assert {"torch", "simlab", "numpy"} <= document["versions"].keys()
    assert set(document["model"]["sha256"]) == {"tokenizer", "target", "draft", "head", "classifier"}
    assert document["testing"]["tests"] == 3 * 4
    assert document["testing"]["level"] == pytest.approx(1e-6 / 12)
    assert [row["method"] for row in document["methods"]] == list(METHODS)
    assert [row["lossless"] for row in document["methods"]] == [True, True, True, False, False]


def test_every_method_has_everything(document: dict[str, Any]) -> None:
    for row in document["methods"]:
        assert sum(row["committed"]["histogram"]) == round(row["steps"]["mean"] * COUNT)
        committed = sum((k + 1) * number for k, number in enumerate(row["committed"]["histogram"]))
        assert committed == N * COUNT
        assert row["compression"]["pooled"] == pytest.approx(N / row["steps"]["mean"])
        assert row["committed"]["mean"] == pytest.approx(row["compression"]["pooled"])
        assert row["quality"]["bits_per_token"] > 0
        assert row["quality"]["frechet_to_ar"] >= 0
        assert (row["checks"] is None) != row["lossless"]
        (timing,) = row["timing"]
        parts = timing["target_ms"] + timing["draft_ms"] + timing["overhead_ms"]
        assert parts == pytest.approx(timing["step_ms"])
        assert min(timing["target_ms"], timing["overhead_ms"]) > 0
        assert (timing["draft_ms"] > 0) == (row["drafter"] is not None)
        assert timing["peak_bytes"] is None
    first, gsd, tree = (document["methods"][k] for k in (0, 3, 4))
    assert first["steps"] == {"mean": N, "error": 0}
    assert first["timing"][0]["speedup"] == 1
    assert gsd["distortion"]["tv"] > 0
    assert tree["distortion"] is None


def test_lossless_methods_pass(document: dict[str, Any]) -> None:
    checks = [check for row in document["methods"] if row["checks"] for check in row["checks"].values()]
    assert len(checks) == 3 * 4
    assert all(check["passes"] for check in checks)


def test_the_arrays_are_there(results: Path, document: dict[str, Any]) -> None:
    with np.load(results / "compare.npz", allow_pickle=False) as saved:
        arrays = dict(saved)
    shape = SIDE // 2, SIDE // 2
    assert arrays["method"].tolist() == list(METHODS)
    assert arrays["tokens"].shape == (len(METHODS), COUNT, N)
    assert arrays["kept"].shape == (len(METHODS), *shape)
    assert (arrays["kept"][0] == 0).all()
    assert ((arrays["kept"] >= 0) & (arrays["kept"] <= 1)).all()
    assert arrays["steps"].mean(axis=1).tolist() == [row["steps"]["mean"] for row in document["methods"]]
    assert arrays["bits"].mean(axis=1) == pytest.approx(
        [row["quality"]["bits_per_token"] for row in document["methods"]]
    )
    assert sorted(arrays["labels"][arrays["shown"]]) == sorted(set(arrays["labels"]))
    assert arrays["locality"].tolist() == document["locality"]["tv"]
    assert arrays["images"].shape == (len(METHODS), len(arrays["shown"]), SIDE, SIDE)
    wide, high = Image.open(results / "samples.png").size
    assert high == len(METHODS) * (3 * SIDE + 6) + 6
    assert wide > len(arrays["shown"]) * (3 * SIDE + 6)


def test_the_table_has_a_row_a_method(results: Path, document: dict[str, Any]) -> None:
    table = pd.read_parquet(results / "compare.parquet")
    assert table["method"].tolist() == list(METHODS)
    assert table["steps.mean"].tolist() == [row["steps"]["mean"] for row in document["methods"]]
    assert table["timing.2.speedup"].tolist() == [row["timing"][0]["speedup"] for row in document["methods"]]
    assert {"quality.accuracy", "checks.ranks.p_value", "distortion.tv"} <= set(table.columns)


def test_images_are_those_of_their_own_numbers(results: Path, models: Path) -> None:
    """A method draws what it draws alone: same labels, same replicates."""
    with np.load(results / "compare.npz", allow_pickle=False) as saved:
        labels, tokens = saved["labels"], saved["tokens"][METHODS.index("sjd-pac")]
    loaded = Models(models)
    again = draw(loaded, make_method("sjd-pac", loaded.codebook), labels, 0, Sampling(1.5), COUNT)
    assert (again.tokens == tokens).all()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers(models: Path, tmp_path: Path) -> None:
    found = []
    for seed in ("4", "4", "5"):
        arguments = "--methods", "ar,sjd", "--count", "10", "--timing-batch", "1", "--seed", seed
        assert main(["compare", "--models", str(models), "--out", str(tmp_path), *arguments]) == 0
        document = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))
        rows = [{k: v for k, v in row.items() if k != "timing"} for row in document["methods"]]
        found.append((rows, document["locality"]))
    assert found[0] == found[1]
    assert found[0] != found[2]


# Counting and timing ----------------------------------------------------------------------------------------------


def test_kept_places_are_those_of_the_drafts() -> None:
    # two images of 4 tokens: (2 accepted + 1 drawn, then 1 accepted), (1 drawn, then 2 accepted + 1 drawn)
    drawn = Samples(
        np.zeros((2, 4), dtype=np.int64), np.array([2, 2]), np.array([[2, 1], [0, 2]]), np.array([[3, 1], [1, 3]])
    )
    assert compare.accepted_share(drawn, (2, 2)).tolist() == [[0.5, 1.0], [0.5, 0.5]]
    counts = compare.counted(drawn)
    assert counts["committed"] == {"mean": 2.0, "histogram": [2, 0, 2]}
    assert counts["accepted"] == {"mean": 1.25}
    assert counts["compression"] == {"mean": 2.0, "error": 0.0, "pooled": 2.0}


def test_the_clock_changes_nothing_and_sees_what_is_slow(models: Path) -> None:
    loaded = Models(models)
    method, labels = make_method("eagle", loaded.codebook), np.arange(3)
    target, draft = processes(loaded, "head", labels, Sampling())
    plain = run(method.decoder, target, method.rule, Tape(0, 3), draft)
    clocks = Clock(torch.device("cpu")), Clock(torch.device("cpu"))
    target, draft = processes(loaded, "head", labels, Sampling())
    assert draft is not None
    before = target.forward

    def slow(*arguments: Any) -> Any:
        time.sleep(0.01)
        return before(*arguments)

    target.forward = slow  # type: ignore[method-assign, assignment]
    seen = run(method.decoder, Timed(target, clocks[0]), method.rule, Tape(0, 3), Timed(draft, clocks[1]))
    assert (seen.steps > 0).all()
    assert clocks[0].calls == target.calls
    assert clocks[1].calls == 4 * target.calls
    assert clocks[0].seconds() >= 0.01 * target.calls
    assert (plain.tokens == seen.tokens).all()


def test_a_run_to_warm_up_is_not_counted(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    met, loaded = [], Models(models)
    costs = iter([100.0, 1.0, 2.0, 3.0])

    def timed(models: Any, method: Any, labels: np.ndarray, tape: Tape, sampling: Any) -> clock.Cost:
        met.append(tape.replicates.tolist())
        return clock.Cost(next(costs), 0.5, 0.0, 10, 7)

    monkeypatch.setattr(clock, "timed", timed)
    method = make_method("ar", loaded.codebook)
    found = clock.timing(loaded, method, np.zeros(6, dtype=np.int64), 0, Sampling())
    assert met == [[0, 1], [0, 1], [2, 3], [4, 5]]
    assert found["seconds"] == 1.0
    assert found["step_ms"] == pytest.approx(200.0)
    assert found["target_ms"] == pytest.approx(50.0)
    assert found["peak_bytes"] == 7


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_cuda_device_is_named_and_its_memory_measured(models: Path, tmp_path: Path) -> None:
    arguments = "--methods", ",".join(METHODS), "--count", "10", "--timing-batch", "2", "--device", "cuda"
    assert main(["compare", "--models", str(models), "--out", str(tmp_path), *arguments]) == 0
    document = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))
    assert document["device"] == torch.cuda.get_device_name()
    for row in document["methods"]:
        (timing,) = row["timing"]
        assert timing["peak_bytes"] > 0
        assert timing["target_ms"] > 0
        assert timing["overhead_ms"] > 0


# Usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "ar,nothing"], "unknown method 'nothing'; expected one of ar, jacobi"),
        (["--methods", ""], "unknown method ''"),
        (["--count", "0"], "--count 0: expected a whole number >= 10"),
        (["--batch", "0"], "--batch 0: expected a whole number >= 1"),
        (["--timing-batch", "0"], "--timing-batch 0: expected a whole number >= 1"),
        (["--guidance", "nan"], "guidance is nan"),
        (["--device", "gpu"], "'gpu' is no device"),
        (["--data", "nowhere"], "nowhere: train-images-idx3-ubyte.gz is missing"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(
    arguments: list[str], message: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = "--models", str(models), "--out", str(tmp_path / "out")
    assert message in usage_error(["compare", *files, "--count", "10", *arguments], capsys)
    assert not (tmp_path / "out" / "compare.json").exists()


def test_models_that_do_not_fit_are_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_models(tmp_path / "models")
    write_models(tmp_path / "others", codes=90)
    (tmp_path / "others" / "draft.safetensors").rename(tmp_path / "models" / "draft.safetensors")
    printed = usage_error(["generate", "--models", str(tmp_path / "models"), "--method", "speculative"], capsys)
    assert "the draft has (vocabulary, shape) (90, (4, 4)); expected those of the tokenizer" in printed
