"""LlamaGen's tokenizer against the same network by its formulas, from the names of its file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from simlab.models.architectures.vq16 import Vq, VqConfig, load_vq
from tests.support.llamagen import BLOCKS, CODE_DIM, CODES, LATENT, MULTIPLES, WIDTH, Weights, saved, vq_weights
from tests.support.vqgan import PlainVqgan

pytestmark = pytest.mark.parity

GROUPS = 2
CLOSE: dict[str, float] = {"rtol": 1e-10, "atol": 1e-10}


STAGES = {side: [f"{side}.conv_blocks.{level}" for level in range(len(MULTIPLES))] for side in ("encoder", "decoder")}
MIDDLE = {side: (f"{side}.mid.0", f"{side}.mid.1", f"{side}.mid.2") for side in ("encoder", "decoder")}


class PlainVq(PlainVqgan):
    """LlamaGen's names: stages from the lowest resolution on in the decoder, and codes of length 1."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights, GROUPS)

    def codes(self) -> Tensor:
        codes = self.held["quantize.embedding.weight"]
        return codes / codes.square().sum(-1, keepdim=True).sqrt()

    def encode(self, images: Tensor) -> Tensor:
        x = self.stages(STAGES["encoder"], "res", self.conv("encoder.conv_in", images * 2 - 1))
        x = self.conv("quant_conv", self.end("encoder", self.middle(MIDDLE["encoder"], x))).flatten(2).transpose(1, 2)
        x = x / x.square().sum(-1, keepdim=True).sqrt()
        return (x[:, :, None] - self.codes()).square().sum(-1).argmin(-1)

    def decode(self, tokens: Tensor, shape: tuple[int, int]) -> Tensor:
        x = self.codes()[tokens].transpose(1, 2).unflatten(2, shape)
        x = self.middle(MIDDLE["decoder"], self.conv("decoder.conv_in", self.conv("post_quant_conv", x)))
        return (self.end("decoder", self.stages(STAGES["decoder"], "res", x)).clamp(-1, 1) + 1) / 2


def tokenizer(folder: Path) -> Vq:
    config = VqConfig(CODES, CODE_DIM, WIDTH, MULTIPLES, LATENT, BLOCKS, GROUPS)
    return load_vq(saved(vq_weights(), folder / "vq.pt"), config, torch.float64)


def test_tokenizer(tmp_path: Path) -> None:
    model, plain, generator = tokenizer(tmp_path), PlainVq(vq_weights()), torch.Generator().manual_seed(6)
    torch.testing.assert_close(model.codebook, plain.codes(), **CLOSE)

    tokens = torch.randint(CODES, (2, 9), generator=generator)
    images = model.decode(tokens)
    assert images.shape == (2, 3, 12, 12)
    assert 0 <= images.min() < images.max() <= 1
    torch.testing.assert_close(images, plain.decode(tokens, (3, 3)), **CLOSE)
    wide = torch.randint(CODES, (1, 6), generator=generator)
    torch.testing.assert_close(model.decode(wide, (2, 3)), plain.decode(wide, (2, 3)), **CLOSE)

    images = torch.rand((3, 3, 16, 12), generator=generator, dtype=torch.float64)
    tokens = model.encode(images)
    assert tokens.shape == (3, 12)
    assert torch.equal(tokens, plain.encode(images))
    assert len(tokens.unique()) > 3  # worth comparing

    with pytest.raises(ValueError, match=r"images have the shape \(1, 3, 6, 4\); expected .* sides that 4 divides"):
        model.encode(torch.zeros(1, 3, 6, 4))
    with pytest.raises(ValueError, match=r"shape is \(2, 2\); expected \(rows, columns\) that hold 6 tokens"):
        model.decode(wide)
