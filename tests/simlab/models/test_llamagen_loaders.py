"""Loaders of LlamaGen's checkpoints: what a file may look like, what is said of one that does not fit, and the sizes of
the published models."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from simlab.models.adapters.llamagen import MODELS, VOCABULARY, described, left_padded, load_gpt, official, token_grid
from simlab.models.architectures.transformer import Config, Transformer, rotations
from simlab.models.architectures.vq16 import Vq, load_vq
from simlab.models.checkpoints import CheckpointError
from tests.support.llamagen import (
    CLASSES,
    HEADS,
    SHAPE,
    TEXT_DIM,
    TEXT_TOKENS,
    TOKENIZER,
    V,
    Weights,
    gpt_shapes,
    gpt_weights,
    saved,
    vq_shapes,
    vq_weights,
)
from tests.support.refusals import refused

pytestmark = pytest.mark.exact

conditions = pytest.mark.parametrize("condition", ["class", "text"])


def load(path: Path, condition: str = "class", **settings: Any) -> Transformer:
    return load_gpt(path, SHAPE, condition, **{"heads": HEADS, "vocabulary": V, "dtype": torch.float64, **settings})


def equal(model: torch.nn.Module, weights: Weights) -> bool:
    held = model.state_dict()
    return held.keys() == weights.keys() and all(torch.equal(held[name], weights[name]) for name in weights)


@conditions
@pytest.mark.parametrize("nested", ["model", "module", "state_dict", None])
def test_every_nesting(condition: str, nested: str | None, tmp_path: Path) -> None:
    weights = gpt_weights(condition)
    model = load(saved(weights, tmp_path / "gpt.pt", nested), condition)
    assert equal(model, weights)
    assert asdict(model.config) | {"text_tokens": 0, "text_dim": 0, "classes": 0} == {
        **{"layers": 2, "dim": 16, "heads": 2, "vocabulary": V, "shape": SHAPE, "condition": condition},
        **{"multiple": 256, "text_tokens": 0, "text_dim": 0, "classes": 0},
    }
    if condition == "class":
        assert model.config.classes == CLASSES
        assert model.null(2).tolist() == [CLASSES, CLASSES]  # the last row
    else:
        assert (model.config.text_tokens, model.config.text_dim) == (TEXT_TOKENS, TEXT_DIM)
        assert torch.equal(model.null(1)[0], weights["cls_embedding.uncond_embedding"])
    assert not model.training
    assert not any(p.requires_grad for p in model.parameters())


def test_safetensors(tmp_path: Path) -> None:
    save_file(gpt_weights("text"), tmp_path / "gpt.safetensors")
    assert equal(load(tmp_path / "gpt.safetensors", "text"), gpt_weights("text"))
    save_file(vq_weights(), tmp_path / "vq.safetensors")
    load_vq(tmp_path / "vq.safetensors", TOKENIZER)


def test_what_is_computed_is_not_read(tmp_path: Path) -> None:
    tables = {"freqs_cis": torch.full((3, 3), 7.0), "causal_mask": torch.ones(3, 3)}
    model = load(saved(gpt_weights("class") | tables, tmp_path / "gpt.pt"))
    assert equal(model, gpt_weights("class"))
    assert torch.equal(model.frequencies, rotations(model.config))


def test_rotations_stay_in_single_precision(tmp_path: Path) -> None:
    model = load(saved(gpt_weights("class"), tmp_path / "gpt.pt"), dtype=torch.bfloat16)
    assert {weights.dtype for weights in model.parameters()} == {torch.bfloat16}
    assert model.frequencies.dtype == torch.float32
    assert torch.equal(model.frequencies, rotations(model.config))
    assert model(torch.tensor([0]), torch.zeros((1, 3), dtype=torch.int64)).dtype == torch.float32


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"vocabulary": VOCABULARY}, ("vocabulary", "11", "16384")),
        ({"condition": "text"}, ("class", "text")),
        ({"heads": None}, ("heads is None", "B (12")),
        ({"heads": 3}, ("heads 3",)),
    ],
)
def test_a_file_that_does_not_fit(settings: dict[str, Any], told: tuple[str, ...], tmp_path: Path) -> None:
    path = saved(gpt_weights("class"), tmp_path / "gpt.pt")
    refused(lambda: load(path, **settings), "gpt.pt", *told, error=CheckpointError)


def test_other_files(tmp_path: Path) -> None:
    vq, ema = saved(vq_weights(), tmp_path / "vq.pt"), saved(gpt_weights("class"), tmp_path / "ema.pt", "ema")
    refused(lambda: load(ema), "ema.pt", error=CheckpointError)
    refused(lambda: load_vq(vq, replace(TOKENIZER, codes=16_384)), "vq.pt", "(16384, 3)", error=CheckpointError)


# sizes ----------------------------------------------------------------------------------------------------------


def shapes_of(model: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


@pytest.mark.parametrize(
    ("name", "hidden", "millions"),
    [("B", 2048, 111), ("L", 2816, 343), ("XL", 3584, 775), ("XXL", 4096, 1411), ("3B", 8704, 3097)],
)
def test_published_sizes(name: str, hidden: int, millions: int) -> None:
    with torch.device("meta"):
        model = Transformer(official(name, 384))
    assert shapes_of(model) == gpt_shapes("class", MODELS[name].layers, MODELS[name].dim, hidden, VOCABULARY)
    assert round(sum(weights.numel() for weights in model.parameters()) / 1e6) == millions
    assert model.config.shape == (24, 24)
    assert model.frequencies.shape == (1 + 576, MODELS[name].dim // MODELS[name].heads // 2, 2)


def test_the_published_text_model() -> None:
    config = official("XL", 512, "text")
    with torch.device("meta"):
        model = Transformer(config)
    assert shapes_of(model) == gpt_shapes("text", 36, 1280, 3584, VOCABULARY)
    assert (config.prefix, config.length, config.shape) == (120, 1024, (32, 32))
    assert not rotations(config)[:120].any()
    assert rotations(config)[120:].any(dim=(1, 2)).all()


def test_heads_follow_from_the_size(tmp_path: Path) -> None:
    for name, (layers, dim, heads) in MODELS.items():
        weights = {key: torch.empty(s, device="meta") for key, s in gpt_shapes("class", layers, dim, 256, 9).items()}
        assert described(weights, tmp_path, SHAPE, "class") == Config(layers, dim, heads, 9, SHAPE), name


def test_the_published_tokenizer() -> None:
    with torch.device("meta"):
        model = Vq()
    assert shapes_of(model) == vq_shapes(16_384, 8, 128, (1, 1, 2, 2, 4), 256)
    assert round(sum(weights.numel() for weights in model.parameters()) / 1e6) == 72
    assert model.config.factor == 16


def test_tokens_of_an_image() -> None:
    assert [token_grid(side) for side in (256, 384, 512)] == [(16, 16), (24, 24), (32, 32)]
    assert token_grid([3, 5]) == (3, 5)


def test_left_padding() -> None:
    config = Config(1, 16, 2, V, SHAPE, "text", text_tokens=4, text_dim=2)
    texts = [torch.ones(1, 2), 2 * torch.ones(4, 2), 3 * torch.ones(2, 2)]
    given, visible = left_padded(texts, config)
    assert given[..., 0].tolist() == [[0, 0, 0, 1], [2, 2, 2, 2], [0, 0, 3, 3]]
    assert torch.equal(visible, given[..., 0] > 0)
    for wrong in (torch.ones(5, 2), torch.ones(0, 2), torch.ones(2, 3), torch.ones(2)):
        refused(lambda wrong=wrong: left_padded([wrong], config), "4 vectors of 2")
