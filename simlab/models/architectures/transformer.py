"""The transformer of LlamaGen, from its description.

Sun et al., "Autoregressive model beats diffusion: Llama for scalable image generation", arXiv 2406.06525: a Llama over
the tokens of an image in raster order, behind a condition of one class token or of text tokens. Pre-norm RMSNorm,
SwiGLU, no biases, untied output; rotary positions in two dimensions, of which the first half of the pairs turns with
the row and the second with the column. The models trained here are small ones of the same kind.

Attention is not called here but asked for: ``memory.attend(layer, q, k, v)``. :class:`Causal` sees the whole sequence
at once; :mod:`simlab.models.process.cache` keeps what was seen.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from simlab.checks import check_at_least, check_choice, check_shape

EPSILON = 1e-5  # of RMSNorm
BASE = 10_000.0  # of the rotary frequencies
MULTIPLE = 256  # that the width of a feed-forward layer is rounded up to
CONDITIONS = ("class", "text")


@dataclass(frozen=True)
class Config:
    """The size of a transformer. Raises ``ValueError`` for sizes that do not fit together.

    ``condition`` is ``class``: one token of ``classes`` and a null class behind them; or ``text``: ``text_tokens``
    vectors of ``text_dim`` numbers each, and a learned null text.
    """

    layers: int
    dim: int
    heads: int
    vocabulary: int
    shape: tuple[int, int]  # (rows, columns) of tokens
    condition: str = "class"
    classes: int = 1000
    text_tokens: int = 120
    text_dim: int = 2048
    multiple: int = MULTIPLE

    def __post_init__(self) -> None:
        for name in ("layers", "dim", "heads", "vocabulary", "classes", "text_tokens", "text_dim", "multiple"):
            check_at_least(name, getattr(self, name), 1)
        check_choice("condition", self.condition, CONDITIONS)
        object.__setattr__(self, "shape", check_shape(self.shape))
        if self.dim % (4 * self.heads):
            raise ValueError(f"dim is {self.dim} and heads {self.heads}; expected a dim divisible by 4 x heads")

    @property
    def length(self) -> int:
        """Tokens of an image."""
        return self.shape[0] * self.shape[1]

    @property
    def prefix(self) -> int:
        """Positions of the condition, T."""
        return 1 if self.condition == "class" else self.text_tokens

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads

    @property
    def hidden(self) -> int:
        """The width of a feed-forward layer: 8/3 of the model's, rounded up."""
        return -(-int(8 * self.dim / 3) // self.multiple) * self.multiple


class Memory(Protocol):
    """What attention sees: ``[B, heads, L, head_dim]`` each."""

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor: ...


class Causal:
    """The sequence itself: every position sees those before it and itself."""

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        # in float32: on a CPU the backward pass in bfloat16 takes four times as long
        with torch.autocast(query.device.type, enabled=False):
            q, k, v = at_least_single(query), at_least_single(key), at_least_single(value)
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True).type_as(query)


class Rotating(nn.Module):
    """A module whose rotary frequencies stay exact when its weights go to another precision, or from nowhere to a
    device."""

    config: Config
    frequencies: Tensor
    norm: Norm

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """To another device or precision; the frequencies only to the device."""
        exact = self.frequencies
        super()._apply(fn, recurse)
        place = self.norm.weight.device
        self.frequencies = (rotations(self.config) if exact.is_meta and place.type != "meta" else exact).to(place)
        return self

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Normal weights of standard deviation 0.02; the gains stay 1."""
        for weights in self.parameters():
            if weights.ndim > 1:
                weights.normal_(0.0, 0.02, generator=generator)


class Transformer(Rotating):
    """A LlamaGen transformer with the names of the official checkpoints."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.tok_embeddings = nn.Embedding(config.vocabulary, config.dim)
        self.cls_embedding = ClassEmbedding(config) if config.condition == "class" else TextEmbedding(config)
        self.layers = nn.ModuleList(Layer(config, index) for index in range(config.layers))
        self.norm = Norm(config.dim)
        self.output = nn.Linear(config.dim, config.vocabulary, bias=False)
        self.register_buffer("frequencies", rotations(config), persistent=False)

    def initialise(self, generator: torch.Generator) -> None:
        """The same, and the output 0."""
        super().initialise(generator)
        nn.init.zeros_(self.output.weight)

    def condition(self, given: Tensor) -> Tensor:
        """``[B, T, dim]`` from classes ``int[B]``, or text ``[B, T, text_dim]``."""
        condition: Tensor = self.cls_embedding(given)
        return condition

    def null(self, batch: int) -> Tensor:
        """No condition, as :meth:`condition` takes it."""
        nothing: Tensor = self.cls_embedding.null(batch)
        return nothing

    def embed(self, tokens: Tensor) -> Tensor:
        """``[B, L, dim]`` of tokens ``int[B, L]``."""
        embedded: Tensor = self.tok_embeddings(tokens)
        return embedded

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        """``[B, L, dim]`` after the last norm, of ``inputs[B, L, dim]`` at ``position[B, L]``, condition first."""
        turn = self.frequencies[position.clamp(0, len(self.frequencies) - 1)]
        for layer in self.layers:
            inputs = layer(inputs, turn, memory)
        seen: Tensor = self.norm(inputs)
        return seen

    def logits(self, features: Tensor) -> Tensor:
        """``[B, L, V]`` in float32 or better."""
        scores: Tensor = self.output(features)
        return at_least_single(scores)

    def forward(self, given: Tensor, tokens: Tensor) -> Tensor:
        """The logits ``[B, n + 1, V]`` of a whole sequence ``int[B, n]`` behind its condition."""
        return self.logits(self.whole(given, tokens))[:, self.config.prefix - 1 :]

    def whole(self, given: Tensor, tokens: Tensor) -> Tensor:
        """The features ``[B, T + n, dim]`` of a whole sequence ``int[B, n]`` behind its condition."""
        inputs = torch.cat([self.condition(given), self.embed(tokens)], dim=1)
        position = torch.arange(inputs.shape[1], device=inputs.device).expand(inputs.shape[:2])
        return self.features(inputs, position, Causal())


