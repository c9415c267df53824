"""Chameleon (Lumina-mGPT, Anole) and Emu3 from the ``transformers`` library as backbones.

The layers are the library's own, over the engine's slots (:mod:`simlab.models.adapters.slots`).

The decoder and the output matrix are called, not the model around them: the ``forward`` of
``ChameleonForConditionalGeneration`` forbids image tokens, as it is meant to write text. Decoders see the tokens that
can stand in an image and no others, a view on the rows of the embeddings and of the output: a softmax over 8 195 tokens
in the place of 65 536, and the same pmfs, since the grammar forbids the rest.

Prompts of different lengths are padded on the left; positions are relative in these models, so that a padded prompt is
the prompt itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from simlab.checks import check_at_least
from simlab.models.adapters.codes import vectors_by_token
from simlab.models.adapters.grammars import Layout
from simlab.models.adapters.slots import PADDED, check_attention, library_features
from simlab.models.architectures.transformer import Memory, at_least_single
from simlab.models.checkpoints import CheckpointError, first_line, listed, read_json

PADDING = -1  # in the place of an id
IMAGE_TOKENIZER = "model.vqmodel.", "vqmodel."  # no part of a backbone: Lumina-mGPT leaves it out, others add to it
NO_TOKENIZER = {"base_channels": 32, "channel_multiplier": [1], "num_res_blocks": 1}  # the least the library makes


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model, as the engine asks for them."""

    vocabulary: int
    shape: tuple[int, int]  # rows, and tokens a row; what ends the image comes behind them
    length: int
    prefix: int
    layers: int  # one more than the model's: it holds which slots are padding
    heads: int  # of keys and values
    head_dim: int
    dim: int


