"""Training the VQ tokenizer: reconstruction of pixels, and vectors near their codes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from experiments.training.loop import CHUNK, Task
from simlab.models.architectures.tokenizer import Quantized, Tokenizer, TokenizerConfig

COMMITMENT = 0.25
FIRST = 500  # images among whose vectors the codebook starts


class TokenizerTask(Task):
    """Images ``float[n, 1, side, side]`` to be made again."""

    model: Tokenizer

    def __init__(self, images: Tensor, config: TokenizerConfig, seed: int) -> None:
        torch.manual_seed(seed)
        self.model = Tokenizer(config).to(images.device)
        self.images, self.examples = images, len(images)
        first = torch.Generator(images.device).manual_seed(seed)
        with torch.no_grad():
            self.model.begin(self.model.encoder(images[:FIRST]), first)
        self._seen: Quantized

    def loss(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        images = self.images[rows]
        seen = self.model(images)
        codes = self.model.codebook[seen.tokens].permute(0, 3, 1, 2)
        self._seen = seen
        error = seen.image.float() - images
        return error.square().mean() * 10 + error.abs().mean() + COMMITMENT * (seen.vectors - codes).square().mean()

    def after(self, step: int, generator: torch.Generator) -> None:
        self.model.follow(self._seen, generator)


def as_images(pixels: Any) -> Tensor:
    """``float32[n, 1, side, side]`` from 0 to 1 of grey levels ``uint8[n, side, side]``."""
    return torch.from_numpy(pixels.copy())[:, None].float() / 255


@torch.no_grad()
def tokens_of(model: Tokenizer, images: Tensor) -> Tensor:
    """``int[n, N]``: the tokens of many images."""
    return torch.cat([model.encode(part) for part in images.split(CHUNK)])


@torch.no_grad()
def tokenizer_metrics(model: Tokenizer, images: Tensor) -> dict[str, float]:
    """Error a pixel, and how evenly the codes are used, on ``images``."""
    tokens = tokens_of(model, images)
    again = torch.cat([model.decode(part) for part in tokens.split(CHUNK)])
    share = torch.bincount(tokens.flatten(), minlength=model.config.codes) / tokens.numel()
    entropy = -(share[share > 0] * share[share > 0].log2()).sum()
    error = (again - images).square().mean()
    return {
        "mse": float(error),
        "psnr_db": float(-10 * error.log10()),
        "mae": float(functional.l1_loss(again, images)),
        "codes_used": float((share > 0).sum()),
        "token_entropy_bits": float(entropy),
    }
