"""Models that draw texts, by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from simlab.checks import check_choice
from simlab.decoders import Decoder, make_decoder
from simlab.models.text_to_image.base import Drawn, Size, TextToImage, draw
from simlab.models.text_to_image.language import load_anole, load_emu3, load_lumina
from simlab.models.text_to_image.llamagen import load_llamagen
from simlab.rules import Rule, Speculative

KINDS: dict[str, Callable[[Path, Size, torch.dtype, torch.device | str], TextToImage]] = {
    "lumina": load_lumina,
    "anole": load_anole,
    "emu3": load_emu3,
    "llamagen-t2i": load_llamagen,
}
WINDOW = 32


def load(
    kind: str,
    folder: Path | str,
    size: Size = None,
    dtype: torch.dtype | None = None,
    device: torch.device | str = "cpu",
) -> TextToImage:
    """A model that draws texts, from its published files.

    Parameters
    ----------
    kind
        ``lumina``, ``anole``, ``emu3`` or ``llamagen-t2i``.
    folder
        Of the files, as they were published: the language model with its tokenizer, and ``vqgan.ckpt`` (Lumina-mGPT,
        Anole) or ``Emu3-VisionTokenizer`` in it; of LlamaGen ``t2i_*.pt``, ``vq_ds16_t2i.pt`` and ``flan-t5-xl``.
    size
        Of the images in pixels, a side or (height, width); the model's own, unless given.
    dtype
        Of the weights but those of image tokenizers; by default bfloat16 on a CUDA device, else float32.
    device
        Where the weights go.

    Returns
    -------
    TextToImage
        For :func:`draw`.

    Raises
    ------
    ValueError
        For an unknown kind, a size that the model does not draw, and, as
        :class:`~simlab.models.checkpoints.CheckpointError`, files that are missing or hold anything else.
    ImportError
        Where ``transformers`` is missing.
    """
    check_choice("kind", kind, tuple(KINDS))
    usual = torch.bfloat16 if torch.device(device).type == "cuda" else torch.float32
    return KINDS[kind](Path(folder), size, dtype or usual, device)


def text_to_image(
    kind: str,
    folder: Path | str,
    prompts: Sequence[str],
    decoder: Decoder | None = None,
    rule: Rule | None = None,
    seeds: int | Sequence[int] = 0,
    size: Size = None,
    dtype: torch.dtype | None = None,
    device: torch.device | str = "cpu",
    **more: Any,
) -> list[Drawn]:
    """Images of prompts, by a model of others with the settings of its own code.

    Parameters
    ----------
    kind, folder, size, dtype, device
        As for :func:`load`.
    prompts, seeds
        As for :func:`draw`.
    decoder, rule
        How tokens are decoded; SJD with adaptive continuation over 32 drafts and the rule of speculative sampling,
        which change no image's law, unless given.
    more
        ``preset``, ``batch``, ``cancelled`` and ``notify``, as for :func:`draw`.

    Returns
    -------
    list of Drawn
        In the order of the prompts.

    Raises
    ------
    ValueError, ImportError
        As :func:`load` and :func:`draw` do.
    """
    decoder, rule = decoder or make_decoder("sjd-ac", window=WINDOW), rule or Speculative()
    drawn = draw(load(kind, folder, size, dtype, device), prompts, decoder, rule, seeds, **more)
    return sorted(drawn, key=lambda each: each.prompt)
