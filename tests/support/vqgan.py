"""The layers of VQGAN and of what followed it a second time, by their formulas, over the names of a file.

Convolutions are sums over patches, group norms and attention are written out. Which blocks have attention, and behind
which the size changes, is what the file holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor


def swish(x: Tensor) -> Tensor:
    return x / (1 + torch.exp(-x))


def doubled(x: Tensor) -> Tensor:
    return x.repeat_interleave(2, 2).repeat_interleave(2, 3)


class PlainVqgan:
    """Layers over ``weights``, of ``[B, C, H, W]``; ``by`` are the codes that norms of Emu3's decoder look at."""

    def __init__(self, weights: dict[str, Tensor], groups: int = 32) -> None:
        self.held, self.groups = {name: tensor.double() for name, tensor in weights.items()}, groups

    def conv(self, name: str, x: Tensor, stride: int = 1, pad: tuple[int, ...] | None = None) -> Tensor:
        """``pad`` is left, right, above and below; by default the size stays."""
        kernel, bias = self.held[f"{name}.weight"], self.held[f"{name}.bias"]
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

    def norm(self, name: str, x: Tensor, by: Tensor | None = None) -> Tensor:
        """Groups of channels by their means and spreads."""
        layer = name if by is None else f"{name}.norm_layer"
        parts = []
        for part in x.chunk(self.groups, dim=1):
            mean = part.mean((1, 2, 3), keepdim=True)
            parts.append((part - mean) / ((part - mean).square().mean((1, 2, 3), keepdim=True) + 1e-6).sqrt())
        gains, shift = (self.held[f"{layer}.{which}"][None, :, None, None] for which in ("weight", "bias"))
        x = torch.cat(parts, dim=1) * gains + shift
        if by is None:
            return x
        times = x.shape[-1] // by.shape[-1]
        seen = by.repeat_interleave(times, 2).repeat_interleave(times, 3)
        return x * self.conv(f"{name}.conv_y", seen) + self.conv(f"{name}.conv_b", seen)

    def residual(self, name: str, x: Tensor, by: Tensor | None = None) -> Tensor:
        h = self.conv(f"{name}.conv1", swish(self.norm(f"{name}.norm1", x, by)))
        h = self.conv(f"{name}.conv2", swish(self.norm(f"{name}.norm2", h, by)))
        return h + (self.conv(f"{name}.nin_shortcut", x) if f"{name}.nin_shortcut.weight" in self.held else x)

    def attention(self, name: str, x: Tensor, by: Tensor | None = None) -> Tensor:
        q, k, v = (self.conv(f"{name}.{part}", self.norm(f"{name}.norm", x, by)).flatten(2) for part in "qkv")
        scores = torch.exp(torch.einsum("bci,bcj->bij", q, k) / math.sqrt(x.shape[1]))
        seen = torch.einsum("bij,bcj->bci", scores / scores.sum(-1, keepdim=True), v)
        return x + self.conv(f"{name}.proj_out", seen.unflatten(2, x.shape[2:]))

    def middle(self, names: tuple[str, str, str], x: Tensor, by: Tensor | None = None) -> Tensor:
        """A residual layer, attention, and a residual layer."""
        first, between, last = names
        return self.residual(last, self.attention(between, self.residual(first, x, by), by), by)

    def stages(self, names: Iterable[str], block: str, x: Tensor, by: Tensor | None = None) -> Tensor:
        """Stage after stage: residual layers called ``block``, attention where there is some, then another size."""
        for stage in names:
            number = 0
            while f"{stage}.{block}.{number}.conv1.weight" in self.held:
                x = self.residual(f"{stage}.{block}.{number}", x, by)
                if f"{stage}.attn.{number}.q.weight" in self.held:
                    x = self.attention(f"{stage}.attn.{number}", x, by)
                number += 1
            if f"{stage}.downsample.conv.weight" in self.held:
                x = self.conv(f"{stage}.downsample.conv", x, 2, (0, 1, 0, 1))
            if f"{stage}.upsample.conv.weight" in self.held:
                x = self.conv(f"{stage}.upsample.conv", doubled(x))
        return x

    def end(self, side: str, x: Tensor, by: Tensor | None = None) -> Tensor:
        return self.conv(f"{side}.conv_out", swish(self.norm(f"{side}.norm_out", x, by)))

    # as in the code of VQGAN: levels count from the highest resolution on

    def encoded(self, images: Tensor) -> Tensor:
        """What comes out of the encoder, of images from 0 to 1."""
        x = self.conv("encoder.conv_in", 2 * images - 1)
        x = self.stages((f"encoder.down.{level}" for level in range(self.levels)), "block", x)
        return self.end("encoder", self.middle(middle("encoder"), x))

    def decoded(self, x: Tensor, by: Tensor | None = None) -> Tensor:
        """Images from 0 to 1, of what goes into the decoder."""
        x = self.middle(middle("decoder"), self.conv("decoder.conv_in", x), by)
        x = self.stages((f"decoder.up.{level}" for level in reversed(range(self.levels))), "block", x, by)
        return (self.end("decoder", x, by).clamp(-1, 1) + 1) / 2

    @property
    def levels(self) -> int:
        return len({name.split(".")[2] for name in self.held if name.startswith("decoder.up.")})


def middle(side: str) -> tuple[str, str, str]:
    return f"{side}.mid.block_1", f"{side}.mid.attn_1", f"{side}.mid.block_2"
