"""Tokenizers of LlamaGen and Chameleon: images to a grid of codes of a sixteenth of their side, and back.

Sun et al., arXiv 2406.06525, section 2.1; the network is the one of Esser et al., "Taming transformers for
high-resolution image synthesis", CVPR 2021. LlamaGen compares vectors and codes at length 1, and attends at the lowest
resolution; Chameleon does neither.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from simlab.checks import check_at_least, line_or_grid
from simlab.models.checkpoints import filled, read_weights

EPSILON = 1e-6  # of the group norms
NESTED = ("model",)  # where a .pt file keeps the weights
COUNTED = ("quantize.codebook_used",)  # what training counts


@dataclass(frozen=True)
class VqConfig:
    """Sizes; those of the published tokenizer unless told. Raises ``ValueError`` for sizes that do not fit together."""

    codes: int = 16_384
    dim: int = 8  # of a code
    width: int = 128  # channels at full resolution
    multiples: tuple[int, ...] = (1, 1, 2, 2, 4)  # of the width, at each resolution
    latent: int = 256  # channels between the network and the codes
    blocks: int = 2  # at each resolution; one more on the way back
    groups: int = 32  # of the group norms
    attention: bool = True  # behind every block at the lowest resolution; between the two halves of a side always
    unit: bool = True  # vectors and codes are compared at length 1

    def __post_init__(self) -> None:
        for name in ("codes", "dim", "width", "latent", "blocks", "groups"):
            check_at_least(name, getattr(self, name), 1)
        object.__setattr__(self, "multiples", tuple(check_at_least("a multiple", m, 1) for m in self.multiples))
        if not self.multiples or self.width % self.groups:
            raise ValueError(
                f"width is {self.width}, groups {self.groups} and multiples {self.multiples}; expected a width that "
                "the groups divide, and at least one multiple"
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels at each resolution, the full one first."""
        return tuple(multiple * self.width for multiple in self.multiples)

    @property
    def factor(self) -> int:
        """Pixels a side of a token."""
        return 2 ** (len(self.multiples) - 1)


