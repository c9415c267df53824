"""A small VQ tokenizer: grey images to a grid of codes of half their side, and back.

Van den Oord et al., "Neural discrete representation learning", NeurIPS 2017. The codebook follows the means of the
vectors that choose each code (its appendix A.1), so that it needs no loss of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from simlab.checks import check_at_least

GROUPS = 8  # of the group norms
DECAY = 0.99  # of the means a codebook follows
LEAST_USE = 0.02  # of an even share: a code that is chosen less often starts again


@dataclass(frozen=True)
class TokenizerConfig:
    """Sizes: ``side`` pixels a side, ``codes`` vectors of ``dim`` numbers, ``width`` channels at full resolution."""

    side: int = 28
    codes: int = 256
    dim: int = 8
    width: int = 32
    blocks: int = 2

    def __post_init__(self) -> None:
        for name in ("side", "codes", "dim", "width", "blocks"):
            check_at_least(name, getattr(self, name), 1)
        if self.side % 2 or self.width % GROUPS:
            raise ValueError(
                f"side is {self.side} and width {self.width}; expected an even side and a multiple of {GROUPS}"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Tokens of an image: (rows, columns)."""
        return self.side // 2, self.side // 2


class Quantized(NamedTuple):
    """What one image becomes on its way through."""

    image: Tensor  # [B, 1, side, side]: made again from codes
    vectors: Tensor  # [B, dim, rows, columns]: before they are replaced by codes
    tokens: Tensor  # int[B, rows, columns]


class Tokenizer(nn.Module):
    """Encoder, codebook, decoder. Images are ``[B, 1, side, side]`` from 0 to 1."""

    codebook: Tensor
    _share: Tensor
    _sum: Tensor

    def __init__(self, config: TokenizerConfig) -> None:
        super().__init__()
        self.config = config
        narrow, broad = config.width, 2 * config.width
        self.encoder = nn.Sequential(
            nn.Conv2d(1, narrow, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(narrow, broad, 4, stride=2, padding=1),
            *(Residual(broad) for _ in range(config.blocks)),
            nn.GroupNorm(GROUPS, broad),
            nn.SiLU(),
            nn.Conv2d(broad, config.dim, 1),
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(config.dim, broad, 3, padding=1),
            *(Residual(broad) for _ in range(config.blocks)),
            nn.GroupNorm(GROUPS, broad),
            nn.SiLU(),
            nn.ConvTranspose2d(broad, narrow, 4, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(narrow, 1, 3, padding=1),
        )
        self.register_buffer("codebook", torch.zeros(config.codes, config.dim))
        # what the codebook follows; only training needs them
        self.register_buffer("_share", torch.ones(config.codes), persistent=False)
        self.register_buffer("_sum", torch.zeros(config.codes, config.dim), persistent=False)

    def encode(self, images: Tensor) -> Tensor:
        """The tokens ``int[B, rows * columns]`` of images, in raster order."""
        return self.nearest(self.encoder(images)).flatten(1)

    def decode(self, tokens: Tensor) -> Tensor:
        """The images of tokens ``int[B, rows * columns]``, from 0 to 1."""
        grid = self.codebook[tokens].unflatten(1, self.config.shape).permute(0, 3, 1, 2)
        images: Tensor = self.decoder(grid)
        return images.clamp(0, 1)

    def nearest(self, vectors: Tensor) -> Tensor:
        """``int[B, rows, columns]``: the code nearest to each of ``vectors[B, dim, rows, columns]``."""
        points = vectors.permute(0, 2, 3, 1).float()
        # |v - c|^2 without |v|^2, which is the same for every code
        return (self.codebook.square().sum(-1) - 2 * points @ self.codebook.T).argmin(-1)

    def forward(self, images: Tensor) -> Quantized:
        """Images through the codes; the gradient passes them by as if they were the vectors."""
        vectors = self.encoder(images)
        tokens = self.nearest(vectors)
        codes = self.codebook[tokens].permute(0, 3, 1, 2)
        return Quantized(self.decoder(vectors + (codes - vectors).detach()), vectors, tokens)

    @torch.no_grad()
    def begin(self, vectors: Tensor, generator: torch.Generator) -> None:
        """Start the codebook at some of ``vectors[B, dim, rows, columns]``."""
        points = vectors.permute(0, 2, 3, 1).flatten(0, 2).float()
        order = torch.randperm(len(points), generator=generator, device=points.device)
        self.codebook.copy_(points[order[: len(self.codebook)]])
        self._sum.copy_(self.codebook)

    @torch.no_grad()
    def follow(self, seen: Quantized, generator: torch.Generator) -> None:
        """Move every code towards the mean of the vectors that chose it; start those anew that hardly any did."""
        points = seen.vectors.permute(0, 2, 3, 1).flatten(0, 2).float()
        chosen = functional.one_hot(seen.tokens.flatten(), len(self.codebook)).float()
        scale = len(self.codebook) / len(points)  # an even share is 1
        self._share.lerp_(chosen.sum(0) * scale, 1 - DECAY)
        self._sum.lerp_(chosen.T @ points * scale, 1 - DECAY)
        self.codebook.copy_(self._sum / self._share[:, None].clamp(min=1e-6))
        idle = self._share < LEAST_USE
        other = torch.randint(len(points), (len(self.codebook),), generator=generator, device=points.device)
        fresh = points[other]
        self.codebook[idle], self._sum[idle], self._share[idle] = fresh[idle], fresh[idle], 1.0


class Residual(nn.Module):
    """Two convolutions beside the identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.GroupNorm(GROUPS, channels),
            nn.SiLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.GroupNorm(GROUPS, channels),
            nn.SiLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
        )

    def forward(self, inputs: Tensor) -> Tensor:
        changed: Tensor = inputs + self.change(inputs)
        return changed
