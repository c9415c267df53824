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
from typing import NamedTuple

import torch
from safetensors.torch import save
from torch import Tensor

from simlab.continuous.networks.mar.kl16 import Kl16, KlConfig
from simlab.continuous.networks.mar.trunk import Mar, MarConfig
from simlab.models.adapters.vqgan import TRAINED_WITH, published, resolutions
from simlab.models.checkpoints import CheckpointError, count_of, filled, known_heads, read_weights, shape_of

AVERAGED, AUTOENCODER = ("model_ema",), ("model",)  # where the two files keep what is used
CLASSES, ENCODER = "class_emb.weight", "encoder.conv_in.weight"  # what tells the two kinds apart


class Size(NamedTuple):
    """Of a published model; ``guidance`` is the scale that its scores were measured with."""

    dim: int
    layers: int
    heads: int
    head_layers: int
    head_width: int
    guidance: float


SIZES = {  # 256 tokens of 16 numbers, 1000 classes; Li et al., arXiv 2406.11838, section 4 and appendix
    "B": Size(768, 12, 12, 6, 1024, 2.9),
    "L": Size(1024, 16, 16, 8, 1280, 3.0),
    "H": Size(1280, 20, 16, 12, 1536, 3.2),
}


def load_mar(
    path: Path,
    heads: int | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    part: str = "",
) -> Mar:
    """The transformer and the diffusion head of a checkpoint.

    ``path``: ``checkpoint-last.pth``, of which the running average is taken, or what :func:`converted` made of it.
    ``heads``: for a model that has none of the published sizes. ``dtype``, ``device``: of the weights. ``part``: what
    the names of its tensors begin with, where it is a part of another model: ``"mar."`` in Harmon's files. Returns a
    Mar in evaluation mode, its weights frozen. Raises ``CheckpointError`` for a file that is no such model: another
    format, keys that are missing, unexpected or of another shape, each by its name, or NaN. Raises ``ValueError`` for
    ``heads`` below 1.
    """
    read = _read(path, AVERAGED)
    weights = {name.removeprefix(part): tensor for name, tensor in read.items() if name.startswith(part)}
    config = described(weights, path, heads)
    return filled(lambda: Mar(config), weights, path, dtype, device)


def load_kl16(path: Path, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> Kl16:
    """The autoencoder of a checkpoint.

    ``path``: ``kl16.ckpt``, or what :func:`converted` made of it. ``dtype``, ``device``: of the weights. Returns a Kl16
    in evaluation mode, its weights frozen. Raises ``CheckpointError`` for a file that is no such autoencoder, as
    :func:`load_mar`.
    """
    read = _read(path, AUTOENCODER)
    weights = {name: tensor for name, tensor in read.items() if not name.startswith(TRAINED_WITH)}
    config = described_autoencoder(weights, path)
    named = partial(published, levels=len(config.multiples))
    return filled(lambda: Kl16(config), weights, path, dtype, device, named=named)


def converted(path: Path, heads: int | None = None) -> bytes:
    """The safetensors file of a published checkpoint of either kind, by the same names and in the same precision.

    ``path``: ``checkpoint-last.pth`` or ``kl16.ckpt``. No pickle is executed. ``heads``: for a transformer that has
    none of the published sizes. Returns bytes with the kind, ``mar`` or ``kl16``, and its sizes as metadata. Raises
    ``CheckpointError`` as :func:`load_mar` and :func:`load_kl16`. Raises ``ValueError`` for ``heads`` below 1.
    """
    weights = _read(path, AVERAGED + AUTOENCODER)
    wide = any(tensor.dtype == torch.float64 for tensor in weights.values())
    dtype = torch.float64 if wide else torch.float32  # to look at them: they stay as they are
    model: Mar | Kl16
    if ENCODER in weights:
        model, kind, weights = load_kl16(path, dtype), "kl16", _read(path, AUTOENCODER)
        named: Callable[[str], str] = partial(published, levels=len(model.config.multiples))
    else:
        model, kind, named = load_mar(path, heads, dtype), "mar", str
    names = [named(name) for name in model.state_dict()]
    plain = {name: weights[name].detach().clone(memory_format=torch.contiguous_format) for name in names}
    return save(plain, {"kind": kind, "config": json.dumps(asdict(model.config))})


# sizes ------------------------------------------------------------------------------------------------------------


def described(weights: Mapping[str, Tensor], path: Path, heads: int | None = None) -> MarConfig:
    """The sizes that the tensors of a transformer have; its heads by the published size they are of, unless told."""
    shape = partial(shape_of, weights, path=path, kind="a MAR")
    classes, dim = shape(CLASSES, 2)
    _, length, _ = shape("diffusion_pos_embed_learned", 3)
    _, places, _ = shape("encoder_pos_embed_learned", 3)
    head_width, token_dim = shape("diffloss.net.input_proj.weight", 2)
    layers, decoder_layers, head_layers = (
        count_of(weights, stem) for stem in ("encoder_blocks", "decoder_blocks", "diffloss.net.res_blocks")
    )
    if isqrt(length) ** 2 != length:
        raise CheckpointError(f"{path}: has {length} places of tokens; expected a square of them")
    try:
        return MarConfig(
            shape=(isqrt(length), isqrt(length)),
            token_dim=token_dim,
            dim=dim,
            heads=known_heads(SIZES, layers, dim) if heads is None else heads,
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
    width, multiples, blocks = resolutions(weights, path, "KL-16")
    latent = shape_of(weights, "post_quant_conv.weight", 4, path, "KL-16")[0]
    try:
        return KlConfig(width, multiples, latent, blocks)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from None


def _read(path: Path, inside: tuple[str, ...]) -> dict[str, Tensor]:
    """Training keeps its arguments in the file too: a plain record, which is read as such."""
    with torch.serialization.safe_globals([Namespace]):
        return read_weights(path, inside)
