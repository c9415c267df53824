"""Models of one kind of token, and batches of images that a method draws with them.

What the commands ask of a kind is :class:`Models`: :mod:`experiments.models.discrete.kind` has codes,
:mod:`experiments.models.continuous.kind` vectors. The tape numbers its replicates, and image i is replicate i whatever
batch it is drawn in; so it has the same tokens, but for the rounding of networks in a batch of another size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from simlab.models.adapters.fashion import CLASSES, SHIPPED, load_classifier
from simlab.models.architectures.classifier import Classifier
from simlab.models.engine.requests import out_of_memory
from simlab.models.process.cached import NOT_NUMBERS
from simlab.registry import meant

Notify = Callable[[int], None]  # called with how many images are done


def ignore(count: int) -> None:
    """Nobody is told."""


class Models(ABC):
    """The models of a ``folder`` on a ``device``, each read when it is first asked for.

    Raises :class:`~simlab.models.checkpoints.CheckpointError` then, for a checkpoint that is missing or wrong.
    """

    name: str  # of the models that come along
    files: tuple[str, ...]  # the checkpoints that images depend on, without their ending

    def __init__(self, folder: Path | None = None, device: str = "cpu") -> None:
        self.folder, self.device = folder or SHIPPED, torch.device(device)

    @cached_property
    def classifier(self) -> Classifier:
        return load_classifier(SHIPPED, self.device)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the conditions, by their numbers."""
        return CLASSES

    @property
    def draws(self) -> bool:
        """Whether there are images, or tokens only."""
        return True

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns of tokens."""

    @abstractmethod
    def names(self, sampling: Any) -> tuple[str, ...]:
        """All methods that go with a way to sample."""

    @abstractmethod
    def method(self, name: str, settings: Mapping[str, Any]) -> Any:
        """The method called ``name``, with ``settings`` in place of its own: what :meth:`draw` takes.

        Raises ``ValueError`` for an unknown name or setting, or a bad value.
        """

    @abstractmethod
    def check(self, sampling: Any) -> None:
        """Raise ``ValueError`` where a way to sample does not fit the models."""

    @abstractmethod
    def draw(
        self,
        method: Any,
        labels: np.ndarray,
        seed: int,
        sampling: Any,
        batch: int,
        first: int = 0,
        notify: Notify = ignore,
        stepped: Notify = ignore,
        failed: Callable[[int, str], None] | None = None,
    ) -> Any:
        """An image of each of ``labels[n]``, ``batch`` at a time: samples, arrays of n rows by name.

        The first is replicate ``first`` of the tape. ``notify`` is told how many images are done; and, where the kind's
        decoders tell, ``stepped`` after a step how many tokens there are, and ``failed`` of images that cannot be
        drawn, by their numbers, and why.
        """

    @abstractmethod
    def pictures(self, samples: Any, batch: int) -> np.ndarray:
        """``float32[n, H, W]`` or ``[n, H, W, 3]`` from 0 to 1: the images of samples."""


def labels_of(name: str, count: int, labels: Sequence[str] = CLASSES) -> np.ndarray:
    """``int[count]``: the one of ``labels`` called ``name``, or every one in turn for "all"; 0 where there are none.

    Raises ``ValueError`` for a name there is none of.
    """
    if name == "all":
        return np.arange(count) % max(1, len(labels))
    if name not in labels:
        expected = f"one of {', '.join(labels)}, or all" if labels else "all: the model has no labels"
        raise ValueError(f"unknown label {name!r}; {meant(name, (*labels, 'all'))}expected {expected}")
    return np.full(count, labels.index(name))


def labels_for(seed: int, count: int) -> np.ndarray:
    """``int64[count]``: a class for each image, drawn like everything else; the first do not depend on ``count``."""
    return np.random.Generator(np.random.Philox(seed)).integers(len(CLASSES), size=count)


def check_device(name: str) -> str:
    """``name``, if torch can compute there; raises ``ValueError`` where it cannot."""
    try:
        kind = torch.device(name).type
    except RuntimeError:
        kind = ""
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"{name!r} is no device; expected cpu or cuda")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"{name}: there is no CUDA device; expected cpu")
    if kind == "cuda" and (torch.device(name).index or 0) >= torch.cuda.device_count():
        raise ValueError(f"{name}: there are {torch.cuda.device_count()} CUDA devices; expected one of them")
    return name


class OutOfMemory(Exception):
    """A device, or this machine, has no memory left."""


@contextmanager
def memory() -> Iterator[None]:
    """Raise :class:`OutOfMemory` for what torch makes of too little memory, and ``ValueError`` for rows with NaN."""
    try:
        yield
    except Exception as error:
        if NOT_NUMBERS in str(error):
            raise ValueError(NOT_NUMBERS) from error
        if (lacking := out_of_memory(error)) is None:
            raise
        raise OutOfMemory(lacking) from error
