"""Emu3's image tokenizer: a grid of codes of an eighth of a side, made into the first of four frames.

The network is the one in ``transformers``. Its own files (BAAI/Emu3-VisionTokenizer) have other names: attention is
made of convolutions of one pixel, and its norm is inside of it.

Source: ``emu3/tokenizer/modeling_emu3visionvq.py`` and ``image_processing_emu3visionvq.py`` (pixels from -1 to 1) of
github.com/baaivision/Emu3 at f6ea9aa.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from simlab.checks import line_or_grid
from simlab.models.adapters.hugging_face import IMAGE_TOKENIZER, config_of, configured, library, named
from simlab.models.checkpoints import CheckpointError, fill, read_folder

OWN, LIBRARY = "Emu3VisionVQ", "emu3"  # types of a model that hold one
FOLDERS = ("", "Emu3-VisionTokenizer")  # where it may be
SIZES = {"ch": "base_channels", "ch_mult": "channel_multiplier", "z_channels": "latent_channels"}
SHARED = (
    "codebook_size",
    "embed_dim",
    "out_channels",
    "temporal_downsample_factor",
    "num_res_blocks",
    "attn_resolutions",
)
RENAMED = (  # our patterns are theirs, one after the other
    (r"^(encoder|decoder)\.mid\.attn_1\.norm\.", r"\1.middle_block.attn_norm."),
    (r"^(encoder|decoder)\.mid\.", r"\1.middle_block."),
    (r"^encoder\.down\.", "encoder.down_block.down."),
    (r"^decoder\.up\.", "decoder.up_block.up."),
    (r"\.attn\.(\d+)\.norm\.", r".attn_norms.\1."),
    (r"(\.attn\.\d+|\.attn_1)\.([qkv])\.", r"\1.\2_proj."),
    (r"(\.attn\.\d+|\.attn_1)\.proj_out\.", r"\1.out_proj."),
)


class Emu3Tokenizer(nn.Module):
    """From codes to images, with the library's model inside."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    @property
    def codebook(self) -> Tensor:
        """``[n, dim]``: the codes."""
        codes: Tensor = self.model.quantize.embedding.weight
        return codes

    @torch.no_grad()
    def decode(self, tokens: Tensor, shape: tuple[int, int]) -> Tensor:
        """The images ``[B, 3, 8 rows, 8 columns]``, from 0 to 1, of entries ``int[B, N]`` on a grid ``shape``."""
        images: Tensor = self.model.decode(tokens.unflatten(1, line_or_grid(tokens.shape[1], shape)))
        return (images.clamp(-1, 1) + 1) / 2


def load_emu3_tokenizer(
    folder: Path, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> Emu3Tokenizer:
    """The image tokenizer of a folder.

    ``folder``: of Emu3-VisionTokenizer, or one that has it inside; or of an Emu3 in the layout of ``transformers``.
    ``dtype``, ``device``: of the weights. Returns an Emu3Tokenizer in evaluation mode, its weights frozen; tokens are
    entries of its codebook, not ids of a vocabulary. Raises ``CheckpointError`` for a folder that is missing or holds
    anything else, naming it. Raises ``ImportError`` where ``transformers`` is missing.
    """
    folder = next((folder / name for name in reversed(FOLDERS) if (folder / name / "config.json").is_file()), folder)
    described = config_of(folder, OWN, LIBRARY)
    weights = read_folder(folder)
    if described["model_type"] == OWN:
        sizes, weights = _sizes(described), from_own(weights)
    else:
        sizes = named(described, "vq_config", folder / "config.json", "the sizes of an image tokenizer")
        held = {name: tensor for name, tensor in weights.items() if name.startswith(IMAGE_TOKENIZER)}
        weights = {name.removeprefix("model.").removeprefix("vqmodel."): tensor for name, tensor in held.items()}
    config = configured("Emu3VQVAEConfig", sizes, folder / "config.json")
    config._attn_implementation = "sdpa"
    try:
        model = library().Emu3VQVAE(config)
    except Exception as error:  # whatever broken or hostile sizes make of the library
        raise CheckpointError(f"{folder}: {error}; expected the sizes of an image tokenizer") from None
    fill(model, weights, folder)
    return Emu3Tokenizer(model.eval().requires_grad_(False).to(device, dtype))


def from_own(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of its own layout by the names of ``transformers``; names it does not know are as they were."""

    def renamed(name: str) -> str:
        for pattern, other in RENAMED:
            name = re.sub(pattern, other, name)
        return name

    found = {renamed(name): tensor for name, tensor in weights.items()}
    flat = re.compile(r"(_proj)\.weight$")
    return {name: tensor.flatten(1) if flat.search(name) else tensor for name, tensor in found.items()}


def _sizes(described: Mapping[str, Any]) -> dict[str, Any]:
    """By the names of ``transformers``; attention is as wide as the lowest resolution."""
    sizes = {other: described[name] for name, other in SIZES.items() if name in described}
    sizes |= {name: described[name] for name in SHARED if name in described}
    if "ch" in described and described.get("ch_mult"):
        sizes["hidden_size"] = described["ch"] * described["ch_mult"][-1]
    return sizes
