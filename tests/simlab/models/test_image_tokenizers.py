"""Image tokenizers of Chameleon, Emu3, LlamaGen and MAR against the same networks by their formulas, over the names of
their files; and what is particular to one of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from simlab.continuous.networks.mar.files import load_kl16
from simlab.models.adapters.emu3_tokenizer import load_emu3_tokenizer
from simlab.models.adapters.vqgan import load_vqgan
from simlab.models.architectures.vq16 import load_vq
from simlab.models.checkpoints import CheckpointError
from tests.support import llamagen
from tests.support.mar import LATENT, PlainKl16, write_kl16
from tests.support.published import ENTRIES, emu3_tokenizer_files, vqgan_files
from tests.support.refusals import refused
from tests.support.vqgan import PlainVqgan, swish

pytestmark = pytest.mark.parity
CLOSE: dict[str, float] = {"rtol": 1e-8, "atol": 1e-8}
Weights = dict[str, Tensor]


class PlainChameleon(PlainVqgan):
    """An entry of the codebook a token."""

    def codes(self) -> Tensor:
        return self.held["quantize.embedding.weight"]

    def encode(self, images: Tensor) -> Tensor:
        return self.nearest(self.conv("quant_conv", self.encoded(images)))

    def nearest(self, points: Tensor) -> Tensor:
        return (points.flatten(2).transpose(1, 2)[:, :, None] - self.codes()).square().sum(-1).argmin(-1)

    def placed(self, tokens: Tensor, shape: tuple[int, int]) -> Tensor:
        return self.codes()[tokens].transpose(1, 2).unflatten(2, shape)

    def decode(self, tokens: Tensor, shape: tuple[int, int]) -> Tensor:
        return self.decoded(self.conv("post_quant_conv", self.placed(tokens, shape)))


class PlainEmu3(PlainChameleon):
    """The first of four frames; the time of a tensor ``[B, C, T, H, W]`` looks at two steps before it."""

    def timed(self, name: str, x: Tensor) -> Tensor:
        around = (self.held[f"{name}.weight"].shape[-1] - 1) // 2
        earlier = functional.pad(x, (around,) * 4 + (2, 0))
        return functional.conv3d(earlier, self.held[f"{name}.weight"], self.held[f"{name}.bias"])

    def batch_norm(self, name: str, x: Tensor) -> Tensor:
        parts = ("running_mean", "running_var", "weight", "bias")
        mean, spread, gain, bias = (self.held[f"{name}.{part}"][:, None, None, None] for part in parts)
        return (x - mean) / (spread + 1e-5).sqrt() * gain + bias

    def decode(self, tokens: Tensor, shape: tuple[int, int]) -> Tensor:
        codes, stack = self.placed(tokens, shape)[:, :, None], "decoder.time_res_stack.0"
        streams = []
        for x in (self.timed("post_quant_conv.conv", codes), codes):
            h = self.timed(f"{stack}.conv1.conv", swish(self.batch_norm(f"{stack}.norm1", x)))
            x = x + self.timed(f"{stack}.conv2.conv", swish(self.batch_norm(f"{stack}.norm2", h)))
            for number in range(2):
                x = swish(self.timed(f"decoder.time_conv.{number}.conv.conv", x.repeat_interleave(2, dim=2)))
            streams.append(x[:, :, 0])
        return self.decoded(*streams)


STAGES = {side: [f"{side}.conv_blocks.{level}" for level in range(3)] for side in ("encoder", "decoder")}
MIDDLE = {side: (f"{side}.mid.0", f"{side}.mid.1", f"{side}.mid.2") for side in ("encoder", "decoder")}


class PlainLlamaGen(PlainChameleon):
    """LlamaGen's names: stages from the lowest resolution on in the decoder, and codes of length 1."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights, groups=2)

    def codes(self) -> Tensor:
        return functional.normalize(super().codes(), dim=-1)

    def encoded(self, images: Tensor) -> Tensor:
        x = self.stages(STAGES["encoder"], "res", self.conv("encoder.conv_in", images * 2 - 1))
        return self.end("encoder", self.middle(MIDDLE["encoder"], x))

    def nearest(self, points: Tensor) -> Tensor:
        return super().nearest(functional.normalize(points, dim=1))

    def decoded(self, x: Tensor, by: Tensor | None = None) -> Tensor:
        x = self.middle(MIDDLE["decoder"], self.conv("decoder.conv_in", x))
        return (self.end("decoder", self.stages(STAGES["decoder"], "res", x)).clamp(-1, 1) + 1) / 2


class Case(NamedTuple):
    """How a checkpoint is written, which gives its weights, and read; and the second formulation."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    plain: Callable[[Any], Any]
    codes: int  # 0 where tokens are vectors
    factor: int  # pixels a side of a token


CASES = {
    "chameleon": Case(
        lambda home: vqgan_files(home / "tokenizer" / "vqgan.ckpt"),
        lambda home: load_vqgan(home, torch.float64),
        *(PlainChameleon, ENTRIES, 2),
    ),
    "emu3": Case(
        lambda home: emu3_tokenizer_files(home / "Emu3-VisionTokenizer"),
        lambda home: load_emu3_tokenizer(home, torch.float64),
        *(PlainEmu3, ENTRIES, 2),
    ),
    "llamagen": Case(
        lambda home: llamagen.vq_weights(),
        lambda home: load_vq(llamagen.saved(llamagen.vq_weights(), home / "vq.pt"), llamagen.TOKENIZER, torch.float64),
        *(PlainLlamaGen, llamagen.CODES, 4),
    ),
    "mar": Case(
        lambda home: write_kl16(home / "kl16.ckpt"),
        lambda home: load_kl16(home / "kl16.ckpt", torch.float64),
        *(PlainKl16, 0, 4),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_images_and_tokens_are_those_of_the_formulas(name: str, tmp_path: Path) -> None:
    case, generator = CASES[name], torch.Generator().manual_seed(0)
    weights = case.write(tmp_path)
    model, plain = case.read(tmp_path), case.plain(weights)
    tokens = torch.randint(case.codes, (2, 6), generator=generator) if case.codes else None
    if tokens is None:
        tokens = 0.2325 * torch.randn((2, 6, LATENT), generator=generator, dtype=torch.float64)
    else:
        torch.testing.assert_close(model.codebook.double(), plain.codes(), **CLOSE)
    images = model.decode(tokens, (2, 3))
    assert images.shape == (2, 3, 2 * case.factor, 3 * case.factor)
    torch.testing.assert_close(images, plain.decode(tokens, (2, 3)), **CLOSE)
    assert images.std() > 0.01
    refused(lambda: model.decode(tokens, (2, 2)), "(2, 2)" if case.codes else "(2, 6, 4)")
    if name == "emu3":  # only its decoder is published in simlab
        return
    pictures = torch.rand((2, 3, 4 * case.factor, 8), generator=generator, dtype=torch.float64)
    found, expected = model.encode(pictures), plain.encode(pictures)
    for one, other in [(found, expected)] if case.codes else zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **(CLOSE if not case.codes else {"rtol": 0, "atol": 0}))
        assert len(one.unique()) > 1
    refused(lambda: model.encode(torch.zeros(1, 3, 4 * case.factor + 1, 8)), str(case.factor))


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
    refused(lambda: load_vqgan(tmp_path / "folder"), "vqgan.ckpt", "model.vqmodel.decoder", error=CheckpointError)


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
    (tmp_path / "own" / "config.json").write_text('{"model_type": "chameleon"}')
    refused(lambda: load_emu3_tokenizer(tmp_path / "own"), "'chameleon'", "'Emu3VisionVQ'", error=CheckpointError)
