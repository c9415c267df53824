"""Small checkpoints in the layout MAR was published in, and its formulas a second time: NumPy, one row at a time.

Names, shapes and nesting are those of ``checkpoint-last.pth`` and ``kl16.ckpt`` of github.com/LTH14/mar at fe470ac.
Nothing of the package's loaders or networks is used here.
"""

from __future__ import annotations

from math import cos, exp, log, pi, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import erf

from tests.support import layers
from tests.support.layers import Layers
from tests.support.vqgan import PlainVqgan

Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, np.ndarray]


class Sizes(NamedTuple):
    """Of a small MAR."""

    dim: int = 24
    depth: int = 2
    heads: int = 3
    classes: int = 5
    side: int = 4  # tokens
    token_dim: int = 4
    buffer: int = 3
    width: int = 20  # of the head
    layers: int = 3  # of the head
    mlp: int = 4

    @property
    def length(self) -> int:
        return self.side**2


SMALL = Sizes()


def mar_shapes(sizes: Sizes = SMALL) -> Shapes:
    """Of every tensor of the transformer and its diffusion head."""
    d, places = sizes.dim, sizes.length + sizes.buffer
    shapes = Layers(
        {
            "fake_latent": (1, d),
            "encoder_pos_embed_learned": (1, places, d),
            "mask_token": (1, 1, d),
            "decoder_pos_embed_learned": (1, places, d),
            "diffusion_pos_embed_learned": (1, sizes.length, d),
            "class_emb.weight": (sizes.classes, d),
        }
    )

    shapes.linear("z_proj", sizes.token_dim, d)
    shapes.norm("z_proj_ln", d)
    for side in ("encoder", "decoder"):
        for block in range(sizes.depth):
            name = f"{side}_blocks.{block}"
            shapes.norm(f"{name}.norm1", d)
            shapes.linear(f"{name}.attn.qkv", d, 3 * d)
            shapes.linear(f"{name}.attn.proj", d, d)
            shapes.norm(f"{name}.norm2", d)
            shapes.linear(f"{name}.mlp.fc1", d, sizes.mlp * d)
            shapes.linear(f"{name}.mlp.fc2", sizes.mlp * d, d)
        shapes.norm(f"{side}_norm", d)
    shapes.linear("decoder_embed", d, d)

    net, width = "diffloss.net", sizes.width
    shapes.linear(f"{net}.time_embed.mlp.0", 256, width)
    shapes.linear(f"{net}.time_embed.mlp.2", width, width)
    shapes.linear(f"{net}.cond_embed", d, width)
    shapes.linear(f"{net}.input_proj", sizes.token_dim, width)
    for block in range(sizes.layers):
        name = f"{net}.res_blocks.{block}"
        shapes.norm(f"{name}.in_ln", width)
        shapes.linear(f"{name}.mlp.0", width, width)
        shapes.linear(f"{name}.mlp.2", width, width)
        shapes.linear(f"{name}.adaLN_modulation.1", width, 3 * width)
    shapes.linear(f"{net}.final_layer.linear", width, 2 * sizes.token_dim)
    shapes.linear(f"{net}.final_layer.adaLN_modulation.1", width, 2 * width)
    return shapes


def drawn(shapes: Shapes, seed: int, spread: float = 0.3) -> Weights:
    return {name: tensor.numpy() for name, tensor in layers.drawn(shapes, seed, spread, torch.float64).items()}


def as_tensors(weights: Weights) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in weights.items()}


def write_mar(file: Path, sizes: Sizes = SMALL, seed: int = 0) -> Weights:
    """``checkpoint-last.pth``; the returned weights are the averaged ones, which samplers use."""
    shapes = mar_shapes(sizes)
    last, averaged = drawn(shapes, seed + 1), drawn(shapes, seed)
    torch.save({"model": as_tensors(last), "model_ema": as_tensors(averaged)}, file)
    return averaged


