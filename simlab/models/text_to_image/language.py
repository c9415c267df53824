"""Images by language models: Lumina-mGPT, Anole and Emu3, with the prompts and settings of their own code.

Sources: ``lumina_mgpt/{inference_solver,data/item_processor,data/convertsation}.py`` of
github.com/Alpha-VLLM/Lumina-mGPT at 104abe4 (guidance 3, top-k 2000: the defaults of ``create_logits_processor``);
``text2image.py`` and ``chameleon/inference/chameleon.py`` of github.com/GAIR-NLP/anole at af563fa (``Options.Image``;
without an image in the prompt, two of its three kinds of rows are one); ``image_generation.py`` and
``emu3/mllm/processing_emu3.py`` of github.com/baaivision/Emu3 at f6ea9aa.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from simlab.models.adapters import chameleon, emu3
from simlab.models.adapters.codes import chameleon_codes, emu3_codes
from simlab.models.adapters.emu3_tokenizer import load_emu3_tokenizer
from simlab.models.adapters.grammars import ANOLE_SIDE, EMU3_SIDE, LUMINA_GRID, Layout
from simlab.models.adapters.hugging_face import HuggingFace, padded
from simlab.models.adapters.vqgan import load_vqgan
from simlab.models.checkpoints import CheckpointError
from simlab.models.process.sampling import Sampling
from simlab.models.text_to_image.base import Prepared, Preset, Size, sides
from simlab.models.text_to_image.words import read_byte_pairs, read_words

LUMINA, ANOLE, EMU3 = Preset(3.0, top_k=2000), Preset(3.0, 0.7, top_p=0.9), Preset(3.0, top_k=2048)
LUMINA_SIDE, LUMINA_PATCH = 768, 32  # pixels a side; of what a size token counts
LUMINA_REQUEST = "Generate an image of {width}x{height} according to the following prompt:\n{prompt}"
CHAMELEON_PIXELS, EMU3_PIXELS = 16, 8  # a side of a token
START, TURN, BEGIN, END = "<s>", "<reserved08706>", "<racm3:break>", "<eoss>"  # names of Chameleon's tokens
LINE, COUNT = "<reserved08799>", "<reserved{:05d}>"
COUNTED_FROM = 8800  # the number in the name of a size token of 0
EMU3_GOOD = " masterpiece, film grained, best quality."
EMU3_BAD = (
    "lowres, bad anatomy, bad hands, text, error, missing fingers, extra digit, fewer digits, cropped, worst quality, "
    "low quality, normal quality, jpeg artifacts, signature, watermark, username, blurry."
)


class Pixels(Protocol):
    """An image tokenizer."""

    @property
    def codebook(self) -> Tensor:
        """``[n, d]``, by entry."""
        ...

    def decode(self, tokens: Tensor, shape: tuple[int, int]) -> Tensor:
        """``[B, 3, H, W]`` from 0 to 1, of entries ``int[B, N]`` on a grid."""
        ...


class Writer:
    """A language model that writes images, with the ids that a prompt becomes and the tokenizer of its images.

    Raises :class:`CheckpointError` for a tokenizer of images that has not all codes that are written.
    """

    def __init__(
        self, model: HuggingFace, token_ids: Callable[[str], list[int]], images: Pixels, preset: Preset
    ) -> None:
        self.model, self.token_ids, self.images, self.preset = model, token_ids, images, preset
        self.layout = model.layout
        codes, most = len(images.codebook), int(model.entries.max())
        if most >= codes:
            raise CheckpointError(
                f"the image tokenizer has {codes} codes; expected at least {most + 1}, which are written"
            )

    @cached_property
    def codebook(self) -> np.ndarray:
        return self.model.codebook(self.images.codebook.detach().cpu().double().numpy())

    def sampling(self, preset: Preset) -> Sampling:
        scales = self.layout.guidance(preset.guidance)
        return Sampling(scales, preset.temperature, preset.top_k, preset.top_p, self.layout.grammar())

    def prepare(self, prompts: Sequence[str]) -> Prepared:
        ids = [self.token_ids(prompt) for prompt in prompts]
        null = self.model.unconditional
        length = max(map(len, [*ids, null]))
        model = HuggingFace(self.model.model, self.layout, length, null, codes=self.model.codes)
        return Prepared(model, padded(ids, length).to(model.ids.device), None)

    def pixels(self, tokens: Tensor) -> Tensor:
        entries = torch.as_tensor(self.model.entries, device=tokens.device)
        places = torch.as_tensor(self.layout.places.ravel(), device=tokens.device)
        return self.images.decode(entries[tokens[:, places]], (self.layout.rows, self.layout.columns))


def load_lumina(folder: Path, size: Size, dtype: torch.dtype, device: torch.device | str) -> Writer:
    """A Lumina-mGPT of a folder, with ``vqgan.ckpt`` in it (see :func:`load_vqgan`); sides are multiples of 32."""
    height, width = sides(size, LUMINA_SIDE, LUMINA_PATCH)
    ids, words = Ids(chameleon.vocabulary(folder), folder), read_words(chameleon.tokenizer_file(folder))
    layout = lumina_layout(ids, height // LUMINA_PATCH, width // LUMINA_PATCH)

    def token_ids(prompt: str) -> list[int]:
        text = LUMINA_REQUEST.format(width=width, height=height, prompt=prompt) + TURN
        return [ids(START), *words(text), *layout.header]

    model = chameleon.load_chameleon(folder, layout, len(layout.header), dtype=dtype).to(device)
    return Writer(model, token_ids, load_vqgan(folder, device=device), LUMINA)


def load_anole(folder: Path, size: Size, dtype: torch.dtype, device: torch.device | str) -> Writer:
    """An Anole of a folder; its images have one size, 512 pixels a side."""
    side = ANOLE_SIDE * CHAMELEON_PIXELS
    if sides(size, side, CHAMELEON_PIXELS) != (side, side):
        raise ValueError(f"size is {size}; expected {side} pixels, the one that Anole draws")
    ids, words = Ids(chameleon.vocabulary(folder), folder), read_words(chameleon.tokenizer_file(folder))
    layout = anole_layout(ids)

    def token_ids(prompt: str) -> list[int]:
        return [ids(START), *words(prompt), ids(TURN), *layout.header]

    model = chameleon.load_chameleon(folder, layout, len(layout.null or ()), dtype=dtype).to(device)
    return Writer(model, token_ids, load_vqgan(folder, device=device), ANOLE)


def load_emu3(folder: Path, size: Size, dtype: torch.dtype, device: torch.device | str) -> Writer:
    """An Emu3 of a folder, its image tokenizer beside it or in ``Emu3-VisionTokenizer``; sides are multiples of 8."""
    rows, columns = (side // EMU3_PIXELS for side in sides(size, EMU3_SIDE * EMU3_PIXELS, EMU3_PIXELS))
    ids, own = Ids(emu3.vocabulary(folder), folder), (folder / emu3.PAIRS).is_file()
    words = read_byte_pairs(emu3.byte_pairs(folder)) if own else read_words(folder / "tokenizer.json")
    layout = emu3_layout(ids, rows, columns)

    def token_ids(prompt: str) -> list[int]:
        size = [ids("<|image start|>"), *words(f"{rows}*{columns}"), ids("<|image token|>")]
        return [ids("<|extra_203|>"), *words(prompt), *size]

    null = token_ids(EMU3_BAD)
    model = emu3.load_emu3(folder, layout, len(null), null, dtype).to(device)
    images = load_emu3_tokenizer(folder, device=device)
    return Writer(model, lambda prompt: token_ids(prompt + EMU3_GOOD), images, EMU3)


# layouts by the names of a vocabulary ------------------------------------------------------------------------------


def lumina_layout(ids: Ids, high: int, wide: int) -> Layout:
    """Of Lumina-mGPT, for an image of so many patches of 32 pixels."""
    header = ids(BEGIN), *(ids(COUNT.format(COUNTED_FROM + side)) for side in (high, wide))
    rows, columns = high * LUMINA_GRID, wide * LUMINA_GRID
    return Layout(ids.image(chameleon_codes), rows, columns, ids(LINE), (ids(END), ids(TURN)), header)


def anole_layout(ids: Ids) -> Layout:
    """Of Anole, whose images have one size."""
    null = ids(START), ids(BEGIN)
    return Layout(ids.image(chameleon_codes), ANOLE_SIDE, ANOLE_SIDE, None, (ids(END),), null[1:], null)


def emu3_layout(ids: Ids, rows: int, columns: int) -> Layout:
    """Of Emu3, for an image of so many tokens."""
    end = ids("<|extra_201|>"), ids("<|image end|>"), ids("<|extra_204|>")
    return Layout(ids.image(emu3_codes), rows, columns, ids("<|extra_200|>"), end)


class Ids:
    """Ids by their names; raises :class:`CheckpointError` for a name that a vocabulary has not."""

    def __init__(self, names: Mapping[str, int], folder: Path) -> None:
        self.names, self.folder = names, folder

    def __call__(self, name: str) -> int:
        if name not in self.names:
            raise CheckpointError(f"{self.folder}: its vocabulary has no {name}; expected the names of this model")
        return int(self.names[name])

    def image(self, codes_of: Callable[[Mapping[str, int]], Mapping[int, int]]) -> range:
        """The ids of image tokens, which follow each other."""
        try:
            codes = codes_of(self.names)
        except ValueError as error:
            raise CheckpointError(f"{self.folder}: {error}") from None
        if not codes:
            raise CheckpointError(f"{self.folder}: its vocabulary names no image tokens; expected some")
        return range(min(codes), max(codes) + 1)
