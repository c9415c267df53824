"""Methods over discrete tokens by name, and clear words where ``simlab generate`` can draw none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import Method, make_method, nodes, read_settings
from simlab.decoders import DECODERS, verifies
from simlab.models.process.sampling import Sampling
from simlab.registry import examples
from simlab.rules import RULES
from tests.support.cases import tables
from tests.support.cli import usage_error
from tests.support.fashion import CODES, SIDE, write_models

pytestmark = pytest.mark.cli
DEFAULT_EVERY = 6

CODEBOOK = np.random.default_rng(0).normal(size=(CODES, 4))


def command(models: Path, out: Path) -> list[str]:
    return ["generate", "--models", str(models), "--method", "sjd-pac", "--out", str(out / "grid.png")]


def test_all_that_is_committed_is_counted(models: Path) -> None:
    drawn = Discrete(models).draw(made("sjd"), np.zeros(5, dtype=np.int64), 0, Sampling(), 2)
    assert (drawn.committed.sum(axis=1) == (SIDE // 2) ** 2).all()
    assert ((drawn.committed > 0).sum(axis=1) == drawn.steps).all()
    assert (drawn.accepted <= drawn.committed).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_decoder_goes_with_every_rule(decoder: str, rule: str) -> None:
    over = tables(CODES)  # of which the method makes its own
    given = {key: value for key, value in examples(RULES, rule, over)[0].items() if key not in over}
    method = make_method(f"{decoder}+{rule}", CODEBOOK, given)
    exact = rule == "speculative" or not verifies(method.decoder) or (decoder, rule) == ("speculative", "sampler-match")
    assert method.lossless == (exact and method.decoder.lossless)


def test_a_decoder_that_is_biased_by_itself_is_not_called_lossless() -> None:
    assert not make_method("hierarchical", CODEBOOK, {"final": "uncapped"}).lossless


def test_settings_take_the_place_of_what_a_method_has() -> None:
    given = read_settings(["window=16", "labels.groups=20", "initial=repeat-left"])
    method = make_method("sjd+grouped", CODEBOOK, given)
    assert method.settings == {"window": 16, "labels": {"groups": 20}, "initial": "repeat-left"}
    assert nodes(method.decoder) == 16


def change(path: Path, edit: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Other weights in a checkpoint."""
    with safe_open(path, "pt") as file:
        described = file.metadata()
    weights = load_file(path)
    edit(weights)
    save_file(weights, path, described)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "target.safetensors: there is no such file"),
        (lambda path: path.with_name("draft.safetensors").rename(path), "is of the kind 'draft'; expected 'target'"),
        (lambda path: (path.unlink(), path.mkdir()), "is no file"),
        (lambda path: change(path, lambda old: old.pop("norm.weight")), "target.safetensors: is missing norm.weight"),
        (lambda path: change(path, lambda old: old.update(other=torch.zeros(2).half())), "has unexpected other"),
        (lambda path: change(path, lambda old: old.update({"norm.weight": torch.zeros(2).half()})), "the shape (2,)"),
    ],
)
def test_a_wrong_checkpoint_is_named(
    spoil: Callable[[Path], object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_models(tmp_path / "models")
    spoil(tmp_path / "models" / "target.safetensors")
    assert message in usage_error(command(tmp_path / "models", tmp_path / "out"), capsys)


@pytest.mark.parametrize(
    ("images", "batch", "advice"),
    [(3, 2, "lower --batch"), (1, 32, "expected settings with which one image fits")],
)
def test_too_little_memory_is_a_usage_error(
    images: int,
    batch: int,
    advice: str,
    models: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr("simlab.models.engine.running.processes_for", full)
    asked = [*command(models, tmp_path), "--count", str(images), "--batch", str(batch)]
    told = usage_error(asked, capsys)
    wanted = f"--batch {min(images, batch)}: out of memory: CUDA out of memory. Tried to allocate 2 GiB; {advice}\n"
    assert told == f"simlab: {wanted}"


def made(name: str) -> Method:
    return make_method(name, CODEBOOK)
