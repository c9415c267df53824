"""transformers: its verification routine, and ``generate`` with an assistant model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.tables import Model, drafted, model_class
from simlab.certify.adapters.torch_random import drawing

GAMMA = 2  # tokens an assistant drafts at once


def verify(**options: Any) -> Any:
    """``_speculative_sampling`` on float32 logits, as ``generate`` has them; ``options`` are more arguments of it."""
    import torch
    from transformers.generation.utils import _speculative_sampling

    def logits(rows: Array) -> torch.Tensor:
        return torch.from_numpy(rows).log().float()[None]

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        with drawing(rng):
            candidates = torch.from_numpy(drafts)[None]
            tokens, _ = _speculative_sampling(candidates, logits(q), len(drafts), logits(p), **options)
        return [int(token) for token in tokens[0].tolist()]

    return verify


def generate(temperature: float = 1.0) -> Any:
    """``generate`` with an assistant. The models are sharpened as much as ``temperature`` flattens them."""
    import torch

    prompt = torch.zeros(1, 1, dtype=torch.long)
    mask = torch.ones_like(prompt)

    @cache
    def models(vocabulary: int) -> tuple[Any, Any]:
        target, assistant = (model_class()(vocabulary, temperature) for _ in range(2))
        target.generation_config = settings()
        assistant.generation_config = drafting()
        return target, assistant

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        target, assistant = models(len(model(())))
        target.pmf, assistant.pmf = model, drafted(model)
        with drawing(rng):
            tokens = target.generate(
                prompt,
                attention_mask=mask,
                assistant_model=assistant,
                max_new_tokens=length,
                eos_token_id=eos,
                **sampled(temperature),
            )
        return [int(token) for token in tokens[0, 1:].tolist()]

    return decode


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
