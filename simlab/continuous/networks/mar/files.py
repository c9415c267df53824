"""Checkpoints of MAR as they were published, or converted to safetensors: the transformer with its head, and KL-16.

``checkpoint-last.pth`` holds the weights as trained, ``model``, and their running average, ``model_ema``, which
samplers use; ``kl16.ckpt`` those of the autoencoder, ``model``. The tensors tell every size but the number of heads,
which the published sizes have by their depth and width.

Source: ``models/mar.py``, ``models/diffloss.py``, ``models/vae.py`` and ``util/misc.py`` of github.com/LTH14/mar at
fe470ac.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from safetensors.torch import save
from torch import Tensor

from simlab.checks import check_choice
from simlab.continuous.networks.mar.kl16 import Kl16, KlConfig
from simlab.continuous.networks.mar.trunk import Mar, MarConfig
from simlab.models.adapters.vqgan import published
from simlab.models.checkpoints import CheckpointError, fill, read_weights

AVERAGED, AUTOENCODER = ("model_ema",), ("model",)  # where the two files keep what is used
TRAINED_WITH = "loss."  # networks of the autoencoder's training
CLASSES, ENCODER = "class_emb.weight", "encoder.conv_in.weight"  # what tells the two kinds apart

M = TypeVar("M", Mar, Kl16)


class Size(NamedTuple):
    """Of a published model; ``guidance`` is the scale that its scores were measured with."""

    dim: int
    layers: int
    heads: int
    head_layers: int
    head_width: int
    guidance: float


SIZES = {
    "B": Size(768, 12, 12, 6, 1024, 2.9),
    "L": Size(1024, 16, 16, 8, 1280, 3.0),
    "H": Size(1280, 20, 16, 12, 1536, 3.2),
}


def official(name: str) -> MarConfig:
    """The sizes of a published model: 256 tokens of 16 numbers, 1000 classes.

    ``name``: ``"B"``, ``"L"`` or ``"H"``. Returns its sizes. Raises ``ValueError`` for another name. See Li et al.,
    arXiv 2406.11838, section 4 and appendix.
    """
    check_choice("name", name, tuple(SIZES))
    size = SIZES[name]
    return MarConfig((16, 16), 16, size.dim, size.heads, size.layers, size.layers, size.head_width, size.head_layers)


def load_mar(
    path: Path,
    heads: int | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    part: str = "",
) -> Mar:
    """The transformer and the diffusion head of a checkpoint.

    Returns a Mar in evaluation mode, its weights frozen. Raises ``CheckpointError`` for a file that is no such model:
    another format, keys that are missing, unexpected or of another shape, each by its name, or NaN. Raises
    ``ValueError`` for ``heads`` below 1.

    Parameters
    ----------
    path
        ``checkpoint-last.pth``, of which the running average is taken, or what :func:`converted` made of it.
    heads
        For a model that has none of the published sizes.
    dtype, device
        Of the weights.
    part
        What the names of its tensors begin with, where it is a part of another model: ``"mar."`` in Harmon's files.
    """
    read = _read(path, AVERAGED)
    weights = {name.removeprefix(part): tensor for name, tensor in read.items() if name.startswith(part)}
    return _filled(Mar, described(weights, path, heads), weights, path, dtype, device)


def load_kl16(path: Path, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> Kl16:
    """The autoencoder of a checkpoint.

    ``path``: ``kl16.ckpt``, or what :func:`converted` made of it. ``dtype``, ``device``: of the weights. Returns a Kl16
    in evaluation mode, its weights frozen. Raises ``CheckpointError`` for a file that is no such autoencoder, as
    :func:`load_mar`.
    """
    read = _read(path, AUTOENCODER)
    weights = {name: tensor for name, tensor in read.items() if not name.startswith(TRAINED_WITH)}
    config = described_autoencoder(weights, path)
    return _filled(Kl16, config, weights, path, dtype, device, partial(published, levels=len(config.multiples)))


def converted(path: Path, heads: int | None = None) -> bytes:
    """The safetensors file of a published checkpoint of either kind, by the same names and in the same precision.

    ``path``: ``checkpoint-last.pth`` or ``kl16.ckpt``. No pickle is executed. ``heads``: for a transformer that has
    none of the published sizes. Returns bytes with the kind, ``mar`` or ``kl16``, and its sizes as metadata. Raises
    ``CheckpointError`` as :func:`load_mar` and :func:`load_kl16`. Raises ``ValueError`` for ``heads`` below 1.
    """
    weights = _read(path, AVERAGED + AUTOENCODER)
    dtype = next((tensor.dtype for tensor in weights.values()), torch.float32)
    model: Mar | Kl16
    if ENCODER in weights:
        model, kind = load_kl16(path, dtype), "kl16"
        named: Callable[[str], str] = partial(published, levels=len(model.config.multiples))
    else:
        model, kind, named = load_mar(path, heads, dtype), "mar", str
    plain = {named(name): tensor.contiguous() for name, tensor in model.state_dict().items()}
    return save(plain, {"kind": kind, "config": json.dumps(asdict(model.config))})


# sizes ------------------------------------------------------------------------------------------------------------


def described(weights: Mapping[str, Tensor], path: Path, heads: int | None = None) -> MarConfig:
    """The sizes that the tensors of a transformer have; its heads by the published size they are of, unless told."""
    shape = partial(_shape, weights, path=path, kind="a MAR")
    classes, dim = shape(CLASSES, 2)
    _, length, _ = shape("diffusion_pos_embed_learned", 3)
    _, places, _ = shape("encoder_pos_embed_learned", 3)
    head_width, token_dim = shape("diffloss.net.input_proj.weight", 2)
    layers, decoder_layers, head_layers = (
        _count(weights, stem) for stem in ("encoder_blocks", "decoder_blocks", "diffloss.net.res_blocks")
    )
    if isqrt(length) ** 2 != length:
        raise CheckpointError(f"{path}: has {length} places of tokens; expected a square of them")
    try:
        return MarConfig(
            shape=(isqrt(length), isqrt(length)),
            token_dim=token_dim,
            dim=dim,
            heads=_known_heads(layers, dim) if heads is None else heads,
            encoder_layers=layers,
            decoder_layers=decoder_layers,
            head_width=head_width,
            head_layers=head_layers,
            buffer=places - length,
            classes=classes,
        )
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from None


def described_autoencoder(weights: Mapping[str, Tensor], path: Path) -> KlConfig:
    """The sizes that the tensors of an autoencoder have."""
    shape = partial(_shape, weights, path=path, kind="KL-16")
    width = shape(ENCODER, 4)[0]
    levels = _count(weights, "encoder.down")
    widths = [shape(f"encoder.down.{level}.block.0.conv1.weight", 4)[0] for level in range(levels)]
    latent = shape("post_quant_conv.weight", 4)[0]
    try:
        return KlConfig(width, tuple(size // width for size in widths), latent, _count(weights, "encoder.down.0.block"))
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from None


def _read(path: Path, inside: tuple[str, ...]) -> dict[str, Tensor]:
    """Training keeps its arguments in the file too: a plain record, which is read as such."""
    with torch.serialization.safe_globals([Namespace]):
        return read_weights(path, inside)


def _filled(
    kind: Callable[[Any], M],
    config: MarConfig | KlConfig,
    weights: Mapping[str, Tensor],
    path: Path,
    dtype: torch.dtype,
    device: torch.device | str,
    named: Callable[[str], str] = str,
) -> M:
    with torch.device("meta"):
        model = kind(config)
    model = model.to(dtype).to_empty(device=device)
    fill(model, weights, path, named=named)
    return model.eval().requires_grad_(False)


def _shape(weights: Mapping[str, Tensor], name: str, dimensions: int, path: Path, kind: str) -> tuple[int, ...]:
    if name not in weights:
        raise CheckpointError(f"{path}: is missing {name}; expected the keys of {kind}")
    if weights[name].ndim != dimensions:
        raise CheckpointError(
            f"{path}: {name} has the shape {tuple(weights[name].shape)}; expected {dimensions} dimensions"
        )
    return tuple(weights[name].shape)


def _count(weights: Mapping[str, Tensor], stem: str) -> int:
    """How many numbers follow ``stem`` in names."""
    return len({name[len(stem) + 1 :].split(".")[0] for name in weights if name.startswith(f"{stem}.")})


def _known_heads(layers: int, dim: int) -> int:
    """The heads of the published model of that size."""
    for size in SIZES.values():
        if (layers, dim) == (size.layers, size.dim):
            return size.heads
    known = ", ".join(f"{name} ({size.layers} x {size.dim})" for name, size in SIZES.items())
    raise ValueError(f"heads is None for {layers} layers of width {dim}; expected heads, or one of {known}")
