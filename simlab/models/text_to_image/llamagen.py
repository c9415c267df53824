"""Images by LlamaGen from a text: vectors of flan-t5-xl, the transformer, and VQ-16.

Source: ``autoregressive/sample/sample_t2i.py`` and ``language/t5.py`` of github.com/FoundationVision/LlamaGen at
ce98ec4. Of what that does to a text only the last step is done here: small letters, without spaces at the ends. It
also takes out addresses, marks and signs, which a plain prompt has none of.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from simlab.models.adapters.hugging_face import library, quiet
from simlab.models.adapters.llamagen import FACTOR, TEXT_GUIDANCE, TEXT_TOP_K, left_padded, load_gpt
from simlab.models.architectures.transformer import Transformer
from simlab.models.architectures.vq16 import Vq, VqConfig, load_vq
from simlab.models.checkpoints import CheckpointError, first_line
from simlab.models.process.sampling import Sampling
from simlab.models.text_to_image.base import Prepared, Preset, Size, sides

PRESET = Preset(TEXT_GUIDANCE, top_k=TEXT_TOP_K)
SIDES = 512, 256  # whose files are looked for where no size is said
IMAGES = VqConfig()  # of the published tokenizer
GPT, VQ = "t2i_*_{side}.pt", "vq_ds16_t2i.pt"  # as the files are called
ENCODERS = "t5-ckpt/flan-t5-xl", "flan-t5-xl"  # folders of the text encoder


class LlamaGen:
    """A transformer behind texts, with the encoder of texts and the tokenizer of images."""

    preset = PRESET

    def __init__(self, model: Transformer, encoder: Any, words: Any, images: Vq) -> None:
        self.model, self.encoder, self.words, self.images = model, encoder, words, images

    @cached_property
    def codebook(self) -> np.ndarray:
        return self.images.codebook.detach().cpu().double().numpy()

    def sampling(self, preset: Preset) -> Sampling:
        """A scale of at most 1 is no guidance, as its own sampler has it."""
        return Sampling(max(preset.guidance, 1.0), preset.temperature, preset.top_k, preset.top_p)

    def prepare(self, prompts: Sequence[str]) -> Prepared:
        given, visible = left_padded([self._vectors(prompt) for prompt in prompts], self.model.config)
        return Prepared(self.model, given.to(self.model.output.weight.dtype), visible)

    def pixels(self, tokens: Tensor) -> Tensor:
        return self.images.decode(tokens, self.model.config.shape)

    def _vectors(self, prompt: str) -> Tensor:
        ids = self.words(
            prompt.lower().strip(), max_length=self.model.config.text_tokens, truncation=True, return_tensors="pt"
        )["input_ids"]
        vectors: Tensor = self.encoder(input_ids=ids.to(self.encoder.device)).last_hidden_state[0]
        return vectors


def load_llamagen(folder: Path, size: Size, dtype: torch.dtype, device: torch.device | str) -> LlamaGen:
    """A text-conditional LlamaGen: ``t2i_*_256.pt`` or ``_512``, ``vq_ds16_t2i.pt``, and ``flan-t5-xl`` in a folder."""
    there = next((side for side in SIDES if any(folder.glob(GPT.format(side=side)))), SIDES[0])
    height, width = sides(size, there, FACTOR)
    name = GPT.format(side=max(height, width))
    files = sorted(folder.glob(name))
    if len(files) != 1:
        raise CheckpointError(f"{folder}: {len(files)} files are called {name}; expected one")
    images = load_vq(folder / VQ, IMAGES, device=device)
    grid = height // FACTOR, width // FACTOR
    model = load_gpt(files[0], grid, "text", vocabulary=len(images.codebook), dtype=dtype, device=device)
    words, encoder = _text_encoder(folder, dtype)
    return LlamaGen(model, encoder.to(device), words, images)


def _text_encoder(folder: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    home = next((folder / name for name in ENCODERS if (folder / name / "config.json").is_file()), None)
    if home is None:
        raise CheckpointError(f"{folder}: has no {' or '.join(ENCODERS)}; expected the encoder of texts there")
    kinds = library()
    try:
        with quiet():
            words = kinds.AutoTokenizer.from_pretrained(home, local_files_only=True)
            encoder = kinds.T5EncoderModel.from_pretrained(
                home, dtype=dtype, local_files_only=True, use_safetensors=True
            )
    except Exception as error:  # whatever a broken folder makes of the library
        raise CheckpointError(
            f"{home}: {first_line(error)}; expected a T5 in safetensors, with its tokenizer"
        ) from None
    return words, encoder.eval().requires_grad_(False)
