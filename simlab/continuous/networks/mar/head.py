"""The diffusion network that MAR gives to each token: perceptron layers, modulated by a step and a condition.

Li et al., "Autoregressive image generation without vector quantization", arXiv 2406.11838, section 4.2; modulation as
in Peebles and Xie, "Scalable diffusion models with transformers", arXiv 2212.09748. Names are those of the official
checkpoints, there below ``diffloss.net``.
"""

from __future__ import annotations

from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional

from simlab.checks import check_at_least

EPSILON = 1e-6  # of the layer norms
FREQUENCIES = 256  # numbers that a step is told by
PERIOD = 10_000.0  # of the slowest of them, in steps, over 2 pi


class Head(nn.Module):
    """Predicts the noise of a token, and where its variance stands between two bounds.

    ``token_dim``: d, numbers of a token. ``condition_dim``: D, numbers of what the transformer says of its place.
    ``width``, ``depth``: of the layers, and how many. Raises ``ValueError`` for a size below 1. See Li et al., arXiv
    2406.11838, section 4.2.
    """

    def __init__(self, token_dim: int, condition_dim: int, width: int, depth: int) -> None:
        super().__init__()
        sizes = {"token_dim": token_dim, "condition_dim": condition_dim, "width": width, "depth": depth}
        for name, size in sizes.items():
            check_at_least(name, size, 1)
        self.time_embed = TimeEmbedding(width)
        self.cond_embed = nn.Linear(condition_dim, width)
        self.input_proj = nn.Linear(token_dim, width)
        self.res_blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.final_layer = Last(width, 2 * token_dim)

    def forward(self, x: Tensor, t: Tensor, condition: Tensor) -> Tensor:
        """The prediction for noisy tokens.

        ``x``: ``float[B, d]``. ``t``: ``int[B]``, or ``[1]`` for all: steps of the schedule that it was trained on,
        from 0. ``condition``: ``float[B, D]``. Returns ``float[B, 2 d]``: the noise, and behind it the shares.
        """
        return self.step(x, self.time_embed(t), self.cond_embed(condition))

    def step(self, x: Tensor, time: Tensor, condition: Tensor) -> Tensor:
        """The same where step and condition are embedded: ``time_embed(t)`` and ``cond_embed(condition)``."""
        modulation = functional.silu(time + condition)
        hidden = self.input_proj(x)
        for block in self.res_blocks:
            hidden = block(hidden, modulation)
        predicted: Tensor = self.final_layer(hidden, modulation)
        return predicted


class TimeEmbedding(nn.Module):
    """Cosines and sines of a step, through two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(FREQUENCIES, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, t: Tensor) -> Tensor:
        half = FREQUENCIES // 2
        frequency = torch.exp(-log(PERIOD) / half * torch.arange(half, dtype=torch.float64, device=t.device))
        angle = t[:, None] * frequency  # exact to the end of the schedule, whatever the weights are stored in
        waves = torch.cat([angle.cos(), angle.sin()], dim=-1)
        embedded: Tensor = self.mlp(waves.to(next(self.mlp.parameters()).dtype))
        return embedded


class Block(nn.Module):
    """A perceptron of two layers beside the identity, shifted, scaled and gated."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.in_ln = nn.LayerNorm(width, eps=EPSILON)
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.adaLN_modulation = modulated_by(width, 3)

    def forward(self, x: Tensor, modulation: Tensor) -> Tensor:
        shift, scale, gate = self.adaLN_modulation(modulation).chunk(3, dim=-1)
        changed: Tensor = x + gate * self.mlp(self.in_ln(x) * (1 + scale) + shift)
        return changed


class Last(nn.Module):
    """The projection to what is predicted; its norm has no weights of its own."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, outputs)
        self.adaLN_modulation = modulated_by(width, 2)

    def forward(self, x: Tensor, modulation: Tensor) -> Tensor:
        shift, scale = self.adaLN_modulation(modulation).chunk(2, dim=-1)
        normed = functional.layer_norm(x, x.shape[-1:], eps=EPSILON)
        predicted: Tensor = self.linear(normed * (1 + scale) + shift)
        return predicted


def modulated_by(width: int, parts: int) -> nn.Sequential:
    """From a modulation behind its SiLU, which all layers share, to ``parts`` of ``width``; named as layer 1."""
    return nn.Sequential(nn.Identity(), nn.Linear(width, parts * width))
