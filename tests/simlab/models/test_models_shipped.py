"""The models that come along: they say how they were made, fit together, and have learned something."""

from __future__ import annotations

import json
import os
import pickletools
from functools import partial
from math import log2
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from simlab.continuous.networks.fashion import load_fashion_continuous
from simlab.models.adapters.fashion import (
    CLASSES,
    SHIPPED,
    load_classifier,
    load_draft,
    load_head,
    load_target,
    load_tokenizer,
)
from simlab.models.checkpoints import CheckpointError, read_description, read_json
from tests.support.refusals import refused

pytestmark = pytest.mark.exact

CONTINUOUS = ("continuous-autoencoder", "continuous-target", "continuous-draft")
KINDS = ("tokenizer", "classifier", "target", "draft", "head", *CONTINUOUS)
MOST = 30e6  # bytes, all together
DATA = "d1fd84a877f3b78fa9a171b3de73f93e7b6f69ed94bada3feae9d96821401f5c"


def test_they_are_small_and_each_says_how_it_was_made() -> None:
    """And there is no pickle in them."""
    files = sorted(SHIPPED.iterdir())
    assert [path.name for path in files] == sorted(f"{kind}.safetensors" for kind in KINDS)
    assert sum(path.stat().st_size for path in files) < MOST
    for path in files:
        _, record = read_description(path, path.stem)
        assert record["command"].startswith(f"simlab train {path.stem}")
        assert record["data_sha256"] == DATA
        assert {"metrics", "seconds", "versions"} <= record.keys()
        with pytest.raises((ValueError, IndexError)):
            list(pickletools.genops(path.read_bytes()[:4096]))


def test_they_fit_together() -> None:
    tokenizer, target, draft, head = load_tokenizer(), load_target(), load_draft(), load_head()
    assert target.config.vocabulary == draft.config.vocabulary == tokenizer.config.codes == 256
    assert target.config.shape == draft.config.shape == tokenizer.config.shape == (14, 14)
    assert target.config.classes == len(CLASSES) == 10
    assert head.config == target.config
    sizes = [sum(weights.numel() for weights in model.parameters()) for model in (target, draft)]
    assert sizes[0] > 5 * sizes[1], "a draft is much cheaper"


def test_they_have_learned_something() -> None:
    metrics = {kind: read_description(SHIPPED / f"{kind}.safetensors", kind)[1]["metrics"] for kind in KINDS}
    assert min(metrics[kind]["psnr_db"] for kind in ("tokenizer", "continuous-autoencoder")) > 25
    assert metrics["classifier"]["accuracy"] > 0.85
    even = metrics["tokenizer"]["token_entropy_bits"]
    assert metrics["target"]["bits_per_token"] < metrics["draft"]["bits_per_token"] < even < log2(256)
    assert metrics["target"]["bits_per_token"] < metrics["target"]["bits_per_token_no_class"]
    assert metrics["head"]["overlap"] > 0.5
    assert metrics["continuous-target"]["noise_mse"] < metrics["continuous-draft"]["noise_mse"] < 1


def test_the_continuous_pair_fits_together() -> None:
    models = load_fashion_continuous()
    target, draft, autoencoder = models.target.config, models.draft.config, models.autoencoder.config
    assert target.shape == draft.shape == autoencoder.shape == (7, 7)
    assert target.token_dim == draft.token_dim == autoencoder.dim == 8
    assert target.classes == draft.classes == len(CLASSES)
    sizes = [sum(weights.numel() for weights in model.parameters()) for model in (models.target, models.draft)]
    assert sizes[0] > 4 * sizes[1], "a draft is much cheaper"
    assert sum((SHIPPED / f"{kind}.safetensors").stat().st_size for kind in CONTINUOUS) < 6e6


@torch.no_grad()
def test_tokens_stand_for_what_they_look_like() -> None:
    """Made again from its tokens an image is much the same, and its class is still seen."""
    side = torch.linspace(0, 1, 28)
    images = torch.stack([side.outer(side), 1 - side.outer(side), side.expand(28, 28)])[:, None]
    tokenizer, autoencoder = load_tokenizer(), load_fashion_continuous().autoencoder
    laws = autoencoder.encode(images)
    assert laws.mean.shape == laws.sd.shape == (3, 49, 8)
    again = tokenizer.decode(tokenizer.encode(images))
    for made in (again, autoencoder.decode(laws.mean)):
        assert (made - images).abs().mean() < 0.1
    assert load_classifier()(again).shape == (3, 10)


def test_a_checkpoint_of_another_kind_is_told() -> None:
    read = partial(read_description, SHIPPED / "target.safetensors", "draft")
    refused(read, "'target'", "'draft'", error=CheckpointError)
    assert load_target().output.weight.isfinite().all()


def changed(path: Path, sizes: dict[str, Any] | None = None, record: str | None = None, dtype: Any = None) -> None:
    """Write a model that comes along, other in what is given."""
    with safe_open(SHIPPED / path.name, "pt") as file:
        described, weights = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    described["config"] = json.dumps(json.loads(described["config"]) | (sizes or {}))
    described["record"] = record or described["record"]
    if dtype is not None:
        weights = {name: tensor.view(dtype) for name, tensor in weights.items()}
    save_file(weights, path, described)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"record": '{"built_on": ["target"]}'}, "built_on"),
        ({"record": "[" * 100_000}, ""),
        ({"sizes": {"layers": 10**7}}, "layers is 10000000"),
        ({"sizes": {"dim": 2**62}}, "sizes of a head"),
        *(({"sizes": {"shape": shape}}, f"shape is {shape}") for shape in ([10**5] * 2, [196], [14, 14, 1])),
        ({"dtype": torch.bfloat16}, "torch.bfloat16"),
        ({"dtype": torch.int16}, "torch.int16"),
    ],
)
def test_a_hostile_checkpoint_is_told(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    changed(tmp_path / "head.safetensors", **change)
    refused(lambda: load_head(tmp_path), "head.safetensors", told, error=CheckpointError)


def test_more_blocks_than_a_file_has_tensors_are_told(tmp_path: Path) -> None:
    changed(tmp_path / "tokenizer.safetensors", sizes={"blocks": 10**7})
    refused(lambda: load_tokenizer(tmp_path), "tokenizer.safetensors: blocks is 10000000", error=CheckpointError)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "head.safetensors")
    os.mkfifo(tmp_path / "config.json")
    refused(lambda: load_head(tmp_path), "head.safetensors", error=CheckpointError)
    refused(lambda: read_json(tmp_path / "config.json"), "config.json", error=CheckpointError)