class HuggingFace(nn.Module):
    """A Chameleon or Emu3 as a backbone, over the sequences of a layout.

    Raises ``ValueError`` for ids that the model has not, codes of other tokens than the layout's, sequences longer than
    its positions, or a way of attention that takes no mask.

    Parameters
    ----------
    model
        The library's model, whose attention is ``sdpa`` or ``eager``.
    layout
        What an image consists of, by the ids of the model.
    prefix
        T, tokens of a prompt with its header; conditions are ``int[B, T]``, -1 for padding (:func:`padded`).
    unconditional
        Ids of the prompt that guidance starts from; by default those of the layout.
    ids
        ``int[V]``: decoders see token i for the id ``ids[i]``; by default those of the layout.
    codes
        The entry of the codebook that the id of each image token stands for.
    """

    ids: Tensor
    output: Tensor

    def __init__(
        self,
        model: Any,
        layout: Layout,
        prefix: int,
        unconditional: Sequence[int] | None = None,
        ids: np.ndarray | None = None,
        codes: Mapping[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.model, self.layout = model.eval(), layout  # dropout would make each call another
        self.codes = dict(codes or {})
        null = layout.header if layout.null is None else layout.null
        self.unconditional = null if unconditional is None else tuple(unconditional)
        text, chosen = self.decoder.config, layout.ids if ids is None else np.asarray(ids)
        self.config = Sizes(
            vocabulary=len(chosen),
            shape=layout.shape,
            length=layout.length,
            prefix=check_at_least("prefix", prefix, max(1, len(self.unconditional))),
            layers=text.num_hidden_layers + 1,
            heads=text.num_key_value_heads,
            head_dim=self.decoder.layers[0].self_attn.head_dim,
            dim=text.hidden_size,
        )
        self._check(text, chosen)
        output = model.lm_head.weight.detach()
        self.register_buffer("ids", torch.as_tensor(chosen, device=output.device), persistent=False)
        self.register_buffer("output", output[self.ids], persistent=False)

    @property
    def decoder(self) -> Any:
        """The layers over text and image tokens."""
        return getattr(self.model.model, "text_model", self.model.model)

    @property
    def entries(self) -> np.ndarray:
        """``int[V]``: the entry of the codebook that each token stands for; -1 for what ends lines and images."""
        return np.array([self.codes.get(int(id), -1) for id in self.ids])

    def codebook(self, vectors: np.ndarray) -> np.ndarray:
        """``float[V, d]`` by token, of the entries' ``vectors[n, d]``, as tables over a codebook need them."""
        return vectors_by_token(vectors, self.entries)

    def condition(self, given: Tensor) -> Tensor:
        """``[B, T, dim]`` of prompts; raises ``ValueError`` unless they are as long as said and end with a token."""
        if given.ndim != 2 or given.shape[1] != self.config.prefix:
            raise ValueError(f"prompts have shape {tuple(given.shape)}; expected [B, {self.config.prefix}]")
        if not given.is_cuda and not bool(((given >= PADDING) & (given < self.decoder.config.vocab_size)).all()):
            raise ValueError(f"prompts hold {int(given.min())} to {int(given.max())}; expected ids of the model, or -1")
        if not given.is_cuda and bool((given[:, -1] == PADDING).any()):
            raise ValueError("a prompt ends with padding; expected padding on the left")
        embedded: Tensor = self.decoder.embed_tokens(given.clamp(min=0))
        return embedded.masked_fill((given == PADDING)[..., None], PADDED)

    def null(self, batch: int) -> Tensor:
        """The prompts without condition, as :meth:`condition` takes them."""
        if not self.unconditional:
            raise ValueError("unconditional is empty; expected the ids of a prompt that guidance starts from")
        return padded([self.unconditional] * batch, self.config.prefix).to(self.ids.device)

    def embed(self, tokens: Tensor) -> Tensor:
        """``[B, L, dim]`` of tokens ``int[B, L]``."""
        embedded: Tensor = self.decoder.embed_tokens(self.ids[tokens])
        return embedded

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        """``[B, L, dim]`` after the last norm, of ``inputs[B, L, dim]`` at ``position[B, L]``."""
        return library_features(self.decoder, self.config, inputs, position, memory)

    def logits(self, features: Tensor) -> Tensor:
        """``[B, L, V]`` in float32 or better."""
        return at_least_single(functional.linear(features, self.output))

    def _apply(self, fn: Any, recurse: bool = True) -> HuggingFace:
        """To another device or precision; the frequencies of positions only to the device."""
        rotary = self.decoder.rotary_emb
        exact = dict(rotary.named_buffers())
        super()._apply(fn, recurse)
        for name, frequencies in exact.items():
            setattr(rotary, name, frequencies.to(self.output.device))
        return self

    def _check(self, text: Any, chosen: np.ndarray) -> None:
        if chosen.min() < 0 or chosen.max() >= text.vocab_size:
            raise ValueError(
                f"ids go up to {chosen.max()}; expected ids below the model's vocabulary, {text.vocab_size}"
            )
        named, image = sorted(self.codes), self.layout.image
        if named and named != list(image):
            raise ValueError(f"the model has {len(named)} image tokens, {named[0]} to {named[-1]}; expected {image}")
        whole = self.config.prefix + self.config.length
        if whole > text.max_position_embeddings:
            raise ValueError(
                f"prefix and sequence are {whole} tokens; expected at most {text.max_position_embeddings} positions"
            )
        check_attention(text)


def padded(prompts: Sequence[Sequence[int]], length: int) -> Tensor:
    """Prompts padded on the left.

    ``prompts``: ids of each, 1 to ``length`` of them. ``length``: T, tokens of a condition. Returns ``int64[B, T]``, -1
    for padding. Raises ``ValueError`` for a prompt that is empty or longer.
    """
    for prompt in prompts:
        if not 1 <= len(prompt) <= length:
            raise ValueError(f"a prompt has {len(prompt)} tokens; expected 1 to {length}")
    return torch.tensor([[PADDING] * (length - len(prompt)) + [*prompt] for prompt in prompts])


# checkpoints ---------------------------------------------------------------------------------------------------


def loaded(name: str, config: Any, weights: Mapping[str, Tensor], folder: Path, dtype: torch.dtype) -> Any:
    """The library's model called ``name`` with these ``weights``, all of which it needs and no others.

    Raises :class:`CheckpointError`, naming what of a ``folder`` is missing, unexpected or of another shape.
    """
    kind = getattr(library(), name)
    needed = {key: tensor for key, tensor in weights.items() if not key.startswith(IMAGE_TOKENIZER)}
    try:
        with quiet():
            model, info = kind.from_pretrained(
                None,
                config=config,
                state_dict=needed,
                dtype=dtype,
                attn_implementation="sdpa",
                ignore_mismatched_sizes=True,  # told below, by name
                output_loading_info=True,
            )
    except Exception as error:  # whatever broken or hostile sizes make of the library
        raise CheckpointError(f"{folder}: {first_line(error)}; expected the weights of {name}") from None
    shapes = [key for key, *_ in info["mismatched_keys"]]
    for what, found in (
        ("is missing", info["missing_keys"]),
        ("has unexpected", info["unexpected_keys"]),
        ("has other shapes of", shapes),
    ):
        keys = sorted(key for key in found if not key.startswith(IMAGE_TOKENIZER))
        if keys:
            raise CheckpointError(f"{folder}: {what} {listed(keys)}; expected the weights of {name}")
    return model


def configured(name: str, described: Mapping[str, Any], source: Path) -> Any:
    """The library's configuration called ``name``. Raises :class:`CheckpointError` for sizes that cannot be."""
    kind = getattr(library(), name)
    try:
        return kind.from_dict(dict(described))
    except Exception as error:  # whatever broken or hostile sizes make of the library
        raise CheckpointError(f"{source}: {first_line(error)}; expected the sizes of a {name}") from None


def config_of(folder: Path, *kinds: str) -> dict[str, Any]:
    """What ``config.json`` says; raises :class:`CheckpointError` unless it is of a model that is one of ``kinds``."""
    file, wanted = folder / "config.json", " or ".join(map(repr, kinds))
    described = read_json(file)
    if (found := described.get("model_type")) not in kinds:
        raise CheckpointError(f"{file}: the model is of the type {found!r}; expected {wanted}")
    return described


def named(
    described: Mapping[str, Any], part: str, file: Path, what: str = "the ids of the image tokens"
) -> dict[str, Any]:
    """A ``part`` of what a file says, ``what`` by their names; raises :class:`CheckpointError` where there are none."""
    found = described.get(part)
    if not isinstance(found, dict) or not found:
        raise CheckpointError(f"{file}: has no {part}; expected {what} by their names")
    return found


def ids_of(described: Mapping[str, Any], file: Path, *parts: str) -> Mapping[str, int]:
    """The ids that a part of a part has by their names; raises :class:`CheckpointError` for none, or other things."""
    for part in parts:
        described = named(described, part, file)
    for name, id in described.items():
        if type(id) is not int:
            raise CheckpointError(f"{file}: {parts[-1]} has {id!r} for {name}; expected a whole number")
    return described


def fitted(
    folder: Path,
    model: Any,
    layout: Layout,
    prefix: int,
    unconditional: Sequence[int] | None,
    codes_of: Callable[[Mapping[str, int]], Mapping[int, int]],
    names: Mapping[str, int],
) -> HuggingFace:
    """A backbone, its weights frozen, whose image tokens have codes by their ``names``.

    Raises :class:`CheckpointError` for a layout that does not fit the model, and names that have no codes.
    """
    try:
        return HuggingFace(model, layout, prefix, unconditional, codes=codes_of(names)).requires_grad_(False)
    except ValueError as error:
        raise CheckpointError(f"{folder}: {error}") from None


@contextmanager
def quiet() -> Iterator[None]:
    """The library says nothing: what is wrong is told by name."""
    logging = library().logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def library() -> Any:
    """``transformers``. Raises ``ImportError`` where it is missing."""
    try:
        import transformers
    except ImportError:
        raise ImportError("models of others need transformers; pip install 'simlab[engines]'") from None
    return transformers
