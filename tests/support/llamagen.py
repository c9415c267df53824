"""Tiny checkpoints in LlamaGen's official format: its names, shapes and nesting, written down without the loaders."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from simlab.models.architectures.vq16 import VqConfig
from tests.support.layers import Layers, drawn

Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, Tensor]

LAYERS, DIM, HEADS, HIDDEN, V, SHAPE = 2, 16, 2, 256, 11, (3, 4)
CLASSES, TEXT_TOKENS, TEXT_DIM = 4, 5, 6
CODES, CODE_DIM, WIDTH, MULTIPLES, LATENT, BLOCKS = 11, 3, 4, (1, 2, 2), 6, 2  # of the tiny tokenizer
TOKENIZER = VqConfig(CODES, CODE_DIM, WIDTH, MULTIPLES, LATENT, BLOCKS, groups=2)


def gpt_shapes(condition: str, layers: int = LAYERS, dim: int = DIM, hidden: int = HIDDEN, codes: int = V) -> Shapes:
    official = dim != DIM
    shapes: Shapes = {"tok_embeddings.weight": (codes, dim), "norm.weight": (dim,), "output.weight": (codes, dim)}
    if condition == "class":
        shapes["cls_embedding.embedding_table.weight"] = (1001 if official else CLASSES + 1, dim)
    else:
        tokens, width = (120, 2048) if official else (TEXT_TOKENS, TEXT_DIM)
        shapes["cls_embedding.cap_proj.fc1.weight"] = (dim, width)
        shapes["cls_embedding.cap_proj.fc2.weight"] = (dim, dim)
        shapes["cls_embedding.uncond_embedding"] = (tokens, width)
    for index in range(layers):
        layer = f"layers.{index}."
        shapes[layer + "attention.wqkv.weight"] = (3 * dim, dim)
        shapes[layer + "attention.wo.weight"] = (dim, dim)
        shapes[layer + "feed_forward.w1.weight"] = shapes[layer + "feed_forward.w3.weight"] = (hidden, dim)
        shapes[layer + "feed_forward.w2.weight"] = (dim, hidden)
        shapes[layer + "attention_norm.weight"] = shapes[layer + "ffn_norm.weight"] = (dim,)
    return shapes


def vq_shapes(
    codes: int = CODES,
    dim: int = CODE_DIM,
    width: int = WIDTH,
    multiples: tuple[int, ...] = MULTIPLES,
    latent: int = LATENT,
    blocks: int = BLOCKS,
) -> Shapes:
    shapes = Layers({"quantize.embedding.weight": (codes, dim)})
    widths = [multiple * width for multiple in multiples]
    shapes.autoencoder(widths, blocks, latent, latent, ("encoder", "decoder"), numbered=True)
    shapes.convolution("quant_conv", latent, dim, 1)
    shapes.convolution("post_quant_conv", dim, latent, 1)
    return shapes


def gpt_weights(condition: str, seed: int = 1) -> Weights:
    return drawn(gpt_shapes(condition), seed, 0.4, torch.float64)


def vq_weights(seed: int = 1) -> Weights:
    return drawn(vq_shapes(), seed, 0.4, torch.float64) | {"quantize.codebook_used": torch.zeros(65_536)}


def saved(weights: Weights, path: Path, nested: str | None = "model") -> Path:
    """The file as the official scripts write it."""
    torch.save({nested: weights} if nested else weights, path)
    return path
