"""What the engine asks of a model: a causal transformer over the tokens of an image, behind a condition."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from simlab.models.architectures.transformer import Memory

PARTS = {
    "config": "the sizes of the model: an object with vocabulary, shape, length, prefix, layers, heads, head_dim, dim",
    "condition": "condition(given) -> float[B, T, dim], a condition as inputs",
    "null": "null(batch) -> no condition, as condition takes it",
    "embed": "embed(tokens int[B, L]) -> float[B, L, dim]",
    "features": "features(inputs, position, memory) -> float[B, L, dim], whose attention is memory.attend(...)",
    "logits": "logits(features) -> float[B, L, V]",
}


class Backbone(Protocol):
    """A model: inputs in, features out, and logits of features."""

    @property
    def config(self) -> Any: ...  # an object with the sizes, which PARTS names
    def condition(self, given: Any) -> Tensor:
        """``[B, T, dim]``: a condition as inputs."""
        ...

    def null(self, batch: int) -> Any:
        """No condition, as :meth:`condition` takes it."""
        ...

    def embed(self, tokens: Tensor) -> Tensor:
        """``[B, L, dim]``: tokens ``int[B, L]`` as inputs."""
        ...

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        """``[B, L, dim]`` of ``inputs`` at ``position[B, L]``, the condition's first."""
        ...

    def logits(self, features: Tensor) -> Tensor:
        """``[B, L, V]``, in float32 or better."""
        ...


def with_none(model: Backbone, given: Any) -> Tensor:
    """``[B, 2, T, dim]``: conditions, each with no condition behind it; a model whose sequences start guidance from
    different ones has a method ``with_none`` of its own."""
    if callable(own := getattr(model, "with_none", None)):
        both: Tensor = own(given)
        return both
    condition = model.condition(given)
    return torch.stack([condition, model.condition(model.null(len(condition)))], dim=1)


def missing_parts(model: Any) -> str | None:
    """What a model lacks to be a :class:`Backbone`, by name; ``None`` if nothing."""
    missing = [part for part in PARTS if part != "config" and not callable(getattr(model, part, None))]
    missing = ["config"] * (not hasattr(model, "config")) + missing
    expected = "; ".join(PARTS[part] for part in missing)
    return f"is missing {', '.join(missing)}; expected {expected}" if missing else None


def check_parts(model: Any) -> None:
    """Raise ``ValueError`` naming what a model lacks to be a :class:`Backbone`."""
    problem = missing_parts(model)
    if problem is not None:
        raise ValueError(f"{type(model).__name__} {problem}")


def place_of(model: Any) -> torch.device:
    """The device of a model: that of its weights."""
    weights = getattr(model, "parameters", lambda: iter(()))()
    return next((weight.device for weight in weights), torch.device("cpu"))
