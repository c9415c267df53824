"""The model that a command draws with: one that comes along, or one of the user's own.

One's own is named as ``module:factory`` or ``path/to/file.py:factory``; the factory, called without arguments, makes a
:class:`~simlab.models.architectures.backbone.Backbone`. What else it may have, as attributes:

============  ======================================================================================
``labels``    names of its conditions, whose numbers 0, 1, ... it takes; without, all conditions are 0
``pixels``    ``pixels(tokens int[B, N]) -> float[B, C, H, W]`` from 0 to 1, C = 1 or 3; without, there are tokens only
``draft``     a smaller backbone over the same tokens, for methods that need one
``codebook``  ``float[V, d]``, the vectors of the tokens, for rules that ask how near they are
============  ======================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import Drafter
from experiments.models.session import Models
from simlab.checks import on_host
from simlab.models.architectures.backbone import check_parts
from simlab.registry import meant

SHIPPED, CONTINUOUS = "fashion", "fashion-continuous"


def load_models(name: str, folder: Path | None, device: str) -> Models:
    """The models called ``name``: those that come along, or of a ``folder`` if there is one; or one's own.

    Raises ``ValueError`` for a name there is none of, or an object that is no model.
    """
    if name == SHIPPED:
        return Discrete(folder, device)
    if name == CONTINUOUS:
        from experiments.models.continuous.kind import Continuous

        return Continuous(folder, device)
    if not is_own(name):
        near = meant(name, (SHIPPED, CONTINUOUS))
        raise ValueError(
            f"{name!r} is no model; {near}expected {SHIPPED}, {CONTINUOUS}, or one's own as module:factory or "
            "file.py:factory"
        )
    if folder is not None:
        raise ValueError(f"--models {folder}: is for {SHIPPED}; expected {name} to read its own files")
    return Own(name, device)


def is_own(name: str) -> bool:
    """Whether a name is that of an object in a module or a file."""
    return ":" in name or name.endswith(".py")


class Own(Discrete):
    """A model of the user's own, and what belongs to it, made when it is first asked for."""

    def __init__(self, spec: str, device: str) -> None:
        super().__init__(None, device)
        self.spec = spec

    @cached_property
    def target(self) -> Any:
        return checked(made(self.spec, self.device), self.spec)

    @cached_property
    def draft(self) -> Any:
        found = self._has("draft", "a smaller model over the same tokens")
        draft = checked(ready(found, self.device), f"{self.spec}, draft")
        sizes = [(model.config.vocabulary, tuple(model.config.shape)) for model in (draft, self.target)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"{self.spec}: the draft has (vocabulary, shape) {sizes[0]}; expected {sizes[1]}")
        return draft

    @property
    def head(self) -> Any:
        raise ValueError(f"{self.spec}: heads are made for the models that come along; expected another method")

    @property
    def drafters(self) -> tuple[Drafter, ...]:
        return () if getattr(self.target, "draft", None) is None else ("draft",)

    def fingerprint(self, kind: str) -> str:
        """Of its name and its weights, where it has any."""
        model, digest = getattr(self, kind), sha256(self.spec.encode())
        for name, values in (model.state_dict() if isinstance(model, nn.Module) else {}).items():
            digest.update(f"{name} {tuple(values.shape)} {values.dtype}".encode())
            digest.update(values.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        return digest.hexdigest()

    @property
    def codebook(self) -> Any:
        vectors = getattr(self.target, "codebook", None)
        if vectors is None:
            return None
        table = np.asarray(on_host(vectors), dtype=np.float64)
        if table.ndim != 2 or len(table) != self.target.config.vocabulary:
            raise ValueError(f"{self.spec}: codebook has shape {table.shape}; expected [V, d], a vector for each token")
        return table

    @property
    def labels(self) -> tuple[str, ...]:
        found, classes = getattr(self.target, "labels", None), getattr(self.target.config, "classes", None)
        if found is None:
            return ()
        if isinstance(found, str) or not isinstance(found, Iterable):
            raise ValueError(f"{self.spec}: labels is {found!r}; expected the names of its conditions, several")
        names = tuple(map(str, found))
        if isinstance(classes, int) and len(names) > classes:
            raise ValueError(f"{self.spec}: has {len(names)} labels; expected at most {classes}, its config.classes")
        return names

    @property
    def draws(self) -> bool:
        return callable(getattr(self.target, "pixels", None))

    def pixels(self, tokens: Tensor) -> Tensor:
        """``float[B, C, H, W]`` of ``int[B, N]``."""
        images = self._has("pixels", "pixels(tokens int[B, N]) -> float[B, C, H, W]")(tokens)
        if not isinstance(images, Tensor) or images.ndim != 4 or images.shape[1] not in (1, 3):
            found = tuple(images.shape) if isinstance(images, Tensor) else type(images).__name__
            raise ValueError(f"{self.spec}: pixels(tokens) is {found}; expected [B, C, H, W] with C = 1 or 3")
        if images.isnan().any():
            raise ValueError(f"{self.spec}: pixels(tokens) holds NaN; expected numbers from 0 to 1")
        return images.clamp(0, 1)

    def _has(self, what: str, expected: str) -> Any:
        found = getattr(self.target, what, None)
        if found is None:
            raise ValueError(f"{self.spec}: the model has no {what}; expected an attribute {what}: {expected}")
        return found


def made(spec: str, device: torch.device | str) -> Any:
    """What ``spec`` names, or makes without arguments, on its device and ready to be called.

    Raises ``ValueError`` where there is no such thing, or it cannot be made.
    """
    from experiments.judging.load_object import load_object  # which loads all that judges a rule
    from theory.judge.user_rule import last_line

    found = load_object(spec)
    if callable(found) and (isinstance(found, type) or not isinstance(found, nn.Module)):
        try:
            found = found()
        except (Exception, SystemExit) as error:  # whatever a user's function makes of it
            raise ValueError(f"{spec}, called without arguments, raises {last_line(error)}") from error
    return ready(found, device)


def ready(model: Any, device: torch.device | str) -> Any:
    """A model on its device, in evaluation: dropout would make each call another."""
    return model.to(device).eval() if isinstance(model, nn.Module) else model


def checked(model: Any, what: str) -> Any:
    """``model``; raises ``ValueError`` naming what it lacks."""
    try:
        check_parts(model)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    return model