class Layer(nn.Module):
    def __init__(self, config: Config, index: int) -> None:
        super().__init__()
        self.attention = Attention(config, index)
        self.feed_forward = FeedForward(config)
        self.attention_norm = Norm(config.dim)
        self.ffn_norm = Norm(config.dim)

    def forward(self, inputs: Tensor, turn: Tensor, memory: Memory) -> Tensor:
        inputs = inputs + self.attention(self.attention_norm(inputs), turn, memory)
        changed: Tensor = inputs + self.feed_forward(self.ffn_norm(inputs))
        return changed


class Attention(nn.Module):
    def __init__(self, config: Config, index: int) -> None:
        super().__init__()
        self.index, self.heads = index, config.heads
        self.wqkv = nn.Linear(config.dim, 3 * config.dim, bias=False)
        self.wo = nn.Linear(config.dim, config.dim, bias=False)

    def forward(self, inputs: Tensor, turn: Tensor, memory: Memory) -> Tensor:
        both = 2 * self.heads  # queries and keys, which are turned together
        heads = self.wqkv(inputs).unflatten(-1, (3 * self.heads, -1)).transpose(1, 2)
        query, key = rotated(heads[:, :both], turn).chunk(2, dim=1)
        seen = memory.attend(self.index, query, key, heads[:, both:])
        mixed: Tensor = self.wo(seen.transpose(1, 2).flatten(2))
        return mixed


class FeedForward(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.w1 = nn.Linear(config.dim, config.hidden, bias=False)
        self.w2 = nn.Linear(config.hidden, config.dim, bias=False)
        self.w3 = nn.Linear(config.dim, config.hidden, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        changed: Tensor = self.w2(functional.silu(self.w1(inputs)) * self.w3(inputs))
        return changed


class Norm(nn.Module):
    """RMSNorm in float32 or better, rounded before its gains, as LlamaGen's is; torch's own rounds once, after them."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, inputs: Tensor) -> Tensor:
        wide = at_least_single(inputs)
        return functional.rms_norm(wide, wide.shape[-1:], eps=EPSILON).type_as(inputs) * self.weight


class ClassEmbedding(nn.Module):
    """A vector a class; the last row is no class."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embedding_table = nn.Embedding(config.classes + 1, config.dim)

    def forward(self, classes: Tensor) -> Tensor:
        return self.embedding_table(classes)[:, None]

    def null(self, batch: int) -> Tensor:
        return torch.full((batch,), self.embedding_table.num_embeddings - 1, device=self.embedding_table.weight.device)


class TextEmbedding(nn.Module):
    """Vectors of a text encoder through two layers; a learned text stands for none."""

    uncond_embedding: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        first, second = (nn.Linear(size, config.dim, bias=False) for size in (config.text_dim, config.dim))
        self.cap_proj = nn.Sequential(OrderedDict(fc1=first, gelu=nn.GELU("tanh"), fc2=second))
        self.register_buffer("uncond_embedding", torch.zeros(config.text_tokens, config.text_dim))

    def forward(self, text: Tensor) -> Tensor:
        projected: Tensor = self.cap_proj(text)
        return projected

    def null(self, batch: int) -> Tensor:
        return self.uncond_embedding.expand(batch, -1, -1)


WIDE = torch.float32, torch.float64


def at_least_single(values: Tensor) -> Tensor:
    """``values`` in float32, or in float64 if they are."""
    dtype = values.dtype
    return values if dtype in WIDE else values.to(torch.promote_types(dtype, torch.float32))


def rotations(config: Config) -> Tensor:
    """``[T + N, head_dim / 2, 2]``: cosine and sine for each pair of numbers of a head.

    0 at the positions of the condition, where queries and keys so become 0.
    """
    if torch.get_default_device().type == "meta":  # of a model that is nowhere; computing there loads torch's compiler
        return torch.empty(config.prefix + config.length, config.head_dim // 2, 2)
    quarter = config.head_dim // 4
    speeds = BASE ** (-torch.arange(quarter, dtype=torch.float32) / quarter)
    rows, columns = (torch.arange(side, dtype=torch.float32) for side in config.shape)
    angles = torch.cat(
        [
            torch.outer(rows, speeds)[:, None].expand(-1, len(columns), -1),
            torch.outer(columns, speeds)[None].expand(len(rows), -1, -1),
        ],
        dim=-1,
    ).flatten(0, 1)
    image = torch.stack([angles.cos(), angles.sin()], dim=-1)
    return torch.cat([torch.zeros(config.prefix, *image.shape[1:]), image])


def rotated(heads: Tensor, turn: Tensor) -> Tensor:
    """``heads[B, H, L, head_dim]`` with neighbouring numbers as pairs turned by ``turn[B, L, head_dim / 2, 2]``."""
    pairs = at_least_single(heads).unflatten(-1, (-1, 2))
    cosine, sine = turn[:, None, ..., 0], turn[:, None, ..., 1]
    first, second = pairs[..., 0], pairs[..., 1]
    turned = torch.stack([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
    return turned.flatten(-2).type_as(heads)
