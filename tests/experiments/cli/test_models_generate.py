"""``simlab generate``: images by every method, the same for the same seed, and clear words where there can be none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from experiments.cli.main import main
from experiments.models.methods import METHODS, Method, make_method, nodes, read_settings
from experiments.models.session import Models, draw
from simlab.decoders import DECODERS
from simlab.models.process.sampling import Sampling
from simlab.rules import RULES
from tests.support.cli import usage_error
from tests.support.fashion import CODES, SIDE, write_models

pytestmark = pytest.mark.cli
DEFAULT_EVERY = 6

CODEBOOK = np.random.default_rng(0).normal(size=(CODES, 4))
NEEDED = {
    "amplify": ["k=2"],
    "addition": ["epsilon=0.1"],
    "dynamic-grouped": ["size=4"],
    "typical": ["epsilon=0.1", "delta=0.3"],
    "optimal-lossy": ["tv=0.1"],
    "mixture": ["weight=0.5"],
    "lenience": ["factor=0.5", "residual=lenient"],
    "cactus": ["delta=0.05"],
    "truncation": ["threshold=0.5", "residual=target"],
    "cascade": ["threshold=0.5"],
    "fuzzy": ["threshold=0.1"],
    "mars": ["normaliser=10"],
    "mars-reference": ["normaliser=10"],
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


def command(models: Path, out: Path, *arguments: str) -> list[str]:
    files = "--out", str(out / "grid.png"), "--tokens", str(out / "tokens.npz")
    named = () if "--method" in arguments else ("--method", "sjd-pac")  # auto has tests of its own
    return ["generate", "--models", str(models), *files, *named, *arguments]


def generate(models: Path, out: Path, *arguments: str) -> int:
    return main(command(models, out, *arguments))


def tokens(out: Path) -> dict[str, Any]:
    with np.load(out / "tokens.npz", allow_pickle=False) as saved:
        return dict(saved)


@pytest.mark.parametrize("method", [*METHODS, "sjd-pac+grouped", "block", "eagle+amplify"])
def test_every_method_draws_a_grid(
    method: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--set", "k=2"] if method.endswith("amplify") else []
    assert generate(models, tmp_path, "--method", method, "--count", "5", "--guidance", "1.5", *more) == 0
    printed = capsys.readouterr()
    assert "step compression" in printed.out
    assert not printed.err
    image = np.asarray(Image.open(tmp_path / "grid.png"))
    assert image.dtype == np.uint8
    assert image.shape == (2 * (3 * SIDE + 6) + 6, 3 * (3 * SIDE + 6) + 6)
    saved = tokens(tmp_path)
    assert saved["tokens"].shape == (5, (SIDE // 2) ** 2)
    assert saved["labels"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("method", ["ar", "speculative", "eagle", "sjd-pac"])
def test_the_tokens_are_those_of_the_seed_whatever_the_batch(method: str, models: Path) -> None:
    loaded = Models(models)
    for model in (loaded.target, loaded.draft, loaded.head):
        model.double()  # so that no rounding depends on the batch
    labels = np.arange(4) % 3
    drawn = [
        draw(loaded, made(method), labels, seed, Sampling(), batch).tokens for seed, batch in ((1, 4), (1, 3), (2, 4))
    ]
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()


def test_all_that_is_committed_is_counted(models: Path) -> None:
    drawn = draw(Models(models), made("sjd"), np.zeros(5, dtype=np.int64), 0, Sampling(), 2)
    assert (drawn.committed.sum(axis=1) == (SIDE // 2) ** 2).all()
    assert ((drawn.committed > 0).sum(axis=1) == drawn.steps).all()
    assert (drawn.accepted <= drawn.committed).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_decoder_goes_with_every_rule(decoder: str, rule: str) -> None:
    method = make_method(f"{decoder}+{rule}", CODEBOOK, read_settings(NEEDED.get(rule, [])))
    alone = decoder in (
        "autoregressive",
        "jacobi",
        "block",
        "hierarchical",
        "traversal",
        "candidate-tree",
        "dynamic-tree",
    )
    assert method.lossless == (rule == "speculative" or alone)


def test_a_decoder_that_is_biased_by_itself_is_not_called_lossless() -> None:
    assert not make_method("hierarchical", CODEBOOK, {"final": "uncapped"}).lossless


def test_windows_hold_as_many_drafts() -> None:
    sizes = {nodes(made(name).decoder) for name in METHODS if name.startswith(("sjd", "gsd"))}
    assert sizes == {32}


def test_settings_take_the_place_of_what_a_method_has() -> None:
    given = read_settings(["window=16", "labels.groups=20", "initial=repeat-left"])
    method = make_method("sjd+grouped", CODEBOOK, given)
    assert method.settings == {"window": 16, "labels": {"groups": 20}, "initial": "repeat-left"}
    assert nodes(method.decoder) == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label", "hat"], "unknown label 'hat'; expected one of t-shirt, trouser"),
        (["--method", "sd"], "unknown method 'sd'; expected one of ar, jacobi"),
        (["--method", "sjd+sd"], "unknown rule 'sd'; expected one of speculative, amplify"),
        (["--count", "0"], "--count 0: expected a whole number >= 1"),
        (["--batch", "0"], "--batch 0: expected a whole number >= 1"),
        (["--set", "gamma=3"], "has no parameter 'gamma'; expected window"),
        (["--set", "window=0"], "window is 0"),
        (["--set", "window"], "'window' is no setting"),
        (["--set", "window=1", "--set", "window=2"], "'window' is set twice"),
        (["--set", "window=a b"], "'a b' is no value"),
        (["--device", "tpu"], "'tpu' is no device"),
        (["--temperature", "-1"], "temperature is -1.0"),
        (["--top-p", "0"], "top_p is 0"),
        pytest.param(
            ["--device", "cuda"],
            "there is no CUDA device",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is one"),
        ),
    ],
)
def test_a_wrong_argument_is_a_usage_error(
    arguments: list[str], message: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(command(models, tmp_path, *arguments), capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "target.safetensors").unlink(), "target.safetensors: there is no such file"),
        (
            lambda folder: (folder / "draft.safetensors").rename(folder / "target.safetensors"),
            "is of the kind 'draft'; expected 'target'",
        ),
        (lambda folder: write_models(folder / "target.safetensors" / "x"), "is no file; expected a checkpoint"),
    ],
)
def test_a_wrong_checkpoint_is_named(
    spoil: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_models(tmp_path / "models")
    if "is no file" in message:
        (tmp_path / "models" / "target.safetensors").unlink()
    spoil(tmp_path / "models")
    assert message in usage_error(command(tmp_path / "models", tmp_path / "out"), capsys)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda weights: weights.pop("norm.weight"), "target.safetensors: is missing norm.weight"),
        (lambda weights: weights.update(other=torch.zeros(2).half()), "target.safetensors: has unexpected other"),
        (lambda weights: weights.update({"norm.weight": torch.zeros(2).half()}), "norm.weight has the shape (2,)"),
    ],
)
def test_wrong_keys_are_named(spoil: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_models(tmp_path / "models")
    path = tmp_path / "models" / "target.safetensors"
    with safe_open(path, "pt") as file:
        described = file.metadata()
    weights = load_file(path)
    spoil(weights)
    save_file(weights, path, described)
    assert message in usage_error(command(tmp_path / "models", tmp_path / "out"), capsys)


def test_an_interruption_writes_nothing(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("simlab.models.engine.running.processes_for", stopped)
    assert generate(models, tmp_path) == 130
    assert "interrupted; nothing was written" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_too_little_memory_is_a_usage_error(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr("simlab.models.engine.running.processes_for", full)
    printed = usage_error(command(models, tmp_path), capsys)
    assert "--batch 32: out of memory: CUDA out of memory. Tried to allocate 2 GiB; lower --batch" in printed


def made(name: str) -> Method:
    return make_method(name, CODEBOOK)
