"""LlamaGen's own checkpoints: Sun et al., arXiv 2406.06525, conditioned on a class or on a text.

The names in a file are those of :class:`simlab.models.architectures.transformer.Transformer`, and its tensors tell
every size but two: the heads, which follow from layers and width, and the grid of the image, which is for the caller to
say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from simlab.checks import check_at_least, check_choice, check_shape
from simlab.models.architectures.transformer import CONDITIONS, Config, Transformer
from simlab.models.checkpoints import CheckpointError, count_of, filled, known_heads, read_weights, shape_of


class Size(NamedTuple):
    """What distinguishes the published models; the width of their feed-forward layers follows."""

    layers: int
    dim: int
    heads: int


MODELS = {
    "B": Size(12, 768, 12),
    "L": Size(24, 1024, 16),
    "XL": Size(36, 1280, 20),
    "XXL": Size(48, 1536, 24),
    "3B": Size(24, 3200, 32),
}
VOCABULARY = 16_384  # codes of the tokenizer
FACTOR = 16  # pixels a side of a token
SIDES = (256, 384, 512)  # of the images, in pixels
NESTED = ("model", "module", "state_dict")  # where a .pt file may keep the weights
TEXT_GUIDANCE, TEXT_TOP_K = 7.5, 1000  # of the official sampler
COMPUTED = ("freqs_cis", "causal_mask")  # tables that a file may hold, and that are computed here

TOKENS = "tok_embeddings.weight"
CONDITION_KEYS = {"class": "cls_embedding.embedding_table.weight", "text": "cls_embedding.uncond_embedding"}


def official(name: str, size: int | Sequence[int], condition: str = "class") -> Config:
    """The configuration of a published model.

    ``name``: a key of ``MODELS``: ``B``, ``L``, ``XL``, ``XXL`` or ``3B``. ``size``: of the images, as
    :func:`token_grid` takes it. ``condition``: ``"class"`` or ``"text"``. Returns the sizes, with V = 16384. Raises
    ``ValueError`` for an unknown name, size or condition.
    """
    check_choice("name", name, tuple(MODELS))
    layers, dim, heads = MODELS[name]
    return Config(layers, dim, heads, VOCABULARY, token_grid(size), condition)


def load_gpt(
    path: Path,
    size: int | Sequence[int],
    condition: str = "class",
    heads: int | None = None,
    vocabulary: int = VOCABULARY,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Transformer:
    """The transformer of a LlamaGen checkpoint.

    ``path``: the file, as published or in safetensors. ``size``: of the images, as :func:`token_grid` takes it.
    ``condition``: ``"class"`` or ``"text"``. ``heads``: for a model that is none of ``MODELS``. ``vocabulary``: V, how
    many codes its tokenizer has. ``dtype``, ``device``: of the weights. Returns a Transformer in evaluation mode, its
    weights frozen. Raises ``CheckpointError`` where the file is no such model: another format, keys that are missing,
    unexpected, or of another shape, another condition, another vocabulary. Raises ``ValueError`` for an unknown size or
    condition, or a vocabulary below 1.
    """
    check_choice("condition", condition, CONDITIONS)
    check_at_least("vocabulary", vocabulary, 1)
    shape = token_grid(size)
    weights = read_weights(path, NESTED)
    config = described(weights, path, shape, condition, heads)
    if config.vocabulary != vocabulary:
        raise CheckpointError(f"{path}: has a vocabulary of {config.vocabulary}; expected {vocabulary}")
    return filled(lambda: Transformer(config), weights, path, dtype, device, ignored=COMPUTED)


def described(
    weights: Mapping[str, Tensor], path: Path, shape: tuple[int, int], condition: str, heads: int | None = None
) -> Config:
    """The configuration that the tensors of a file have."""
    table = partial(shape_of, weights, dimensions=2, path=path, kind="a LlamaGen transformer")
    vocabulary, dim = table(TOKENS)
    other = next(kind for kind in CONDITIONS if kind != condition)
    if CONDITION_KEYS[condition] not in weights and CONDITION_KEYS[other] in weights:
        raise CheckpointError(f"{path}: is conditioned on a {other}; expected a {condition}")
    rows, columns = table(CONDITION_KEYS[condition])
    layers = count_of(weights, "layers")
    try:
        sizes = layers, dim, known_heads(MODELS, layers, dim) if heads is None else heads, vocabulary, shape, condition
        if condition == "text":
            return Config(*sizes, text_tokens=rows, text_dim=columns)
        return Config(*sizes, classes=rows - 1)  # the last row is no class
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from None


def token_grid(size: int | Sequence[int]) -> tuple[int, int]:
    """The tokens of an image.

    ``size``: side of a square image in pixels, 256, 384 or 512; or (rows, columns) of tokens. Returns rows
    and columns, with 16 pixels a side of a token. Raises ``ValueError`` for any other size.
    """
    if not isinstance(size, int):
        return check_shape(size)
    if size not in SIDES:
        raise ValueError(f"size is {size}; expected one of {', '.join(map(str, SIDES))} pixels, or (rows, columns)")
    return size // FACTOR, size // FACTOR


# conditions and sampling ----------------------------------------------------------------------------------------


def left_padded(texts: Sequence[Tensor], config: Config) -> tuple[Tensor, Tensor]:
    """Vectors of texts, each behind zeros.

    ``texts``: ``float[n, text_dim]`` of the text encoder each, n from 1 to T. ``config``: of the transformer, T =
    ``text_tokens``. Raises ``ValueError`` for a text of another shape.

    Returns
    -------
    padded : torch.Tensor
        ``float[B, T, text_dim]``.
    visible : torch.Tensor
        ``bool[B, T]``, which positions are not padding.
    """
    for text in texts:
        if text.ndim != 2 or not 1 <= len(text) <= config.text_tokens or text.shape[1] != config.text_dim:
            raise ValueError(
                f"a text has the shape {tuple(text.shape)}; expected 1 to {config.text_tokens} vectors of "
                f"{config.text_dim}"
            )
    padded = torch.stack([functional.pad(text, (0, 0, config.text_tokens - len(text), 0)) for text in texts])
    lengths = torch.tensor([len(text) for text in texts], device=padded.device)
    positions = torch.arange(config.text_tokens, device=padded.device)
    return padded, positions >= config.text_tokens - lengths[:, None]
