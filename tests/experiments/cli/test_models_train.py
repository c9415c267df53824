"""``simlab model train``: every model from a few made-up images, and on from where it was killed."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from experiments.cli.main import main
from experiments.training import commands, data, loop
from experiments.training.data import Fashion, Images, load_fashion
from experiments.training.loop import Plan, batch_rows, schedule
from simlab.continuous.networks import fashion as continuous
from simlab.models.adapters.fashion import load_classifier, load_draft, load_head, load_target, load_tokenizer
from simlab.models.checkpoints import read_description, read_weights
from tests.support.cli import usage_error

pytestmark = pytest.mark.cli

LOADERS: dict[str, Callable[[Path], Any]] = {
    "tokenizer": load_tokenizer,
    "classifier": load_classifier,
    "target": load_target,
    "draft": load_draft,
    "head": load_head,
    "continuous-autoencoder": continuous.load_autoencoder,
    "continuous-target": continuous.load_target,
    "continuous-draft": continuous.load_draft,
}
KINDS = tuple(LOADERS)


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up images and short plans; one thread."""
    random = np.random.default_rng(0)
    parts = (
        Images(random.integers(0, 256, (count, 28, 28), dtype=np.uint8), random.integers(10, size=count))
        for count in (40, 12)
    )
    fashion = Fashion(*parts, "made up")
    monkeypatch.setattr(commands, "load_fashion", lambda folder: fashion)
    monkeypatch.setattr(
        commands, "PLANS", {kind: Plan(steps=6, batch=8, rate=1e-3, decay=0.05, seed=0) for kind in KINDS}
    )
    monkeypatch.setattr(commands, "SIZES", {"target": (1, 16, 2), "draft": (1, 8, 1)})
    small = {"dim": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "head_width": 8, "head_layers": 1}
    monkeypatch.setattr(commands, "CONTINUOUS", {"continuous-target": small, "continuous-draft": small})
    monkeypatch.setattr(loop, "SAVE_EVERY", 2)


def train(model: str, out: Path, *more: str) -> int:
    return main(["model", "train", model, "--out", str(out), *more])


