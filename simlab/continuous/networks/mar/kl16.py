"""MAR's autoencoder: images to tokens of sixteen numbers, one for a sixteenth of their side each, and back.

The network of latent diffusion's KL autoencoder (Rombach et al., arXiv 2112.10752), which is the one of
:mod:`simlab.models.architectures.vq16` but for its codes: the encoder tells a mean and a variance of each number, and
attends behind its lowest blocks, as the decoder does not. Tokens are scaled to about unit variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import torch
from torch import Tensor, nn

from simlab.checks import check_at_least, check_shape
from simlab.continuous.networks.autoencoder import Laws
from simlab.models.architectures.vq16 import Decoder, Encoder, VqConfig, check_images

SCALE = 0.2325  # of tokens, to latents of the network
LOG_VARIANCES = (-30.0, 20.0)  # that an encoder's are cut to


@dataclass(frozen=True)
class KlConfig:
    """Sizes, by default those of the published autoencoder. Raises ``ValueError`` where they do not go together."""

    width: int = 128  # channels at full resolution
    multiples: tuple[int, ...] = (1, 1, 2, 2, 4)  # of the width, at each resolution
    latent: int = 16  # d, numbers of a token
    blocks: int = 2  # at each resolution; one more on the way back
    groups: int = 32  # of the group norms

    def __post_init__(self) -> None:
        check_at_least("latent", self.latent, 1)
        object.__setattr__(self, "multiples", self.side(self.latent, attention=False).multiples)

    def side(self, channels: int, attention: bool) -> VqConfig:
        """Of the encoder or the decoder, with ``channels`` between the two."""
        return VqConfig(
            latent=channels,
            attention=attention,
            width=self.width,
            multiples=self.multiples,
            blocks=self.blocks,
            groups=self.groups,
        )

    @property
    def factor(self) -> int:
        """Pixels a side of a token."""
        return self.side(self.latent, attention=False).factor


class Kl16(nn.Module):
    """Encoder and decoder. Images are ``[B, 3, H, W]`` from 0 to 1, tokens ``[B, N, d]`` in raster order.

    ``config``: its sizes; those of the published autoencoder unless told.
    """

    def __init__(self, config: KlConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or KlConfig()
        self.encoder = Encoder(config.side(2 * config.latent, attention=True))
        self.decoder = Decoder(config.side(config.latent, attention=False))
        self.quant_conv = nn.Conv2d(2 * config.latent, 2 * config.latent, 1)
        self.post_quant_conv = nn.Conv2d(config.latent, config.latent, 1)

    @torch.no_grad()
    def encode(self, images: Tensor) -> Laws:
        """The law of an image's tokens.

        ``images``: ``float[B, 3, H, W]`` from 0 to 1. Returns means and standard deviations ``float[B, N, d]``. Raises
        ``ValueError`` for other shapes, and sides that are not whole numbers of tokens.
        """
        check_images(images, self.config.factor)
        moments = self.quant_conv(self.encoder(2 * images - 1)).flatten(2).transpose(1, 2)
        mean, log_variance = moments.chunk(2, dim=-1)
        return Laws(SCALE * mean, SCALE * torch.exp(log_variance.clamp(*LOG_VARIANCES) / 2))

    @torch.no_grad()
    def decode(self, tokens: Tensor, shape: tuple[int, int] | None = None) -> Tensor:
        """The images of tokens.

        ``tokens``: ``float[B, N, d]``. ``shape``: (rows, columns) of tokens; a square unless told. Returns
        ``float[B, 3, H, W]`` from 0 to 1. Raises ``ValueError`` for tokens of another shape.
        """
        rows, columns = check_shape(shape or (isqrt(tokens.shape[1]),) * 2)
        if tokens.ndim != 3 or tokens.shape[1:] != (rows * columns, self.config.latent):
            raise ValueError(
                f"tokens have the shape {tuple(tokens.shape)}; expected [B, {rows * columns}, {self.config.latent}]"
            )
        grid = (tokens / SCALE).transpose(1, 2).unflatten(2, (rows, columns))
        images: Tensor = self.decoder(self.post_quant_conv(grid))
        return (images.clamp(-1, 1) + 1) / 2