class PlainMar:
    """The network over its weights."""

    def __init__(self, weights: Weights, sizes: Sizes = SMALL) -> None:
        self.held, self.sizes = weights, sizes

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.held[f"{name}.weight"].T + self.held[f"{name}.bias"]

    def norm(self, name: str | None, x: np.ndarray) -> np.ndarray:
        away = x - x.mean(-1, keepdims=True)
        scaled = away / np.sqrt((away**2).mean(-1, keepdims=True) + 1e-6)
        return scaled if name is None else scaled * self.held[f"{name}.weight"] + self.held[f"{name}.bias"]

    def block(self, name: str, x: np.ndarray) -> np.ndarray:
        """``x[L, D]``: attention of every place to every place, head by head, then the perceptron."""
        heads, seen = self.sizes.heads, self.linear(f"{name}.attn.qkv", self.norm(f"{name}.norm1", x))
        query, key, value = (part.reshape(len(x), heads, -1) for part in np.split(seen, 3, axis=1))
        found = []
        for h in range(heads):
            scores = query[:, h] @ key[:, h].T / sqrt(query.shape[2])
            weights = np.exp(scores - scores.max(1, keepdims=True))
            found.append(weights / weights.sum(1, keepdims=True) @ value[:, h])
        x = x + self.linear(f"{name}.attn.proj", np.concatenate(found, axis=1))
        hidden = self.linear(f"{name}.mlp.fc1", self.norm(f"{name}.norm2", x))
        return x + self.linear(f"{name}.mlp.fc2", hidden * (1 + erf(hidden / sqrt(2))) / 2)

    def class_vector(self, label: int | None) -> np.ndarray:
        """``[D]``; without a label the vector of no class."""
        return self.held["fake_latent"][0] if label is None else self.held["class_emb.weight"][label]

    def trunk(self, tokens: np.ndarray, masked: np.ndarray, label: int | None) -> np.ndarray:
        """``[N, D]``: the condition of every place, from ``tokens[N, d]`` where ``masked[N]`` is not set."""
        sizes, buffer = self.sizes, self.sizes.buffer
        inputs = np.concatenate([np.tile(self.class_vector(label), (buffer, 1)), self.linear("z_proj", tokens)])
        inputs = self.norm("z_proj_ln", inputs + self.held["encoder_pos_embed_learned"][0])
        there = np.flatnonzero(np.concatenate([np.zeros(buffer, bool), masked]) == 0)
        x = inputs[there]
        for block in range(sizes.depth):
            x = self.block(f"encoder_blocks.{block}", x)
        x = self.linear("decoder_embed", self.norm("encoder_norm", x))
        whole = np.tile(self.held["mask_token"][0], (buffer + sizes.length, 1))
        whole[there] = x
        whole = whole + self.held["decoder_pos_embed_learned"][0]
        for block in range(sizes.depth):
            whole = self.block(f"decoder_blocks.{block}", whole)
        return self.norm("decoder_norm", whole)[buffer:] + self.held["diffusion_pos_embed_learned"][0]

    def head(self, x: np.ndarray, t: int, z: np.ndarray) -> np.ndarray:
        """``[2 d]``: the noise and the share of the variance, at step t of a thousand, from 0."""
        net = "diffloss.net"
        angles = [t * exp(-log(10_000) * k / 128) for k in range(128)]
        waves = np.array([cos(angle) for angle in angles] + [np.sin(angle) for angle in angles])
        time = self.linear(f"{net}.time_embed.mlp.2", silu(self.linear(f"{net}.time_embed.mlp.0", waves)))
        y = silu(time + self.linear(f"{net}.cond_embed", z))
        h = self.linear(f"{net}.input_proj", x)
        for block in range(self.sizes.layers):
            name = f"{net}.res_blocks.{block}"
            shift, scale, gate = np.split(self.linear(f"{name}.adaLN_modulation.1", y), 3)
            inner = self.norm(f"{name}.in_ln", h) * (1 + scale) + shift
            h = h + gate * self.linear(f"{name}.mlp.2", silu(self.linear(f"{name}.mlp.0", inner)))
        shift, scale = np.split(self.linear(f"{net}.final_layer.adaLN_modulation.1", y), 2)
        return self.linear(f"{net}.final_layer.linear", self.norm(None, h) * (1 + scale) + shift)

    def step(
        self, x: np.ndarray, t: int, z: np.ndarray, other: np.ndarray | None, scale: float, schedule: Schedule
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of kernel t, from 0 here; ``other`` is the condition of no class."""
        d, original = self.sizes.token_dim, schedule.original[t]
        predicted = self.head(x, original, z)
        noise = predicted[:d]
        if other is not None:
            without = self.head(x, original, other)[:d]
            noise = without + scale * (noise - without)
        alpha_bar, before, beta = schedule.alpha_bar[t], schedule.before(t), schedule.beta(t)
        clean = x / sqrt(alpha_bar) - sqrt(1 / alpha_bar - 1) * noise
        mean = beta * sqrt(before) / (1 - alpha_bar) * clean + (1 - before) * sqrt(1 - beta) / (1 - alpha_bar) * x
        share = (predicted[d:] + 1) / 2
        log_variance = share * log(beta) + (1 - share) * log(schedule.least(t))
        return mean, np.exp(log_variance / 2)


class Schedule:
    """The cosine schedule of a thousand steps, respaced."""

    def __init__(self, steps: int, trained: int = 1000) -> None:
        product, whole = 1.0, []
        for i in range(trained):
            start, end = (cos((k / trained + 0.008) / 1.008 * pi / 2) ** 2 for k in (i, i + 1))
            product *= 1 - min(1 - end / start, 0.999)
            whole.append(product)
        self.original = [round(i * (trained - 1) / (steps - 1)) for i in range(steps)]
        self.alpha_bar = [whole[i] for i in self.original]

    def before(self, t: int) -> float:
        return self.alpha_bar[t - 1] if t else 1.0

    def beta(self, t: int) -> float:
        return 1 - self.alpha_bar[t] / self.before(t)

    def least(self, t: int) -> float:
        """The variance given x_0 too; of the last step, where it is 0, that of the step before."""
        t = max(t, 1)
        return self.beta(t) * (1 - self.before(t)) / (1 - self.alpha_bar[t])


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


# the autoencoder --------------------------------------------------------------------------------------------------

WIDTH, MULTIPLES, BLOCKS, LATENT = 32, (1, 1, 2), 2, 4


def kl16_shapes() -> Shapes:
    """Of ``kl16.ckpt``: attention behind the encoder's lowest blocks and in both middles, none behind the decoder's."""
    shapes = Layers()
    shapes.autoencoder([WIDTH * multiple for multiple in MULTIPLES], BLOCKS, 2 * LATENT, LATENT, ("encoder",))
    shapes.convolution("quant_conv", 2 * LATENT, 2 * LATENT, 1)
    shapes.convolution("post_quant_conv", LATENT, LATENT, 1)
    return shapes


def write_kl16(file: Path, seed: int = 0) -> Weights:
    weights = drawn(kl16_shapes(), seed, spread=0.1)
    torch.save({"model": as_tensors(weights)}, file)
    return weights


class PlainKl16(PlainVqgan):
    """The autoencoder over its weights."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(as_tensors(weights))

    def encode(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and standard deviation ``[B, N, d]`` of the tokens of images ``[B, 3, H, W]`` from 0 to 1."""
        moments = self.conv("quant_conv", self.encoded(images)).flatten(2).transpose(1, 2)
        return 0.2325 * moments[..., :LATENT], 0.2325 * torch.exp(moments[..., LATENT:].clip(-30, 20) / 2)

    def decode(self, tokens: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
        return self.decoded(self.conv("post_quant_conv", (tokens / 0.2325).transpose(1, 2).unflatten(2, shape)))
