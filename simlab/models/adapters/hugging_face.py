"""Chameleon (Lumina-mGPT, Anole) and Emu3 from the ``transformers`` library as backbones.

The layers are the library's own: it makes queries, keys and values, norms and turns them, and attends. What is added is
where keys and values live, and who sees whom: an object in the place of its cache writes into the slots of a
:class:`~simlab.models.process.cache.Window`, and the window's mask goes in as an additive mask ``[B, 1, L, slots]``,
which the library hands to attention as it is.

The decoder and the output matrix are called, not the model around them: the ``forward`` of
``ChameleonForConditionalGeneration`` forbids image tokens, as it is meant to write text. Decoders see the tokens that
can stand in an image and no others, a view on the rows of the embeddings and of the output: a softmax over 8 195 tokens
in the place of 65 536, and the same pmfs, since the grammar forbids the rest.

Prompts of different lengths are padded on the left. A vector of zeros is padding, and nobody sees it; positions are
relative in these models, so that a padded prompt is the prompt itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from simlab.checks import check_at_least
from simlab.models.adapters.grammars import Layout
from simlab.models.architectures.transformer import Memory, at_least_single
from simlab.models.checkpoints import CheckpointError, listed
from simlab.models.process.cache import Window
from simlab.models.process.uncached import Masked

PADDING = -1  # in the place of an id
ATTENTION = "sdpa", "eager"  # implementations that take a mask for each pair of tokens
IMAGE_TOKENIZER = "model.vqmodel.", "vqmodel."  # not used to decode: Lumina-mGPT leaves it out, Anole adds to it


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

    Parameters
    ----------
    model
        The library's model, whose attention is ``sdpa`` or ``eager``.
    layout
        What an image consists of, by the ids of the model.
    prefix
        T, tokens of a prompt with its header; conditions are ``int[B, T]``, -1 for padding (:func:`padded`).
    unconditional
        Ids of the prompt that guidance starts from; by default the header alone.
    ids
        ``int[V]``: decoders see token i for the id ``ids[i]``; by default those of the layout.

    Raises
    ------
    ValueError
        For ids that the model has not, sequences longer than its positions, or a way of attention that takes no mask.
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
    ) -> None:
        super().__init__()
        self.model, self.layout = model.eval(), layout  # dropout would make each call another
        self.unconditional = layout.header if unconditional is None else tuple(unconditional)
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

    def condition(self, given: Tensor) -> Tensor:
        """``[B, T, dim]`` of prompts; raises ``ValueError`` unless they are as long as said and end with a token."""
        if given.ndim != 2 or given.shape[1] != self.config.prefix:
            raise ValueError(f"prompts have shape {tuple(given.shape)}; expected [B, {self.config.prefix}]")
        if not given.is_cuda and not bool(((given >= PADDING) & (given < self.decoder.config.vocab_size)).all()):
            raise ValueError(f"prompts hold {int(given.min())} to {int(given.max())}; expected ids of the model, or -1")
        if not given.is_cuda and bool((given[:, -1] == PADDING).any()):
            raise ValueError("a prompt ends with padding; expected padding on the left")
        embedded: Tensor = self.decoder.embed_tokens(given.clamp(min=0))
        return embedded * (given != PADDING)[..., None]

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
        padding = (inputs == 0).all(-1)[:, None, :, None]  # [B, 1, L, 1]
        slots = None
        if isinstance(memory, Window):
            slots = _Slots(memory)
            flags = padding.to(inputs.dtype).expand(-1, self.config.heads, -1, self.config.head_dim)
            hidden = slots.update(flags, flags, self.config.layers - 1)[0][:, :1, None, :, 0] > 0
            seen = memory.mask
        else:
            hidden = padding.transpose(2, 3)
            whole = hidden.new_ones(inputs.shape[1], inputs.shape[1]).tril()
            seen = memory.mask if isinstance(memory, Masked) else whole
        # padding itself sees as others do: a row of attention with nobody in it is no number
        mask = inputs.new_zeros(()).where(seen & ~(hidden & ~padding), -torch.inf)
        features: Tensor = self.decoder(
            inputs_embeds=inputs, position_ids=position, attention_mask=mask, past_key_values=slots, use_cache=False
        ).last_hidden_state
        return features

    def logits(self, features: Tensor) -> Tensor:
        """``[B, L, V]`` in float32 or better."""
        return at_least_single(functional.linear(features, self.output))

    def _check(self, text: Any, chosen: np.ndarray) -> None:
        if chosen.min() < 0 or chosen.max() >= text.vocab_size:
            raise ValueError(
                f"ids go up to {chosen.max()}; expected ids below the model's vocabulary, {text.vocab_size}"
            )
        named, image = self.model.model.vocabulary_mapping.image_tokens, self.layout.image
        if named != list(image):
            ends = f", {named[0]} to {named[-1]}" if named else ""
            raise ValueError(f"the model has {len(named)} image tokens{ends}; expected {image}")
        whole = self.config.prefix + self.config.length
        if whole > text.max_position_embeddings:
            raise ValueError(
                f"prefix and sequence are {whole} tokens; expected at most {text.max_position_embeddings} positions"
            )
        if text._attn_implementation not in ATTENTION:
            raise ValueError(f"attention is {text._attn_implementation!r}; expected one of {', '.join(ATTENTION)}")


class _Slots:
    """A window in the place of the library's cache."""

    def __init__(self, window: Window) -> None:
        self.window = window

    def update(self, key: Tensor, value: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Put a layer's keys and values where they belong; returns all it holds."""
        return self.window.cache.write(layer, self.window.where, key, value)


def padded(prompts: Sequence[Sequence[int]], length: int) -> Tensor:
    """Prompts padded on the left.

    Parameters
    ----------
    prompts
        Ids of each, 1 to ``length`` of them.
    length
        T, tokens of a condition.

    Returns
    -------
    torch.Tensor
        ``int64[B, T]``, -1 for padding.

    Raises
    ------
    ValueError
        For a prompt that is empty or longer.
    """
    for prompt in prompts:
        if not 1 <= len(prompt) <= length:
            raise ValueError(f"a prompt has {len(prompt)} tokens; expected 1 to {length}")
    return torch.tensor([[PADDING] * (length - len(prompt)) + [*prompt] for prompt in prompts])


# checkpoints ---------------------------------------------------------------------------------------------------


def load_chameleon(
    folder: Path,
    layout: Layout,
    prefix: int,
    unconditional: Sequence[int] | None = None,
    dtype: torch.dtype = torch.bfloat16,
) -> HuggingFace:
    """A Chameleon, Lumina-mGPT or Anole of a folder.

    Parameters
    ----------
    folder
        With ``config.json`` and safetensors.
    layout, prefix, unconditional
        As for :class:`HuggingFace`.
    dtype
        Of the weights.

    Returns
    -------
    HuggingFace
        Its weights frozen, on the CPU.

    Raises
    ------
    CheckpointError
        For a folder that is missing, holds another model, or not all of this one, or a layout that does not fit it.
    ImportError
        Where ``transformers`` is missing.
    """
    model = _read(folder, "chameleon", "ChameleonForConditionalGeneration", dtype)
    return _fitted(folder, model, layout, prefix, unconditional)


def load_emu3(
    folder: Path,
    layout: Layout,
    prefix: int,
    unconditional: Sequence[int] | None = None,
    dtype: torch.dtype = torch.bfloat16,
) -> HuggingFace:
    """An Emu3 of a folder, in the library's own format.

    Parameters
    ----------
    folder, layout, prefix, unconditional, dtype
        As for :func:`load_chameleon`.

    Returns
    -------
    HuggingFace
        Its weights frozen, on the CPU.

    Raises
    ------
    CheckpointError, ImportError
        As :func:`load_chameleon` does.
    """
    model = _read(folder, "emu3", "Emu3ForConditionalGeneration", dtype)
    return _fitted(folder, model, layout, prefix, unconditional)


def _fitted(folder: Path, model: Any, layout: Layout, prefix: int, unconditional: Sequence[int] | None) -> HuggingFace:
    try:
        return HuggingFace(model, layout, prefix, unconditional).requires_grad_(False)
    except ValueError as error:
        raise CheckpointError(f"{folder}: {error}") from None


def _read(folder: Path, kind: str, name: str, dtype: torch.dtype) -> Any:
    """The library's model of a folder, all of whose weights were there and no others."""
    try:
        import transformers
    except ImportError:
        raise ImportError(f"{kind} needs transformers; pip install 'simlab[engines]'") from None
    _check_kind(folder, kind)
    try:
        model, info = getattr(transformers, name).from_pretrained(
            folder,
            dtype=dtype,
            attn_implementation="sdpa",
            use_safetensors=True,
            local_files_only=True,
            ignore_mismatched_sizes=True,  # told below, by name
            output_loading_info=True,
        )
    except Exception as error:  # whatever a broken or hostile folder makes of the library
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(f"{folder}: {reason}; expected a {kind} in safetensors") from None
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


def _check_kind(folder: Path, kind: str) -> None:
    file = folder / "config.json"
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise CheckpointError(f"{file}: there is no such file; expected the folder of a {kind} model") from None
    except ValueError:
        raise CheckpointError(f"{file}: is no JSON; expected the sizes of a {kind} model") from None
    found = described.get("model_type") if isinstance(described, dict) else None
    if found != kind:
        raise CheckpointError(f"{file}: the model is of the type {found!r}; expected {kind!r}")
    if not described.get("vocabulary_map"):
        raise CheckpointError(f"{file}: has no vocabulary_map; expected the ids of the image tokens by their names")
