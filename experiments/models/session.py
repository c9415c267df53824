"""Models loaded on demand, and batches of images sampled from them.

The tape numbers its replicates, and image i is replicate i whatever batch it is drawn in; so it has the same tokens,
unless a row that was rounded otherwise, as it may be in a batch of another size, just tips a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from experiments.models.methods import Drafter, Method
from experiments.results import sha256
from simlab.models.adapters.fashion import (
    CLASSES,
    SHIPPED,
    load_classifier,
    load_draft,
    load_head,
    load_target,
    load_tokenizer,
)
from simlab.models.architectures.classifier import Classifier
from simlab.models.architectures.eagle import EagleDraft, Head
from simlab.models.architectures.tokenizer import Tokenizer
from simlab.models.architectures.transformer import Transformer
from simlab.models.engine import Request, Result, serve
from simlab.models.engine.requests import lacks_memory, out_of_memory
from simlab.models.process.cached import NOT_NUMBERS, Cached
from simlab.models.process.clock import UNTIMED, Clock
from simlab.models.process.sampling import Sampling
from simlab.processes import Process

Notify = Callable[[int], None]  # called with how many images are done


class Models:
    """The models of a ``folder`` on a ``device``, each read when it is first asked for.

    Raises :class:`~simlab.models.checkpoints.CheckpointError` then, for a checkpoint that is missing or wrong.
    """

    def __init__(self, folder: Path | None = None, device: str = "cpu") -> None:
        self.folder, self.device = folder or SHIPPED, torch.device(device)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return load_tokenizer(self.folder, self.device)

    @cached_property
    def target(self) -> Transformer:
        model = load_target(self.folder, self.device)
        self._fits("target", model)
        return model

    @cached_property
    def draft(self) -> Transformer:
        model = load_draft(self.folder, self.device)
        self._fits("draft", model)
        return model

    @cached_property
    def head(self) -> Head:
        return load_head(self.folder, self.device)

    @cached_property
    def classifier(self) -> Classifier:
        model = load_classifier(self.folder, self.device)
        if model.config.side != self.tokenizer.config.side:
            raise ValueError(
                f"{self.folder}: the classifier is for {model.config.side} pixels a side; expected "
                f"{self.tokenizer.config.side}, those of the tokenizer"
            )
        return model

    @property
    def codebook(self) -> np.ndarray:
        """``float64[V, d]``: the vectors of the tokenizer's codes."""
        return self.tokenizer.codebook.detach().cpu().double().numpy()

    @property
    def drafters(self) -> tuple[Drafter, ...]:
        """The models that draft there are."""
        return tuple(name for name in get_args(Drafter) if (self.folder / f"{name}.safetensors").exists())

    def fingerprint(self, kind: str) -> str:
        """What tells a model, the "target" or one that drafts, from all others."""
        return sha256(self.folder / f"{kind}.safetensors")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the conditions, by their numbers."""
        return CLASSES

    @property
    def draws(self) -> bool:
        """Whether there are images, or tokens only."""
        return True

    def pixels(self, tokens: Tensor) -> Tensor:
        """``float[B, C, H, W]`` of ``int[B, N]``."""
        return self.tokenizer.decode(tokens)

    def _fits(self, kind: str, model: Transformer) -> None:
        """Raise ``ValueError`` unless a transformer is over the codes and the grid of the tokenizer."""
        own = model.config.vocabulary, tuple(model.config.shape)
        wanted = self.tokenizer.config.codes, tuple(self.tokenizer.config.shape)
        if own != wanted:
            raise ValueError(
                f"{self.folder}: the {kind} has (vocabulary, shape) {own}; expected those of the tokenizer, {wanted}"
            )
        if model.config.condition != "class" or model.config.classes != len(CLASSES):
            raise ValueError(f"{self.folder}: the {kind} is for other conditions; expected {len(CLASSES)} classes")


class Samples(NamedTuple):
    """Images as tokens, and what every call of the target did; calls of a sequence that is over committed 0 tokens."""

    tokens: np.ndarray  # int64[n, N]
    steps: np.ndarray  # int64[n]: calls of the target
    accepted: np.ndarray  # int64[n, S]: drafts accepted by each call
    committed: np.ndarray  # int64[n, S]: tokens added by each call


def processes(
    models: Models, drafter: Drafter | None, labels: np.ndarray, sampling: Sampling
) -> tuple[Cached, Process | None]:
    """The target for one image of each of ``labels[B]``, and what drafts for it, as :func:`draw` has them."""
    form = Cached
    if models.device.type == "cpu":
        from simlab.models.process.cached_compiled import CachedOnHost  # loads Numba

        form = CachedOnHost
    given = torch.from_numpy(labels).to(models.device)
    target = form(models.target, given, sampling)
    if drafter == "head":
        return target, EagleDraft(models.head, target)
    return target, form(models.draft, given, sampling, lag=1) if drafter == "draft" else None


def draw(
    models: Models,
    method: Method,
    labels: np.ndarray,
    seed: int,
    sampling: Sampling,
    batch: int,
    first: int = 0,
    notify: Notify = lambda done: None,
    clock: Clock = UNTIMED,
    stepped: Notify = lambda tokens: None,
    failed: Callable[[int, str], None] | None = None,
) -> Samples:
    """An image of each of ``labels[n]``, ``batch`` at a time; the first is replicate ``first`` of the tape.

    ``notify`` is told how many images are done, ``stepped`` after a step how many tokens there are. ``failed`` is told
    of images that cannot be drawn, by their numbers, and why; they are not among the samples. Raises
    :class:`OutOfMemory` or ``ValueError`` for the first of them unless it is given, or if there are no others.
    """
    requests = [
        Request(label, method.decoder, method.rule, seed, first + i, sampling)
        for i, label in enumerate(labels.tolist())
    ]
    results: list[Result] = []
    lost: list[Result] = []
    for result in serve(models.target, requests, batch, drafting(models, method.drafter), notify=stepped, clock=clock):
        (results if result.error is None else lost).append(result)
        if lost and failed is None:
            break
        notify(len(results) + len(lost))
    if lost and (failed is None or not results):
        raise OutOfMemory(lost[0].error) if lacks_memory(lost[0]) else ValueError(lost[0].error)
    if failed is not None:
        for result in sorted(lost, key=lambda result: result.index):
            failed(result.index, str(result.error))
    return _joined(sorted(results, key=lambda result: result.index))


def drafting(models: Models, drafter: Drafter | None) -> Any:
    """What drafts for the target: the draft model, the head, or nothing."""
    if drafter == "head":
        return models.head
    return models.draft if drafter == "draft" else None


def _joined(results: list[Result]) -> Samples:
    """All images together; calls that only some of them needed are 0 in the others."""
    most = max(result.steps for result in results)

    def filled(values: np.ndarray) -> np.ndarray:
        return np.pad(values, (0, most - len(values)))

    return Samples(
        np.array([result.tokens for result in results]),
        np.array([result.steps for result in results]),
        np.array([filled(result.accepted) for result in results]),
        np.array([filled(result.committed) for result in results]),
    )


@torch.no_grad()
def pictures(models: Models, tokens: np.ndarray, batch: int) -> Tensor:
    """``float32[n, C, H, W]`` on the CPU: the images of ``tokens[n, N]``."""
    parts = torch.from_numpy(tokens).split(batch)
    return torch.cat([models.pixels(part.to(models.device)).cpu() for part in parts])


def labels_of(name: str, count: int, labels: Sequence[str] = CLASSES) -> np.ndarray:
    """``int[count]``: the one of ``labels`` called ``name``, or every one in turn for "all"; 0 where there are none.

    Raises ``ValueError`` for a name there is none of.
    """
    if name == "all":
        return np.arange(count) % max(1, len(labels))
    if name not in labels:
        expected = f"one of {', '.join(labels)}, or all" if labels else "all: the model has no labels"
        raise ValueError(f"unknown label {name!r}; expected {expected}")
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


def sampling_record(sampling: Sampling) -> dict[str, Any]:
    """A sampling, to be written down."""
    names = "guidance", "temperature", "top_k", "top_p"
    return {name: getattr(sampling, name) for name in names}
