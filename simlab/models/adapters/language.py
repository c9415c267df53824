"""Any causal language model of ``transformers`` as a backbone, behind prompts and for as many tokens as asked.

Which sizes a model has, and whether its attention takes a mask for each pair of tokens and keeps keys and values by
layer, is not read from its configuration but seen: the model is called on a few tokens, and its own rows are compared
with those of the engine, once for each model.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from simlab.models.adapters.hugging_face import PADDING, Sizes
from simlab.models.adapters.slots import PADDED, check_attention, library_features
from simlab.models.architectures.transformer import Memory, at_least_single
from simlab.models.checkpoints import first_line
from simlab.models.process.cached import Cached

TRIED = 3  # tokens of the prompt that a model is tried on, and tokens behind it
SIBLINGS = 11  # nodes of the tree that it is tried on: so many slots that a mask of its own would show
RARE = -20.0  # of log rows: what is rarer is rounded off


class CacheShapes:
    """In the place of the library's cache: notes what the layers bring, and keeps nothing."""

    def __init__(self) -> None:
        self.shapes: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def update(self, key: Tensor, value: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        self.shapes[layer] = tuple(key.shape), tuple(value.shape)
        return key, value


_supported: WeakKeyDictionary[nn.Module, tuple[int, int, int]] = WeakKeyDictionary()  # and what their layers keep


class Language(nn.Module):
    """A causal language model as a backbone.

    ``model``: the library's model, whose attention is ``sdpa`` or ``eager``. ``prefix``: T, tokens of a prompt, those
    of padding included. Conditions are prompts ``int[B, T]``, -1 for padding on the left, or with guidance
    ``int[B, 2, T]``, each with the one that guidance starts from. ``length``: N, tokens that are written behind it.
    Raises ``ValueError`` for a model that is no causal language model, keeps keys and values in another way, whose
    attention takes no mask for each pair of tokens, or that has fewer positions.
    """

    def __init__(self, model: Any, prefix: int, length: int) -> None:
        super().__init__()
        check_language(model)
        self.model = model
        layers, heads, head_dim = _supported[model]
        self.config = Sizes(
            vocabulary=model.get_output_embeddings().weight.shape[0],
            shape=(1, length),
            length=length,
            prefix=prefix,
            layers=layers + 1,
            heads=heads,
            head_dim=head_dim,
            dim=model.get_input_embeddings().weight.shape[1],
        )
        self._check_length()

    def condition(self, given: Tensor) -> Tensor:
        """``[B, T, dim]`` of prompts."""
        return self._seen(given if given.ndim == 2 else given[:, 0])

    def with_none(self, given: Tensor) -> Tensor:
        """``[B, 2, T, dim]`` of prompts ``int[B, 2, T]``, each with the one that guidance starts from."""
        return self._seen(given)

    def null(self, batch: int) -> Tensor:
        """Refused: prompts bring the ones that guidance starts from."""
        raise ValueError("prompts are alone; expected each with the one that guidance starts from")

    def _seen(self, prompts: Tensor) -> Tensor:
        """``[..., dim]`` of ids, and what marks padding."""
        if prompts.shape[-1] != self.config.prefix:
            raise ValueError(
                f"prompts have {prompts.shape[-1]} tokens; expected {self.config.prefix}, those of padding included"
            )
        embedded: Tensor = self.model.get_input_embeddings()(prompts.clamp(min=0))
        return embedded.masked_fill((prompts == PADDING)[..., None], PADDED)

    def embed(self, tokens: Tensor) -> Tensor:
        """``[B, L, dim]`` of tokens ``int[B, L]``."""
        embedded: Tensor = self.model.get_input_embeddings()(tokens)
        return embedded

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        """``[B, L, dim]`` after the last norm, of ``inputs[B, L, dim]`` at ``position[B, L]``."""
        return library_features(self.model.base_model, self.config, inputs, position, memory)

    def logits(self, features: Tensor) -> Tensor:
        """``[B, L, V]`` in float32 or better."""
        scores: Tensor = self.model.get_output_embeddings()(features)
        return at_least_single(scores)

    def _check_length(self) -> None:
        text, whole = self.model.config.get_text_config(), self.config.prefix + self.config.length
        most = getattr(text, "max_position_embeddings", None) or whole
        if whole > most:
            raise ValueError(f"prompt and new tokens are {whole}; expected at most {most}, the positions of the model")
        window = getattr(text, "sliding_window", None) or whole
        slides = "sliding_attention" in (getattr(text, "layer_types", None) or ["sliding_attention"])
        if slides and whole > window:
            raise ValueError(
                f"prompt and new tokens are {whole} and attention slides over {window}; expected no more than those"
            )
        turned = _turns_otherwise_beyond(text)
        if turned is not None and self.config.prefix <= turned + 1 and whole > turned:
            raise ValueError(
                f"prompt and new tokens are {whole} and longrope turns keys otherwise beyond {turned}; expected no "
                "more than those, since drafts would have them turned too early"
            )


def _turns_otherwise_beyond(text: Any) -> int | None:
    """The length of text from which on *longrope* turns all keys in another way; ``None`` of a model without it."""
    given = getattr(text, "rope_parameters", None) or {}
    for own in (given, *given.values()):  # for all layers, or by their types
        if isinstance(own, dict) and own.get("rope_type") == "longrope":
            original = own.get("original_max_position_embeddings")
            return int(original or text.original_max_position_embeddings)
    return None


# what is supported ---------------------------------------------------------------------------------------------


def check_language(model: Any) -> None:
    """Raise ``ValueError`` unless the engine can run a model, and gives its own logits; seen once for each model."""
    is_module = isinstance(model, nn.Module)
    if not is_module:
        raise ValueError(f"{model!r} is no model; expected a causal language model of transformers")
    name = type(model).__name__
    if getattr(model.config, "is_encoder_decoder", False):
        raise ValueError(f"{name} has an encoder; expected a causal language model")
    if model.get_output_embeddings() is None:
        raise ValueError(f"{name} has no output embeddings; expected a causal language model")
    check_attention(model.config.get_text_config())  # which may have been set anew
    if model in _supported:
        return
    training = model.training
    model.eval()
    far: float | None = torch.inf  # until it is seen, and where looking is interrupted
    try:
        with torch.no_grad():
            _supported[model] = cache_shapes(model)  # so that a backbone of it can be made
            far = _apart(model)
    except Exception as error:  # whatever other kinds of attention make of it
        raise ValueError(
            f"{name} cannot be run over slots of keys and values ({first_line(error)}); expected attention that takes "
            "a mask for each pair of tokens"
        ) from error
    finally:
        model.train(training)
        if far is not None:
            _supported.pop(model, None)
    if far is not None:
        raise ValueError(
            f"{name} has other rows over slots of keys and values, by {far:.3g}; expected its own: it takes no mask "
            "for each pair of tokens, or scales its logits"
        )


def _apart(model: Any) -> float | None:
    """How far the engine's log rows are from the model's own behind prompts with padding, if more than by rounding."""
    weights = model.get_input_embeddings().weight
    ids = torch.arange(2 * 2 * TRIED, device=weights.device).reshape(2, -1) % len(weights)
    visible = torch.ones_like(ids)
    visible[1, 0] = 0
    position = (visible.cumsum(1) - 1).clamp(min=0)
    features: list[Tensor] = []
    hook = model.base_model.register_forward_hook(lambda module, given, found: features.append(found[0]))
    try:
        own = model(input_ids=ids, attention_mask=visible, position_ids=position, use_cache=False).logits
    finally:
        hook.remove()
    changed = _changed(model.get_output_embeddings()(features[-1]), own)
    if changed is not None:
        return changed
    expected = at_least_single(own[:, TRIED - 1 : -1]).log_softmax(-1)

    prompts = ids[:, :TRIED].masked_fill(visible[:, :TRIED] == 0, PADDING)
    process, start = Cached(Language(model, TRIED, TRIED), prompts), ids[:, 0] * 0
    tokens = torch.cat([ids[:, TRIED:], ids[:, :1]], dim=1)
    rejected = torch.cat([tokens[:, :1], tokens[:, 1:] * 0], dim=1)
    rows = process.forward(rejected, start, TRIED)[:, :2], process.forward(tokens, start + 2, TRIED - 2)
    # and once more the second token, as the last of a tree's nodes
    nodes = torch.cat([rejected[:, 1:2].expand(-1, SIBLINGS - 1), tokens[:, 1:2]], dim=1)
    paths = torch.arange(SIBLINGS, device=ids.device)[:, None]
    seen = torch.cat([*rows, process.forward_tree(tokens, start + 1, nodes, paths)[:, -1:]], dim=1).log()
    expected = torch.cat([expected, expected[:, 2:3]], dim=1)
    away = (seen.clamp(min=RARE) - expected.clamp(min=RARE)).abs().max()
    allowed = torch.finfo(weights.dtype).eps ** 0.5 * (1 - RARE)
    return float(away) if not bool(away <= allowed) else None


def _changed(scores: Tensor, own: Tensor) -> float | None:
    """How far a model's log rows are from those of the scores that it makes them of, if it does more than hand them on.

    Both are of one call, so that no rounding lies between them, whatever the precision.
    """
    scores, own = at_least_single(scores), at_least_single(own)
    if torch.allclose(scores, own, rtol=torch.finfo(torch.float32).eps, atol=0, equal_nan=True):
        return None
    return float((scores.log_softmax(-1) - own.log_softmax(-1)).abs().max())


def cache_shapes(model: Any) -> tuple[int, int, int]:
    """Layers of a model, and the heads of keys and values, and numbers of a head, that each brings to a cache."""
    noted, weights = CacheShapes(), model.get_input_embeddings().weight
    with torch.no_grad():
        model.base_model(
            inputs_embeds=weights[:1][None],
            position_ids=torch.zeros(1, 1, dtype=torch.int64, device=weights.device),
            attention_mask=torch.zeros(1, 1, 1, 1, dtype=weights.dtype, device=weights.device),
            past_key_values=noted,
            use_cache=False,
        )
    layers, found = len(noted.shapes), {shape for of in noted.shapes.values() for shape in of}
    if list(noted.shapes) != list(range(layers)) or len(found) != 1:
        raise ValueError(
            f"{type(model).__name__} keeps no keys and values of one shape in each layer; expected attention in all"
        )
    _, heads, _, head_dim = found.pop()
    return layers, heads, head_dim
