"""LlamaGen's tokenizer written a second time, from its description: convolutions as sums over patches, group norms and
attention by their formulas."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from simlab.models.architectures.vq16 import Vq, VqConfig, load_vq
from tests.support.llamagen import (
    BLOCKS,
    CODE_DIM,
    CODES,
    LATENT,
    MULTIPLES,
    WIDTH,
    Weights,
    saved,
    vq_weights,
)

pytestmark = pytest.mark.parity

GROUPS = 2
CLOSE: dict[str, float] = {"rtol": 1e-10, "atol": 1e-10}
FAR = 1e-3  # what a planted bug moves at least


class PlainVq:
    """The network by its formulas, from the names of the file."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights

    def conv(self, name: str, x: Tensor, stride: int = 1, pad: tuple[int, ...] | None = None) -> Tensor:
        """A convolution as a product with patches."""
        kernel, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        size = kernel.shape[-1]
        left, right, top, bottom = pad if pad is not None else (size // 2,) * 4
        batch, channels, height, width = x.shape
        wide = x.new_zeros(batch, channels, height + top + bottom, width + left + right)
        wide[:, :, top : top + height, left : left + width] = x
        rows, columns = (wide.shape[2] - size) // stride + 1, (wide.shape[3] - size) // stride + 1
        out = bias[None, :, None, None].expand(batch, -1, rows, columns)
        for i in range(size):
            for j in range(size):
                patch = wide[:, :, i : i + stride * rows : stride, j : j + stride * columns : stride]
                out = out + torch.einsum("oc,bchw->bohw", kernel[:, :, i, j], patch)
        return out

    def norm(self, name: str, x: Tensor) -> Tensor:
        parts = []
        for part in x.chunk(GROUPS, dim=1):
            mean = part.mean((1, 2, 3), keepdim=True)
            parts.append((part - mean) / ((part - mean).square().mean((1, 2, 3), keepdim=True) + 1e-6).sqrt())
        gains, shift = (self.weights[f"{name}.{which}"][None, :, None, None] for which in ("weight", "bias"))
        return torch.cat(parts, dim=1) * gains + shift

    def swish(self, x: Tensor) -> Tensor:
        return x / (1 + torch.exp(-x))

    def residual(self, name: str, x: Tensor) -> Tensor:
        h = self.conv(f"{name}.conv1", self.swish(self.norm(f"{name}.norm1", x)))
        h = self.conv(f"{name}.conv2", self.swish(self.norm(f"{name}.norm2", h)))
        return h + (self.conv(f"{name}.nin_shortcut", x) if f"{name}.nin_shortcut.weight" in self.weights else x)

    def attention(self, name: str, x: Tensor) -> Tensor:
        q, k, v = (self.conv(f"{name}.{part}", self.norm(f"{name}.norm", x)).flatten(2) for part in "qkv")
        scores = torch.exp(torch.einsum("bci,bcj->bij", q, k) / math.sqrt(x.shape[1]))
        seen = torch.einsum("bij,bcj->bci", scores / scores.sum(-1, keepdim=True), v)
        return x + self.conv(f"{name}.proj_out", seen.unflatten(2, x.shape[2:]))

    def mid(self, side: str, x: Tensor) -> Tensor:
        x = self.attention(f"{side}.mid.1", self.residual(f"{side}.mid.0", x))
        return self.residual(f"{side}.mid.2", x)

    def end(self, side: str, x: Tensor) -> Tensor:
        return self.conv(f"{side}.conv_out", self.swish(self.norm(f"{side}.norm_out", x)))

    def codes(self) -> Tensor:
        codes = self.weights["quantize.embedding.weight"]
        return codes / codes.square().sum(-1, keepdim=True).sqrt()

    def encode(self, images: Tensor) -> Tensor:
        x = self.conv("encoder.conv_in", images * 2 - 1)
        last = len(MULTIPLES) - 1
        for level in range(last + 1):
            for block in range(BLOCKS):
                x = self.residual(f"encoder.conv_blocks.{level}.res.{block}", x)
                if level == last:
                    x = self.attention(f"encoder.conv_blocks.{level}.attn.{block}", x)
            if level < last:
                x = self.conv(f"encoder.conv_blocks.{level}.downsample.conv", x, stride=2, pad=(0, 1, 0, 1))
        x = self.conv("quant_conv", self.end("encoder", self.mid("encoder", x))).flatten(2).transpose(1, 2)
        x = x / x.square().sum(-1, keepdim=True).sqrt()
        return (x[:, :, None] - self.codes()).square().sum(-1).argmin(-1)

    def decode(self, tokens: Tensor, shape: tuple[int, int]) -> Tensor:
        x = self.codes()[tokens].transpose(1, 2).unflatten(2, shape)
        x = self.mid("decoder", self.conv("decoder.conv_in", self.conv("post_quant_conv", x)))
        for level in range(len(MULTIPLES)):
            for block in range(BLOCKS + 1):
                x = self.residual(f"decoder.conv_blocks.{level}.res.{block}", x)
                if level == 0:
                    x = self.attention(f"decoder.conv_blocks.{level}.attn.{block}", x)
            if level < len(MULTIPLES) - 1:
                x = x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
                x = self.conv(f"decoder.conv_blocks.{level}.upsample.conv", x)
        return (self.end("decoder", x).clamp(-1, 1) + 1) / 2


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


@pytest.mark.parametrize("bug", ["pad", "length", "eps", "attention"])
def test_the_tokenizer_comparison_tells(bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, tokens = PlainVq(vq_weights()), torch.arange(9)[None]
    images = torch.rand((3, 3, 16, 16), generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    if bug == "eps":
        monkeypatch.setattr("simlab.models.architectures.vq16.EPSILON", 1e-2)
    model = tokenizer(tmp_path)
    if bug == "pad":
        monkeypatch.setattr(functional, "pad", lambda x, pad: torch.constant_pad_nd(x, (1, 0, 1, 0)))
        assert not torch.equal(model.encode(images), plain.encode(images))
        return
    if bug == "length":
        monkeypatch.setattr(Vq, "codebook", property(lambda self: self.quantize.embedding.weight))
    if bug == "attention":
        model.decoder.mid[1] = torch.nn.Identity()
    assert (model.decode(tokens) - plain.decode(tokens, (3, 3))).abs().max() > FAR
