"""Training the KL autoencoder: pixels made again, and laws of tokens near the standard normal."""

from __future__ import annotations

import torch
from torch import Tensor

from experiments.training.loop import CHUNK, Task
from simlab.continuous.networks.autoencoder import Autoencoder, AutoencoderConfig, Laws

NEARNESS = 0.05  # weight of the divergence from N(0, I), in nats a pixel
MEASURED = 10_000  # images whose tokens are brought to mean 0 and standard deviation 1


class AutoencoderTask(Task):
    """Images ``float[n, 1, side, side]`` to be made again."""

    model: Autoencoder

    def __init__(self, images: Tensor, config: AutoencoderConfig, seed: int, steps: int) -> None:
        torch.manual_seed(seed)
        self.model = Autoencoder(config).to(images.device)
        self.images, self.steps, self.examples = images, steps, len(images)

    def loss(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        images = self.images[rows]
        laws = self.model.laws(images)
        noise = torch.randn(laws.mean.shape, generator=generator, device=images.device)
        error = self.model.image(laws.draw(noise)).float() - images
        near = divergence(laws).sum() / images.numel()
        return error.square().mean() * 10 + error.abs().mean() + NEARNESS * near

    @torch.no_grad()
    def after(self, step: int, generator: torch.Generator) -> None:
        if step + 1 == self.steps:  # the last
            self.model.centre.zero_(), self.model.spread.fill_(1)  # of an end that more steps have followed
            mean, sd = laws_of(self.model, self.images[:MEASURED])
            self.model.centre.copy_(mean.mean((0, 1)))
            self.model.spread.copy_((mean.var((0, 1)) + sd.square().mean((0, 1))).sqrt())


def divergence(laws: Laws) -> Tensor:
    """Of each number's law from N(0, 1), in nats: ``[B, N, dim]``."""
    mean, variance = laws.mean.float(), laws.sd.float().square()
    return (mean.square() + variance - 1 - variance.log()) / 2


@torch.no_grad()
def laws_of(model: Autoencoder, images: Tensor) -> Laws:
    """The laws of the tokens of many images, as :meth:`Autoencoder.encode` gives them."""
    return Laws(*(torch.cat(parts) for parts in zip(*map(model.encode, images.split(CHUNK)), strict=True)))


@torch.no_grad()
def autoencoder_metrics(model: Autoencoder, images: Tensor, seed: int) -> dict[str, float]:
    """Error a pixel of ``images`` made again from draws, how wide the laws are, and what they say of an image."""
    generator = torch.Generator(images.device).manual_seed(seed)
    squared, nats, width = 0.0, 0.0, 0.0
    for part in images.split(CHUNK):
        laws = model.encode(part)
        noise = torch.randn(laws.mean.shape, generator=generator, device=part.device)
        squared += float((model.decode(laws.draw(noise)) - part).square().sum())
        nats += float(divergence(model.laws(part)).sum())
        width += float(laws.sd.sum())
    error = squared / images.numel()
    tokens = len(images) * model.config.shape[0] * model.config.shape[1]
    return {
        "mse": error,
        "psnr_db": float(-10 * torch.tensor(error).log10()),
        "nats_per_image": nats / len(images),
        "sd_of_laws": width / (tokens * model.config.dim),
    }