class EverySource(TorchFunctionMode):
    """Random numbers are drawn where their generator is: a call names the device of each, or fills what is there."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        source = kwargs.get("generator")
        if source is not None:
            self.calls += 1
            where = args[0] if args and isinstance(args[0], torch.Tensor) else kwargs.get("out")
            found = kwargs.get("device") if where is None else where.device
            assert found is not None, f"{function.__name__} draws on the CPU, whatever the device of its generator"
            assert torch.device(found).type == source.device.type
        return function(*args, **kwargs)


def test_random_numbers_are_drawn_on_the_device_of_their_generator(tmp_path: Path) -> None:
    with EverySource() as seen:
        assert train("tokenizer", tmp_path) == 0
    assert seen.calls == 7


def test_a_generator_of_another_device_is_caught() -> None:
    with EverySource(), pytest.raises(AssertionError, match="randperm draws on the CPU"):
        torch.randperm(3, generator=torch.Generator().manual_seed(0))


@pytest.mark.slow
def test_all_models_one_after_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, load in LOADERS.items():
        with EverySource() as seen:
            assert train(kind, tmp_path, "--seed", "3") == 0
        assert seen.calls >= (0 if kind == "classifier" else 6)
        assert load(tmp_path) is not None
        _, record = read_description(tmp_path / f"{kind}.safetensors", kind)
        assert record["command"] == f"simlab model train {kind} --seed 3"
        assert record["data_sha256"] == "made up"
        assert record["plan"]["steps"] == 6
        assert record["legs"] == [[0, 6]]
        assert record["seconds"] >= 0
        assert all(np.isfinite(value) for value in record["metrics"].values())
        assert f"{record['parameters']:,}" in capsys.readouterr().out
    _, record = read_description(tmp_path / "head.safetensors", "head")
    built_on = {
        need: hashlib.sha256((tmp_path / f"{need}.safetensors").read_bytes()).hexdigest()
        for need in ("tokenizer", "target")
    }
    assert record["built_on"] == built_on
    models = continuous.load_fashion_continuous(tmp_path)
    assert models.target.config == models.draft.config
    assert float(models.autoencoder.spread.std()) > 0, "measured over the training images"
    assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors"}


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_all_models_on_a_device_and_on_from_where_they_were_killed(tmp_path: Path) -> None:
    for kind in KINDS:
        assert train(kind, tmp_path, "--device", "cuda", "--steps", "4") == 0
        killed_at(kind, tmp_path, 3, "cuda")
        assert train(kind, tmp_path, "--device", "cuda") == 0


class Killed(Exception):
    pass


def killed_at(kind: str, folder: Path, last: int, device: str = "cpu") -> commands.Request:
    """What was asked of a training that is killed at step ``last``."""

    def killed(step: int, text: str) -> None:
        if step == last:
            raise Killed

    command = f"simlab model train {kind}"
    asked = commands.Request(kind, folder, commands.plan_for(kind), None, torch.device(device), command)
    with pytest.raises(Killed):
        commands.train_model(asked, killed)
    return asked


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tokenizer", "target", "continuous-autoencoder", "continuous-draft"])
def test_a_run_that_was_killed_goes_on_as_if_nothing_had_happened(kind: str, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        for need in commands.NEEDS[kind]:
            train(need, folder)
    assert train(kind, whole) == 0
    asked = killed_at(kind, parts, 5)
    assert not (parts / f"{kind}.safetensors").exists()
    assert (parts / f"{kind}.state").is_file()
    steps: list[int] = []
    commands.train_model(asked, lambda step, text: steps.append(step))
    assert steps == [5, 6]
    one, other = (read_weights(folder / f"{kind}.safetensors") for folder in (whole, parts))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not (parts / f"{kind}.state").exists()


def test_only_the_number_of_steps_may_change_on_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    killed_at("tokenizer", tmp_path, 3)
    assert "was begun as" in usage_error(
        ["model", "train", "tokenizer", "--out", str(tmp_path), "--rate", "0.5"], capsys
    )
    assert train("tokenizer", tmp_path, "--steps", "4") == 0
    assert "going on from" in capsys.readouterr().err
    _, record = read_description(tmp_path / "tokenizer.safetensors", "tokenizer")
    assert record["legs"] == [[0, 6], [2, 4]]


def test_a_loss_that_is_not_finite_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = usage_error(["model", "train", "tokenizer", "--out", str(tmp_path), "--rate", "1e30"], capsys)
    assert "rate" in printed
    assert not (tmp_path / "tokenizer.safetensors").exists()


def test_a_last_step_that_is_too_large_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its loss is of the weights before it."""
    given = ["model", "train", "classifier", "--out", str(tmp_path), "--steps", "1", "--rate", "1e10"]
    printed = usage_error(given, capsys)
    assert "NaN or infinities in torch.float16; expected numbers: try a lower rate" in printed
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["target", "head", "continuous-draft"])
def test_what_a_model_is_built_on_is_for_images_of_the_data(
    kind: str, models: Path, pair: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (pair if "continuous" in kind else models).glob("*.safetensors"):
        copy(path, tmp_path)
    told = usage_error(["model", "train", kind, "--out", str(tmp_path)], capsys)
    which, side = ("continuous-autoencoder", 12) if "continuous" in kind else ("tokenizer", 8)
    assert f"{tmp_path / which}.safetensors: is for {side} pixels a side; expected 28, as the data has" in told


def test_every_epoch_sees_every_example_once() -> None:
    plan = Plan(steps=10, batch=6, rate=1.0, decay=0.0, seed=3)
    rows = np.concatenate([batch_rows(20, plan, step) for step in range(10)])
    for epoch in range(3):
        assert sorted(rows[20 * epoch : 20 * (epoch + 1)].tolist()) == list(range(20))
    assert rows[:20].tolist() != rows[20:40].tolist()


def test_the_rate_goes_up_and_comes_down() -> None:
    shares = [schedule(step, 200) for step in range(200)]
    assert np.argmax(shares) in (9, 10)
    assert max(shares) == 1
    assert 0.02 <= shares[-1] < 0.03
    assert np.all(np.diff(shares[10:]) < 0)


# the data ------------------------------------------------------------------------------------------------------


@pytest.fixture
def idx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Four small files, and their sums as those that are expected."""
    random = np.random.default_rng(1)
    content: dict[str, bytes] = {}
    for name, shape in (
        ("train-images-idx3-ubyte", (5, 28, 28)),
        ("train-labels-idx1-ubyte", (5,)),
        ("t10k-images-idx3-ubyte", (3, 28, 28)),
        ("t10k-labels-idx1-ubyte", (3,)),
    ):
        header = bytes([0, 0, 8, len(shape)]) + np.array(shape, dtype=">u4").tobytes()
        content[name] = header + random.integers(0, 256, shape, dtype=np.uint8).tobytes()
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content[name]))
    monkeypatch.setattr(data, "SHA256", {name: hashlib.sha256(raw).hexdigest() for name, raw in content.items()})
    monkeypatch.setattr(data, "DEBIAN", tmp_path / "nowhere")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "home")
    return content


def test_images_are_read_from_a_folder_or_downloaded(tmp_path: Path, idx: dict[str, bytes]) -> None:
    read = load_fashion(tmp_path)
    assert read.train.pixels.shape == (5, 28, 28)
    assert read.held_out.labels.shape == (3,)
    assert read.train.pixels.tobytes() == idx["train-images-idx3-ubyte"][16:]
    asked: list[str] = []

    def fetch(address: str) -> bytes:
        asked.append(address)
        return (tmp_path / address.rpartition("/")[2]).read_bytes()

    for _ in range(2):  # the second time they are there
        downloaded = load_fashion(fetch=fetch)
        assert len(asked) == 4
        assert np.array_equal(downloaded.train.pixels, read.train.pixels)
        assert downloaded.sha256 == read.sha256


def test_files_that_are_not_what_they_should_be(tmp_path: Path, idx: dict[str, Any]) -> None:
    first = tmp_path / "train-images-idx3-ubyte.gz"
    whole = first.read_bytes()
    first.write_bytes(gzip.compress(idx["train-images-idx3-ubyte"][:-1]))
    with pytest.raises(ValueError, match="sha256 is"):
        load_fashion(tmp_path)
    for broken in whole[:100], whole[:40] + bytes(60) + whole[100:], b"a page, and no file":
        first.write_bytes(broken)
        with pytest.raises(ValueError, match="expected an idx file"):
            load_fashion(tmp_path)
    first.unlink()
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.gz is missing"):
        load_fashion(tmp_path)
    with pytest.raises(ValueError, match="sha256 is"):
        load_fashion(fetch=lambda address: gzip.compress(b"something else"))
    with pytest.raises(ValueError, match=r"^https://.*expected an idx file"):
        load_fashion(fetch=lambda address: b"a page, and no file")
    assert not (tmp_path / "home").exists()