class Vq(nn.Module):
    """Encoder, codes, decoder, with the names of the official checkpoint. Images are ``[B, 3, H, W]`` from 0 to 1."""

    def __init__(self, config: VqConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or VqConfig()
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.quantize = nn.Module()
        self.quantize.embedding = nn.Embedding(config.codes, config.dim)
        self.quant_conv = nn.Conv2d(config.latent, config.dim, 1)
        self.post_quant_conv = nn.Conv2d(config.dim, config.latent, 1)

    @property
    def codebook(self) -> Tensor:
        """``[V, dim]``: the codes, of length 1 where that is how they are compared."""
        embedding = self.quantize.get_parameter("embedding.weight")
        return functional.normalize(embedding, dim=-1) if self.config.unit else embedding

    @torch.no_grad()
    def encode(self, images: Tensor) -> Tensor:
        """The tokens ``int[B, rows * columns]`` of images, in raster order."""
        check_images(images, self.config.factor)
        vectors = self.quant_conv(self.encoder(2 * images - 1)).permute(0, 2, 3, 1).flatten(1, 2)
        # |v - c|^2 but for |v|^2; of codes of one length the nearest is that of the largest product
        lengths = 0.0 if self.config.unit else self.codebook.square().sum(-1) / 2
        return (vectors @ self.codebook.T - lengths).argmax(-1)

    @torch.no_grad()
    def decode(self, tokens: Tensor, shape: tuple[int, int] | None = None) -> Tensor:
        """The images of tokens ``int[B, N]`` on a grid ``shape``, a square one unless told, from 0 to 1."""
        rows, columns = line_or_grid(tokens.shape[1], shape or (isqrt(tokens.shape[1]),) * 2)
        grid = self.codebook[tokens].unflatten(1, (rows, columns)).permute(0, 3, 1, 2)
        images: Tensor = self.decoder(self.post_quant_conv(grid))
        return (images.clamp(-1, 1) + 1) / 2


def check_images(images: Tensor, factor: int) -> None:
    """Raise ``ValueError`` unless images have three colours, and whole tokens of so many pixels a side."""
    if images.ndim != 4 or images.shape[1] != 3 or any(side % factor for side in images.shape[2:]):
        raise ValueError(
            f"images have the shape {tuple(images.shape)}; expected [B, 3, H, W] with sides that {factor} divides"
        )


def load_vq(
    path: Path,
    config: VqConfig | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Vq:
    """The tokenizer of a checkpoint. Raises :class:`CheckpointError` for a file of anything else, or of other sizes."""
    return filled(lambda: Vq(config), read_weights(path, NESTED), path, dtype, device, ignored=COUNTED)


# the network ----------------------------------------------------------------------------------------------------


class Encoder(nn.Module):
    def __init__(self, config: VqConfig) -> None:
        super().__init__()
        widths, last = config.widths, len(config.widths) - 1
        self.conv_in = nn.Conv2d(3, config.width, 3, padding=1)
        self.conv_blocks = nn.ModuleList(
            Blocks(inputs, outputs, config.blocks, config, level == last, downsample=halved(outputs, level == last))
            for level, (inputs, outputs) in enumerate(pairwise((config.width, *widths)))
        )
        self.mid = middle(widths[last], config.groups)
        self.norm_out = norm(widths[last], config.groups)
        self.conv_out = nn.Conv2d(widths[last], config.latent, 3, padding=1)

    def forward(self, images: Tensor) -> Tensor:
        seen = self.conv_in(images)
        for block in (*self.conv_blocks, *self.mid):
            seen = block(seen)
        vectors: Tensor = self.conv_out(functional.silu(self.norm_out(seen)))
        return vectors


class Decoder(nn.Module):
    """The lowest resolution comes first."""

    def __init__(self, config: VqConfig) -> None:
        super().__init__()
        widths, last = config.widths[::-1], len(config.widths) - 1
        self.conv_in = nn.Conv2d(config.latent, widths[0], 3, padding=1)
        self.mid = middle(widths[0], config.groups)
        self.conv_blocks = nn.ModuleList(
            Blocks(inputs, outputs, config.blocks + 1, config, level == 0, upsample=doubled(outputs, level == last))
            for level, (inputs, outputs) in enumerate(pairwise((widths[0], *widths)))
        )
        self.norm_out = norm(widths[-1], config.groups)
        self.conv_out = nn.Conv2d(widths[-1], 3, 3, padding=1)

    def forward(self, vectors: Tensor) -> Tensor:
        seen = self.conv_in(vectors)
        for block in (*self.mid, *self.conv_blocks):
            seen = block(seen)
        images: Tensor = self.conv_out(functional.silu(self.norm_out(seen)))
        return images


class Blocks(nn.Module):
    """Residual blocks at one resolution, the lowest with attention behind each, and what comes ``then``, by name."""

    def __init__(
        self, inputs: int, outputs: int, blocks: int, config: VqConfig, lowest: bool, **then: nn.Module
    ) -> None:
        super().__init__()
        groups, attended = config.groups, blocks if lowest and config.attention else 0
        self.res = nn.ModuleList(Residual(outputs if index else inputs, outputs, groups) for index in range(blocks))
        self.attn = nn.ModuleList(Attention(outputs, groups) for _ in range(attended))
        for name, module in then.items():
            self.add_module(name, module)
        self.then = tuple(then)

    def forward(self, inputs: Tensor) -> Tensor:
        for index, block in enumerate(self.res):
            inputs = block(inputs)
            if self.attn:
                inputs = self.attn[index](inputs)
        for name in self.then:
            inputs = self.get_submodule(name)(inputs)
        return inputs


class Residual(nn.Module):
    """Two convolutions beside the identity, or beside a product where the channels change."""

    def __init__(self, inputs: int, outputs: int, groups: int) -> None:
        super().__init__()
        self.norm1 = norm(inputs, groups)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2 = norm(outputs, groups)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.nin_shortcut = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        change = self.conv1(functional.silu(self.norm1(inputs)))
        change = self.conv2(functional.silu(self.norm2(change)))
        changed: Tensor = self.nin_shortcut(inputs) + change
        return changed


class Attention(nn.Module):
    """One head over all places of the grid."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.norm = norm(channels, groups)
        self.q, self.k, self.v, self.proj_out = (nn.Conv2d(channels, channels, 1) for _ in range(4))

    def forward(self, inputs: Tensor) -> Tensor:
        normed = self.norm(inputs)
        query, key, value = (part(normed).flatten(2).transpose(1, 2) for part in (self.q, self.k, self.v))
        seen = functional.scaled_dot_product_attention(query, key, value)
        changed: Tensor = inputs + self.proj_out(seen.transpose(1, 2).reshape(inputs.shape))
        return changed


def halved(channels: int, lowest: bool) -> nn.Module:
    """Every second place, with a row and a column of zeros behind the last; all where there is no lower resolution."""
    if lowest:
        return nn.Identity()
    return nn.Sequential(OrderedDict(pad=nn.ZeroPad2d((0, 1, 0, 1)), conv=nn.Conv2d(channels, channels, 3, stride=2)))


def doubled(channels: int, highest: bool) -> nn.Module:
    """Every place twice each way, unless there is no higher resolution."""
    if highest:
        return nn.Identity()
    return nn.Sequential(
        OrderedDict(twice=nn.Upsample(scale_factor=2.0), conv=nn.Conv2d(channels, channels, 3, padding=1))
    )


def middle(channels: int, groups: int) -> nn.ModuleList:
    """What the lowest resolution goes through beside its blocks."""
    return nn.ModuleList(
        [Residual(channels, channels, groups), Attention(channels, groups), Residual(channels, channels, groups)]
    )


def norm(channels: int, groups: int) -> nn.GroupNorm:
    return nn.GroupNorm(groups, channels, eps=EPSILON)
