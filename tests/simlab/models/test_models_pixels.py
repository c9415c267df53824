"""Image tokenizers of Chameleon and Emu3 against the same networks by their formulas, over their files' names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from simlab.models.adapters.emu3_tokenizer import load_emu3_tokenizer
from simlab.models.adapters.vqgan import load_vqgan
from simlab.models.checkpoints import CheckpointError
from tests.support.published import ENTRIES, Weights, emu3_tokenizer_files, vqgan_files
from tests.support.vqgan import PlainVqgan, swish

pytestmark = pytest.mark.parity
CLOSE: dict[str, float] = {"rtol": 1e-9, "atol": 1e-9}


# Chameleon --------------------------------------------------------------------------------------------------------


def decoded(weights: Weights, entries: Tensor, shape: tuple[int, int]) -> Tensor:
    plain = PlainVqgan(weights)
    x = plain.held["quantize.embedding.weight"][entries].transpose(1, 2).unflatten(2, shape)
    return plain.decoded(plain.conv("post_quant_conv", x))


def encoded(weights: Weights, images: Tensor) -> Tensor:
    plain = PlainVqgan(weights)
    points = plain.conv("quant_conv", plain.encoded(images)).flatten(2).transpose(1, 2)
    return (points[:, :, None] - plain.held["quantize.embedding.weight"]).square().sum(-1).argmin(-1)


def test_chameleon_s_image_tokenizer(tmp_path: Path) -> None:
    weights = vqgan_files(tmp_path / "tokenizer" / "vqgan.ckpt")
    model = load_vqgan(tmp_path, torch.float64)
    torch.testing.assert_close(model.codebook, weights["quantize.embedding.weight"])
    entries = torch.randint(ENTRIES, (2, 6), generator=torch.Generator().manual_seed(0))
    images = model.decode(entries, (2, 3))
    assert images.shape == (2, 3, 4, 6)
    torch.testing.assert_close(images, decoded(weights, entries, (2, 3)), **CLOSE)
    assert images.std() > 0.05
    pictures = torch.rand((2, 3, 8, 8), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.equal(model.encode(pictures), encoded(weights, pictures))
    assert len(model.encode(pictures).unique()) > 1


def test_codes_of_chameleon_are_not_compared_at_length_one(tmp_path: Path) -> None:
    weights = vqgan_files(tmp_path / "vqgan.ckpt")
    entries = torch.arange(6)[None]
    unit = weights | {"quantize.embedding.weight": functional.normalize(weights["quantize.embedding.weight"], dim=-1)}
    expected = decoded(unit, entries, (2, 3))
    assert (load_vqgan(tmp_path, torch.float64).decode(entries, (2, 3)) - expected).abs().max() > 1e-3


def test_the_decoder_may_stand_in_the_folder_of_a_language_model(tmp_path: Path) -> None:
    weights = vqgan_files(tmp_path / "vqgan.ckpt")
    beside = {f"model.vqmodel.{name}": tensor for name, tensor in weights.items()}
    (tmp_path / "folder").mkdir()
    save_file(beside | {"lm_head.weight": torch.ones(2)}, tmp_path / "folder" / "model.safetensors")
    entries = torch.arange(6)[None]
    one, two = (load_vqgan(path, torch.float64).decode(entries, (2, 3)) for path in (tmp_path, tmp_path / "folder"))
    assert torch.equal(one, two)
    encoder = {name: tensor for name, tensor in beside.items() if ".decoder." not in name}
    save_file(encoder, tmp_path / "folder" / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"holds no vqgan\.ckpt, nor weights with model\.vqmodel\.decoder"):
        load_vqgan(tmp_path / "folder")


# Emu3 -----------------------------------------------------------------------------------------------------------


def emu3_decoded(weights: Weights, entries: Tensor, shape: tuple[int, int]) -> Tensor:
    """The first of four frames; the time of a tensor ``[B, C, T, H, W]`` looks at two steps before it."""
    plain = PlainVqgan(weights)
    held = plain.held

    def timed(name: str, x: Tensor) -> Tensor:
        around = (held[f"{name}.weight"].shape[-1] - 1) // 2
        earlier = functional.pad(x, (around,) * 4 + (2, 0))
        return functional.conv3d(earlier, held[f"{name}.weight"], held[f"{name}.bias"])

    def batch_norm(name: str, x: Tensor) -> Tensor:
        mean, spread, gain, bias = (
            held[f"{name}.{part}"][:, None, None, None] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / (spread + 1e-5).sqrt() * gain + bias

    codes = held["quantize.embedding.weight"][entries].transpose(1, 2).unflatten(2, shape)[:, :, None]
    streams = []
    for x in (timed("post_quant_conv.conv", codes), codes):
        stack = "decoder.time_res_stack.0"
        h = timed(f"{stack}.conv1.conv", swish(batch_norm(f"{stack}.norm1", x)))
        x = x + timed(f"{stack}.conv2.conv", swish(batch_norm(f"{stack}.norm2", h)))
        for number in range(2):
            x = swish(timed(f"decoder.time_conv.{number}.conv.conv", x.repeat_interleave(2, dim=2)))
        streams.append(x[:, :, 0])
    return plain.decoded(*streams)


def test_emu3_s_image_tokenizer(tmp_path: Path) -> None:
    weights = emu3_tokenizer_files(tmp_path / "Emu3-VisionTokenizer")
    model = load_emu3_tokenizer(tmp_path, torch.float64)
    torch.testing.assert_close(model.codebook, weights["quantize.embedding.weight"].double())
    entries = torch.randint(ENTRIES, (2, 6), generator=torch.Generator().manual_seed(0))
    images = model.decode(entries, (2, 3))
    assert images.shape == (2, 3, 4, 6)
    torch.testing.assert_close(images, emu3_decoded(weights, entries, (2, 3)), **CLOSE)
    assert images.std() > 0.05
    changed = weights | {"decoder.mid.attn_1.norm.conv_y.weight": weights["decoder.mid.attn_1.norm.conv_y.weight"] + 1}
    assert (images - emu3_decoded(changed, entries, (2, 3))).abs().max() > 1e-3
    with pytest.raises(ValueError, match=r"shape is \(2, 2\); expected \(rows, columns\) that hold 6 tokens"):
        model.decode(entries, (2, 2))


def test_emu3_s_image_tokenizer_in_the_layout_of_transformers(tmp_path: Path) -> None:
    """Where it stands beside a language model, by the names of the library."""
    emu3_tokenizer_files(tmp_path / "own")
    model = load_emu3_tokenizer(tmp_path / "own", torch.float64)
    (tmp_path / "hf").mkdir()
    sizes = model.model.config.to_dict()
    (tmp_path / "hf" / "config.json").write_text(json.dumps({"model_type": "emu3", "vq_config": sizes}))
    held = {f"vqmodel.{name}": tensor for name, tensor in model.model.state_dict().items()}
    save_file(held | {"text_model.lm_head.weight": torch.ones(2)}, tmp_path / "hf" / "model.safetensors")
    entries = torch.arange(6)[None]
    again = load_emu3_tokenizer(tmp_path / "hf", torch.float64)
    assert torch.equal(again.decode(entries, (3, 2)), model.decode(entries, (3, 2)))


def test_a_model_that_is_no_tokenizer_of_emu3(tmp_path: Path) -> None:
    emu3_tokenizer_files(tmp_path / "own")
    (tmp_path / "own" / "config.json").write_text('{"model_type": "chameleon"}')
    with pytest.raises(CheckpointError, match="of the type 'chameleon'; expected 'Emu3VisionVQ' or 'emu3'"):
        load_emu3_tokenizer(tmp_path / "own")
