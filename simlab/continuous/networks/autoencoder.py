"""A small KL autoencoder: grey images to a grid of normal laws a quarter of their side, and back from a draw of them.

Kingma and Welling, "Auto-encoding variational Bayes", ICLR 2014. Tokens are draws, each number of them brought to mean
0 and standard deviation 1 over the training images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from simlab.checks import check_at_least
from simlab.models.architectures.tokenizer import GROUPS, Residual

LOWEST, HIGHEST = -12.0, 4.0  # where logarithms of variances are cut


@dataclass(frozen=True)
class AutoencoderConfig:
    """Sizes: ``side`` pixels a side, ``dim`` numbers a token, ``width`` channels at half the side."""

    side: int = 28
    dim: int = 8
    width: int = 24
    blocks: int = 1

    def __post_init__(self) -> None:
        for name in ("side", "dim", "width", "blocks"):
            check_at_least(name, getattr(self, name), 1)
        if self.side % 4 or self.width % GROUPS:
            raise ValueError(f"side is {self.side} and width {self.width}; expected multiples of 4 and of {GROUPS}")

    @property
    def shape(self) -> tuple[int, int]:
        """Tokens of an image: (rows, columns)."""
        return self.side // 4, self.side // 4


class Laws(NamedTuple):
    """The normal laws of the tokens of images: ``[B, N, dim]`` each."""

    mean: Tensor
    sd: Tensor

    def draw(self, noise: Tensor) -> Tensor:
        """``[B, N, dim]``, of standard normals of that shape."""
        return self.mean + self.sd * noise


class Autoencoder(nn.Module):
    """Encoder and decoder. Images are ``[B, 1, side, side]`` from 0 to 1."""

    centre: Tensor
    spread: Tensor

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__()
        self.config = config
        narrow, broad = config.width, 2 * config.width
        self.encoder = nn.Sequential(
            nn.Conv2d(1, narrow, 4, stride=2, padding=1),
            Residual(narrow),
            nn.Conv2d(narrow, broad, 4, stride=2, padding=1),
            *(Residual(broad) for _ in range(config.blocks)),
            nn.GroupNorm(GROUPS, broad),
            nn.SiLU(),
            nn.Conv2d(broad, 2 * config.dim, 1),
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(config.dim, broad, 3, padding=1),
            *(Residual(broad) for _ in range(config.blocks + 1)),
            nn.ConvTranspose2d(broad, narrow, 4, stride=2, padding=1),
            Residual(narrow),
            nn.GroupNorm(GROUPS, narrow),
            nn.SiLU(),
            nn.ConvTranspose2d(narrow, 1, 4, stride=2, padding=1),
        )
        # of the tokens of the training images, measured when training ends
        self.register_buffer("centre", torch.zeros(config.dim))
        self.register_buffer("spread", torch.ones(config.dim))

    def laws(self, images: Tensor) -> Laws:
        """The laws of the tokens of images, before they are brought to mean 0 and standard deviation 1."""
        mean, log_variance = self.encoder(images * 2 - 1).flatten(2).transpose(1, 2).chunk(2, dim=-1)
        return Laws(mean, torch.exp(log_variance.clamp(LOWEST, HIGHEST) / 2))

    def encode(self, images: Tensor) -> Laws:
        """The laws of the tokens of images, in raster order."""
        mean, sd = self.laws(images)
        return Laws((mean - self.centre) / self.spread, sd / self.spread)

    def decode(self, tokens: Tensor) -> Tensor:
        """The images ``[B, 1, side, side]``, from 0 to 1, of tokens ``[B, N, dim]`` in raster order."""
        return self.image(tokens * self.spread + self.centre).clamp(0, 1)

    def image(self, latents: Tensor) -> Tensor:
        """The images of tokens as they are before they are brought to mean 0 and standard deviation 1."""
        image: Tensor = self.decoder(latents.transpose(1, 2).unflatten(2, self.config.shape))
        return image
