"""MAR's transformer: from a class and the tokens that are there to a condition for every token that is not.

Li et al., "Autoregressive image generation without vector quantization", arXiv 2406.11838, with the names of the
official checkpoints. An encoder sees the class, as often as there is room in a buffer, and the tokens that are there;
a decoder sees what it makes of them, and a mask token at every other place. Attention is bidirectional and any order
of places will do, so that nothing of one prefix serves another: prefixes are rows of a batch.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from simlab.checks import check_at_least, check_shape
from simlab.continuous.networks.mar.head import Head

EPSILON = 1e-6  # of layer norms
WIDER = 4  # than the model are its feed-forward layers
EMBEDDINGS = ("_pos_embed_", "class_emb", "fake_latent", "mask_token", "time_embed")
IDLE = ("adaLN_modulation", "final_layer")  # what is 0 before training


@dataclass(frozen=True)
class MarConfig:
    """Sizes of a MAR. Raises ``ValueError`` for sizes that do not fit together."""

    shape: tuple[int, int]  # (rows, columns) of tokens
    token_dim: int
    dim: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    head_width: int
    head_layers: int
    buffer: int = 64  # copies of the class before the tokens
    classes: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", check_shape(self.shape))
        for name in ("token_dim", "dim", "heads", "decoder_layers", "head_width", "head_layers", "buffer", "classes"):
            check_at_least(name, getattr(self, name), 1)
        check_at_least("encoder_layers", self.encoder_layers, 0)
        if self.dim % self.heads:
            raise ValueError(f"dim is {self.dim} and heads {self.heads}; expected a dim divisible by heads")

    @property
    def length(self) -> int:
        """Tokens of an image."""
        return self.shape[0] * self.shape[1]


class Mar(nn.Module):
    """The transformer and, as ``diffloss.net``, the diffusion head of a token."""

    def __init__(self, config: MarConfig) -> None:
        super().__init__()
        self.config = config
        places, dim = config.buffer + config.length, config.dim
        self.class_emb = nn.Embedding(config.classes, dim)
        self.fake_latent = nn.Parameter(torch.zeros(1, dim))  # stands for no class
        self.z_proj = nn.Linear(config.token_dim, dim)
        self.z_proj_ln = nn.LayerNorm(dim, EPSILON)
        self.encoder_pos_embed_learned = nn.Parameter(torch.zeros(1, places, dim))
        self.encoder_blocks = nn.ModuleList(Block(dim, config.heads) for _ in range(config.encoder_layers))
        self.encoder_norm = nn.LayerNorm(dim, EPSILON)
        self.decoder_embed = nn.Linear(dim, dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.decoder_pos_embed_learned = nn.Parameter(torch.zeros(1, places, dim))
        self.decoder_blocks = nn.ModuleList(Block(dim, config.heads) for _ in range(config.decoder_layers))
        self.decoder_norm = nn.LayerNorm(dim, EPSILON)
        self.diffusion_pos_embed_learned = nn.Parameter(torch.zeros(1, config.length, dim))
        self.diffloss = nn.ModuleDict({"net": Head(config.token_dim, dim, config.head_width, config.head_layers)})

    @property
    def head(self) -> Head:
        """The diffusion head: from a noisy token, its step and its condition to noise and shares of the variance."""
        head = self.diffloss["net"]
        assert isinstance(head, Head)
        return head

    def forward(
        self,
        classes: Tensor,
        tokens: Tensor,
        places: Tensor,
        known: Tensor | None = None,
        asked: Tensor | None = None,
    ) -> Tensor:
        """The conditions of places.

        Returns ``[B, m, dim]``, or ``[B, N, dim]`` by place; that of a place which is known means nothing.

        Parameters
        ----------
        classes
            ``int[B]``; ``config.classes`` is no class.
        tokens, places
            ``[B, n, token_dim]`` and ``int[B, n]``: tokens and where in the image they stand, in raster order from 0.
        known
            ``int[B]``: how many of them are there, from the first on; without it, all. What stands behind is filling,
            at places of its own.
        asked
            ``int[B, m]``: the places whose conditions are asked for; all of them by default.
        """
        rows, buffer = len(tokens), self.config.buffer
        inputs = torch.cat([self.embedded(classes)[:, None].expand(-1, buffer, -1), self.z_proj(tokens)], dim=1)
        everywhere = torch.cat([torch.arange(buffer, device=places.device).expand(rows, -1), places + buffer], dim=1)
        inputs = self.z_proj_ln(inputs + self.encoder_pos_embed_learned[0][everywhere])
        there = None
        if known is not None:
            there = torch.arange(inputs.shape[1], device=known.device) < known[:, None] + buffer
        for block in self.encoder_blocks:
            inputs = block(inputs, None if there is None else there[:, None, None])
        made = self.decoder_embed(self.encoder_norm(inputs))

        # back to their places, and mask tokens where nothing is known
        if there is not None:
            made = torch.where(there[..., None], made, self.mask_token)
        spread = self.mask_token.to(made.dtype).expand(rows, buffer + self.config.length, -1)
        inputs = spread.scatter(1, everywhere[..., None].expand_as(made), made) + self.decoder_pos_embed_learned
        if asked is None:
            asked = torch.arange(self.config.length, device=places.device).expand(rows, -1)
        for index, block in enumerate(self.decoder_blocks, 1):
            inputs = block(inputs, None, asked + buffer if index == len(self.decoder_blocks) else None)
        found: Tensor = self.decoder_norm(inputs) + self.diffusion_pos_embed_learned[0][asked]
        return found

    def embedded(self, classes: Tensor) -> Tensor:
        """``[B, dim]`` of classes ``int[B]``, the last of which is none."""
        return torch.cat([self.class_emb.weight, self.fake_latent])[classes]

    def initialise(self, generator: torch.Generator) -> None:
        """Xavier's uniform weights, embeddings of standard deviation 0.02; the head starts as if without its layers."""
        gains = {id(module.weight) for module in self.modules() if isinstance(module, nn.LayerNorm)}
        with torch.no_grad():
            for name, weights in self.named_parameters():
                if id(weights) in gains:
                    weights.fill_(1.0)
                elif weights.ndim == 1 or any(part in name for part in IDLE):
                    weights.zero_()
                elif any(part in name for part in EMBEDDINGS):
                    weights.normal_(0.0, 0.02, generator=generator)
                else:
                    nn.init.xavier_uniform_(weights, generator=generator)


