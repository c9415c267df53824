"""Training a masked autoregressive model of continuous tokens: noise and variance of tokens that are not there yet.

Li et al., "Autoregressive image generation without vector quantization", arXiv 2406.11838; the loss of Nichol and
Dhariwal, "Improved denoising diffusion probabilistic models", 2021: the squared error of the noise, and with the mean
held fixed the divergence of each step's kernel from the posterior, in bits a number, which the variances learn from.
"""

from __future__ import annotations

from math import log, pi

import numpy as np
import torch
from torch import Tensor

from experiments.training.loop import CHUNK, HELD_OUT, Task, some_dropped
from simlab.continuous.models.diffusion import forward_steps, schedule
from simlab.continuous.networks.autoencoder import Laws
from simlab.continuous.networks.mar.trunk import Mar, MarConfig, taken
from simlab.continuous.networks.sampler import TRAIN_STEPS

DRAWS = 32  # tokens of an image with a step and noise each, all under conditions of one pass through the transformer


class Diffusion:
    """What the steps of the schedule amount to, each ``float32[1000]``."""

    def __init__(self, device: torch.device) -> None:
        steps = forward_steps(schedule("cosine", TRAIN_STEPS))

        def single(values: np.ndarray) -> Tensor:
            return torch.from_numpy(values.astype(np.float32)).to(device)

        self.signal, self.noise = single(np.sqrt(steps.abar)), single(np.sqrt(1 - steps.abar))
        self.log_low, self.log_high = single(np.log(steps.low)), single(np.log(steps.betas))
        self.posterior = single(steps.tilde)
        # by how much the means of kernels differ for an error of one in the noise
        self.of_error = single(steps.towards * np.sqrt(1 / steps.abar - 1))


class MarTask(Task):
    """Laws of tokens ``[n, N, dim]`` of images with their classes ``int[n]``."""

    model: Mar

    def __init__(self, laws: Laws, labels: Tensor, config: MarConfig, seed: int) -> None:
        self.model = Mar(config)
        self.model.initialise(torch.Generator().manual_seed(seed))
        self.model.to(labels.device)
        self.laws, self.labels, self.examples = laws, labels, len(labels)
        self.diffusion = Diffusion(labels.device)

    def loss(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        labels = some_dropped(self.labels[rows], self.model.config.classes, generator)
        squared, bits = losses(self.model, self.diffusion, Laws(*(p[rows] for p in self.laws)), labels, generator)
        return squared.mean() + bits.mean()


def losses(
    model: Mar, diffusion: Diffusion, laws: Laws, labels: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The squared errors of the noise and the bits of the variances, ``[B, DRAWS, dim]`` each.

    Of every image as many tokens are known, from none to all but one, and which they are is a matter of chance.
    """
    count, length, _ = laws.mean.shape
    device = labels.device
    tokens = laws.draw(torch.randn(laws.mean.shape, generator=generator, device=device))
    order = torch.rand((count, length), generator=generator, device=device).argsort(1)
    known = int(torch.randint(length, (1,), generator=generator, device=device))
    there = order[:, :known]
    asked = order[:, known + torch.arange(DRAWS, device=device) % (length - known)]
    clean = taken(tokens, asked)
    z = model(labels, taken(tokens, there), there, asked=asked)
    t = torch.randint(TRAIN_STEPS, (count, DRAWS), generator=generator, device=device)
    noise = torch.randn(clean.shape, generator=generator, device=device)
    noisy = diffusion.signal[t][..., None] * clean + diffusion.noise[t][..., None] * noise
    made = model.head(noisy.flatten(0, 1), t.flatten(), z.flatten(0, 1)).unflatten(0, t.shape)
    predicted, fraction = made.float().chunk(2, dim=-1)
    error = predicted - noise

    # the step's kernel against the posterior; at the last step, which has none, the density of what it is to reach
    share = (fraction + 1) / 2
    low, high = diffusion.log_low[t][..., None], diffusion.log_high[t][..., None]
    log_variance = low + share * (high - low)
    away = (diffusion.of_error[t][..., None] * error.detach()).square()
    posterior = diffusion.posterior[t][..., None]
    spread = torch.where(
        t[..., None] > 0, log_variance - posterior.clamp(min=1e-20).log() - 1, log_variance + log(2 * pi)
    )
    nats = (spread + (posterior + away) * torch.exp(-log_variance)) / 2
    return error.square(), nats / log(2)


@torch.no_grad()
def mar_metrics(model: Mar, laws: Laws, labels: Tensor, seed: int) -> dict[str, float]:
    """The squared error of the noise, and the bits of the variances, of held-out images with their class."""
    diffusion = Diffusion(labels.device)
    generator = torch.Generator(labels.device).manual_seed(seed)
    parts = zip(*(each[:HELD_OUT].split(CHUNK) for each in (laws.mean, laws.sd, labels)), strict=True)
    found = [
        [float(of.mean()) for of in losses(model, diffusion, Laws(mean, sd), given, generator)]
        for mean, sd, given in parts
    ]
    squared, bits = (float(np.mean(values)) for values in zip(*found, strict=True))
    return {"noise_mse": squared, "variance_bits": bits}
