"""The image tokenizer of Chameleon, Lumina-mGPT and Anole: ``vqgan.ckpt`` as Meta publishes it.

The network of :mod:`simlab.models.architectures.vq16` by the names of taming-transformers, where level 0 of the decoder
is the full resolution; the tensors tell every size.

Source: ``chameleon/inference/vqgan.py`` of github.com/facebookresearch/chameleon at dbbe47f, after
``taming/models/vqgan.py`` of github.com/CompVis/taming-transformers at 3ba01b2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from simlab.models.architectures.vq16 import Vq, VqConfig
from simlab.models.checkpoints import CheckpointError, count_of, filled, read_folder, read_weights, shape_of

FILE = "vqgan.ckpt"
PLACES = ("", "tokenizer", "chameleon/tokenizer", "ckpts/chameleon/tokenizer")  # of that file in a folder
NESTED = ("state_dict",)  # where it keeps the weights
BESIDE = "model.vqmodel."  # where a folder in the layout of transformers may hold them, if not without the decoder
TRAINED_WITH = "loss."  # networks of the training's loss
KIND = "Chameleon's image tokenizer"
MIDDLE = ("block_1", "attn_1", "block_2")
KINDS = {"res": "block"}


def load_vqgan(path: Path, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> Vq:
    """The image tokenizer of Chameleon's family.

    ``path``: ``vqgan.ckpt``, or a folder that holds it (in itself, ``tokenizer``, ``chameleon/tokenizer`` or
    ``ckpts/chameleon/tokenizer``), or in whose safetensors it stands with its decoder under ``model.vqmodel``.
    ``dtype``, ``device``: of the weights. Returns a Vq in evaluation mode, its weights frozen; tokens are entries of
    its codebook, not ids of a vocabulary. Raises ``CheckpointError`` for a file that is missing or holds anything else,
    naming it.
    """
    given = {name: t for name, t in _read(path).items() if not name.startswith(TRAINED_WITH)}
    config = _described(given, path)
    named = partial(published, levels=len(config.multiples))
    return filled(lambda: Vq(config), given, path, dtype, device, named=named)


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_dir():
        return read_weights(path, NESTED)
    file = next((path / place / FILE for place in PLACES if (path / place / FILE).is_file()), None)
    if file is not None:
        return read_weights(file, NESTED)
    weights = read_folder(path) if any(path.glob("model*.safetensors*")) else {}
    found = {name.removeprefix(BESIDE): tensor for name, tensor in weights.items() if name.startswith(BESIDE)}
    if not any(name.startswith("decoder.") for name in found):
        raise CheckpointError(f"{path}: holds no {FILE}, nor weights with {BESIDE}decoder; expected one of them")
    return found


def _described(weights: Mapping[str, Tensor], path: Path) -> VqConfig:
    """The sizes that the tensors have."""
    width, multiples, blocks = resolutions(weights, path, KIND)
    codes, dim = shape_of(weights, "quantize.embedding.weight", 2, path, KIND)
    latent = shape_of(weights, "encoder.conv_out.weight", 4, path, KIND)[0]
    attention = f"encoder.down.{len(multiples) - 1}.attn.0.norm.weight" in weights
    try:
        return VqConfig(codes, dim, width, multiples, latent, blocks, attention=attention, unit=False)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}; expected the sizes of {KIND}") from None


def resolutions(weights: Mapping[str, Tensor], path: Path, kind: str) -> tuple[int, tuple[int, ...], int]:
    """Channels at full resolution, their multiples at each, and the blocks there; by the names of taming-transformers.

    Raises :class:`CheckpointError` where a ``kind`` of network has none.
    """
    shape = partial(shape_of, weights, path=path, kind=kind)
    width, levels = shape("encoder.conv_in.weight", 4)[0], range(count_of(weights, "encoder.down"))
    channels = [shape(f"encoder.down.{level}.block.0.conv1.weight", 4)[0] for level in levels]
    multiples = tuple(count // max(1, width) for count in channels)  # of no channels there is no multiple
    return width, multiples, count_of(weights, "encoder.down.0.block")


def published(name: str, levels: int) -> str:
    """The name in taming-transformers, whose decoder counts from the full resolution."""

    def level(match: re.Match[str]) -> str:
        side, number, rest = match.groups()
        way, place = ("down", int(number)) if side == "encoder" else ("up", levels - 1 - int(number))
        kind, dot, more = rest.partition(".")
        return f"{side}.{way}.{place}.{KINDS.get(kind, kind)}{dot}{more}"

    name = re.sub(r"^(encoder|decoder)\.conv_blocks\.(\d+)\.(.*)", level, name)
    return re.sub(r"\.mid\.(\d)\.", lambda match: f".mid.{MIDDLE[int(match[1])]}.", name)