class Block(nn.Module):
    """A layer of a vision transformer: norms before attention and the feed-forward layer."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, EPSILON)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, EPSILON)
        wide, narrow = nn.Linear(dim, WIDER * dim), nn.Linear(WIDER * dim, dim)
        self.mlp = nn.Sequential(OrderedDict(fc1=wide, gelu=nn.GELU(), fc2=narrow))

    def forward(self, inputs: Tensor, mask: Tensor | None, asked: Tensor | None = None) -> Tensor:
        """``[B, L, dim]`` of as many inputs, or ``[B, m, dim]``: of the places ``asked[B, m]`` alone."""
        seen = self.attn(self.norm1(inputs), mask, asked)
        inputs = (inputs if asked is None else taken(inputs, asked)) + seen
        changed: Tensor = inputs + self.mlp(self.norm2(inputs))
        return changed


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, inputs: Tensor, mask: Tensor | None, asked: Tensor | None) -> Tensor:
        query, key, value = self.qkv(inputs).chunk(3, dim=-1)
        query = query if asked is None else taken(query, asked)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, key, value))
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed: Tensor = self.proj(seen.transpose(1, 2).flatten(2))
        return mixed


def taken(inputs: Tensor, places: Tensor) -> Tensor:
    """``[B, m, dim]``: what stands at ``places[B, m]`` of ``inputs[B, L, dim]``."""
    return inputs.gather(1, places[..., None].expand(-1, -1, inputs.shape[-1]))
