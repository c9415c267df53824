"""What a model that draws texts is made of, and how texts are drawn with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from simlab.decoders import Decoder
from simlab.models.architectures.backbone import Backbone
from simlab.models.engine import Request, serve
from simlab.models.engine.requests import Cancelled, Notify, never
from simlab.models.process.sampling import Sampling
from simlab.rules import Rule

Size = int | tuple[int, int] | None  # of images in pixels: a side, or (height, width); None is the model's own


class Preset(NamedTuple):
    """How the code of a model's authors samples."""

    guidance: float
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None


class Prepared(NamedTuple):
    """Prompts as a backbone takes them."""

    model: Backbone
    given: Tensor  # [B, ...]
    visible: Tensor | None  # bool[B, T]: what is not padding; all, where None


class TextToImage(Protocol):
    """A model that draws texts, and all that it needs beside it."""

    preset: Preset

    @property
    def codebook(self) -> np.ndarray:
        """``float64[V, d]``: vectors by token, as tables over a codebook need them."""
        ...

    def sampling(self, preset: Preset) -> Sampling:
        """How rows are made of logits, with what the model may write at each position."""
        ...

    def prepare(self, prompts: Sequence[str]) -> Prepared:
        """Prompts for the backbone."""
        ...

    def pixels(self, tokens: Tensor) -> Tensor:
        """``float[B, 3, H, W]`` from 0 to 1 of sequences ``int[B, N]``."""
        ...


class Drawn(NamedTuple):
    """What became of one prompt.

    Attributes
    ----------
    prompt
        Its number, in the order they were given.
    image
        ``float32[3, H, W]`` from 0 to 1, on the CPU; None with an ``error``.
    tokens
        ``int64[N]``; None with an ``error``.
    steps
        Calls of the model.
    error
        Why there is no image; None where there is one.
    """

    prompt: int
    image: Tensor | None
    tokens: np.ndarray | None
    steps: int
    error: str | None


def draw(
    model: TextToImage,
    prompts: Sequence[str],
    decoder: Decoder,
    rule: Rule,
    seeds: int | Sequence[int] = 0,
    preset: Preset | None = None,
    batch: int = 1,
    cancelled: Cancelled = never,
    notify: Notify = lambda tokens: None,
) -> Iterator[Drawn]:
    """Draw an image of each prompt.

    Parameters
    ----------
    model
        As :func:`~simlab.models.text_to_image.registry.load` returns it.
    prompts
        At least one.
    decoder, rule
        How tokens are decoded; decoders that need a draft model have none here.
    seeds
        One of each prompt: the same prompt with the same seed is the same image, whatever is drawn beside it. Or one
        number for all, of which prompt i is replicate i.
    preset
        How rows are sampled; as the model's own code does, unless given.
    batch
        Images at a time.
    cancelled, notify
        As for :func:`~simlab.models.engine.serve`.

    Yields
    ------
    Drawn
        Of each prompt, as soon as it is over.

    Raises
    ------
    ValueError
        For a text alone, no prompt, an empty one, seeds of another number, or a decoder that needs a draft model.
    """
    if isinstance(prompts, str) or not prompts or not all(prompt.strip() for prompt in prompts):
        raise ValueError(f"prompts are {prompts!r}; expected a list of at least one, and words in each")
    if not isinstance(seeds, int) and len(seeds) != len(prompts):
        raise ValueError(f"{len(seeds)} seeds for {len(prompts)} prompts; expected one each, or one number for all")
    if decoder.needs_draft:
        raise ValueError(f"{type(decoder).__name__} needs a draft model; expected a decoder that drafts by itself")
    with torch.no_grad():
        prepared = model.prepare(prompts)
    count = len(prompts)
    tapes = [(seeds, index) for index in range(count)] if isinstance(seeds, int) else [(seed, 0) for seed in seeds]
    sampling = model.sampling(preset or model.preset)
    shown = [None] * count if prepared.visible is None else prepared.visible
    requests = [
        Request(given, decoder, rule, seed, replicate, sampling, visible)
        for given, (seed, replicate), visible in zip(prepared.given, tapes, shown, strict=True)
    ]
    for result in serve(prepared.model, requests, batch, cancelled=cancelled, notify=notify):
        image = None if result.tokens is None else _image(model, prepared.given, result.tokens)
        yield Drawn(result.index, image, result.tokens, result.steps, result.error)


@torch.no_grad()
def _image(model: TextToImage, given: Tensor, tokens: Any) -> Tensor:
    return model.pixels(torch.as_tensor(tokens, device=given.device)[None])[0].float().cpu()


def sides(size: Size, usual: int, multiple: int) -> tuple[int, int]:
    """(height, width) in pixels. Raises ``ValueError`` unless both are positive multiples of so many."""
    height, width = (size, size) if isinstance(size, int) else size or (usual, usual)
    if min(height, width) < multiple or height % multiple or width % multiple:
        raise ValueError(f"size is {height} x {width} pixels; expected multiples of {multiple}")
    return height, width
