"""transformers: its verification routine, and ``generate`` with each of its ways to draft."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.tables import Model, drafted, logits, model_class
from simlab.certify.adapters.torch_random import drawing

GAMMA = 2  # tokens an assistant drafts at once


def verify(**options: Any) -> Any:
    """``_speculative_sampling`` on float32 logits, as ``generate`` has them; ``options`` are more arguments of it."""
    import torch
    from transformers.generation.utils import _speculative_sampling

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        with drawing(rng):
            candidates = torch.from_numpy(drafts)[None]
            tokens, _ = _speculative_sampling(candidates, logits(q)[None], len(drafts), logits(p)[None], **options)
        return [int(token) for token in tokens[0].tolist()]

    return verify


def generate(temperature: float = 1.0) -> Any:
    """``generate`` with an assistant. The models are sharpened as much as ``temperature`` flattens them."""

    @cache
    def models(vocabulary: int) -> tuple[Any, Any]:
        target, assistant = (model_class()(vocabulary, temperature) for _ in range(2))
        target.generation_config = settings()
        assistant.generation_config = drafting()
        return target, assistant

    def run(model: Model, length: int, eos: int | None) -> list[int]:
        target, assistant = models(len(model(())))
        target.pmf, assistant.pmf = model, drafted(model)
        return generated(target, length, eos, assistant_model=assistant, **sampled(temperature))

    return drawn(run)


def prompt_lookup() -> Any:
    """``generate`` whose drafts are what followed the last token where it stood before: no q, and no second model."""

    @cache
    def made(vocabulary: int) -> Any:
        target = model_class()(vocabulary)
        target.generation_config = settings()
        return target

    def run(model: Model, length: int, eos: int | None) -> list[int]:
        target = made(len(model(())))
        target.pmf = model
        options = {"prompt_lookup_num_tokens": GAMMA, "max_matching_ngram_size": 1}
        return generated(target, length, eos, **options, **sampled())

    return drawn(run)


def early_exit() -> Any:
    """``generate`` whose drafts come from the first layer of the model itself."""

    @cache
    def made(vocabulary: int) -> Any:
        target = _two_layers()(vocabulary)
        target.generation_config = drafting()
        return target

    def run(model: Model, length: int, eos: int | None) -> list[int]:
        target = made(len(model(())))
        target.pmf, target.early = model, drafted(model)
        return generated(target, length, eos, assistant_early_exit=1, **sampled())

    return drawn(run)


@cache
def _two_layers() -> Any:
    """A model whose rows are those of the draft where it ends after its first layer."""

    class TwoLayers(model_class()):  # type: ignore[misc]
        base_model_prefix = "trunk"

        def __init__(self, vocabulary: int) -> None:
            super().__init__(vocabulary)
            self.early: Model | None = None
            self.config.num_hidden_layers = 2

        @property
        def trunk(self) -> Any:
            return self

        def row(self, prefix: list[int]) -> Array:
            found = self.pmf if self.config.num_hidden_layers == 2 else self.early
            assert found is not None, "a pmf is set before it is used"
            return found(tuple(prefix))

    return TwoLayers


def drawn(run: Callable[[Model, int, int | None], list[int]]) -> Any:
    """``run`` as a loop of the contract ``decode``: PyTorch draws as the generator says."""

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        with drawing(rng):
            return run(model, length, eos)

    return decode


def generated(target: Any, length: int, eos: int | None, **options: Any) -> list[int]:
    """What ``generate`` of a model emits after token 0, which stands before every sequence."""
    import torch

    prompt = torch.zeros(1, 1, dtype=torch.long)
    mask = torch.ones_like(prompt)
    tokens = target.generate(prompt, attention_mask=mask, max_new_tokens=length, eos_token_id=eos, **options)
    return [int(token) for token in tokens[0, 1:].tolist()]


def sampled(temperature: float = 1.0) -> dict[str, Any]:
    """Options of ``generate`` that draw from the whole of a model."""
    return {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}


def settings(**options: Any) -> Any:
    """A generation configuration of models whose token 0 also stands at the beginning and for nothing."""
    from transformers import GenerationConfig

    return GenerationConfig(bos_token_id=0, pad_token_id=0, **options)


def drafting() -> Any:
    """The configuration of an assistant that always drafts ``GAMMA`` tokens."""
    return settings(
        num_assistant_tokens=GAMMA, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0
    )
