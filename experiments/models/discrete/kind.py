"""Discrete tokens: codes, rows of a target over all of them, and what a run of the engine draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from experiments.models.discrete.methods import METHODS, Drafter, Method, make_method
from experiments.models.session import Models, Notify, OutOfMemory, ignore
from experiments.results import sha256
from simlab.models.adapters.fashion import (
    CLASSES,
    load_classifier,
    load_draft,
    load_head,
    load_target,
    load_tokenizer,
)
from simlab.models.architectures.classifier import Classifier
from simlab.models.architectures.eagle import Head
from simlab.models.architectures.tokenizer import Tokenizer
from simlab.models.architectures.transformer import Transformer
from simlab.models.checkpoints import CheckpointError
from simlab.models.engine import Request, Result, serve
from simlab.models.engine.processes import process_pair
from simlab.models.engine.requests import lacks_memory
from simlab.models.process.cached import Cached
from simlab.models.process.clock import UNTIMED, Clock
from simlab.models.process.sampling import Sampling
from simlab.processes import Process


class Samples(NamedTuple):
    """Images as tokens, and what every call of the target did; calls of a sequence that is over committed 0 tokens."""

    tokens: np.ndarray  # int64[n, N]
    steps: np.ndarray  # int64[n]: calls of the target
    accepted: np.ndarray  # int64[n, N]: drafts accepted by each call
    committed: np.ndarray  # int64[n, N]: tokens added by each call

    @property
    def saved(self) -> tuple[str, ...]:
        """What is written beside the labels."""
        return "tokens", "steps"

    def took(self) -> tuple[str, ...]:
        """What they took, for a person."""
        compression = self.tokens.size / self.steps.sum()
        return (f"steps {self.steps.mean():.1f} an image, step compression {compression:.2f}",)


class Discrete(Models):
    """A tokenizer, a target over its codes, and what drafts for it."""

    name = "fashion"
    files = "tokenizer", "target", "draft", "head", "classifier"

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return load_tokenizer(self.folder, self.device)

    @cached_property
    def target(self) -> Transformer:
        return self._fitting("target", load_target(self.folder, self.device))

    @cached_property
    def draft(self) -> Transformer:
        return self._fitting("draft", load_draft(self.folder, self.device))

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
        path = self.folder / f"{kind}.safetensors"
        if not path.is_file():
            raise CheckpointError(f"{path}: there is no such file; expected a checkpoint of a {kind}")
        return sha256(path)

    def pixels(self, tokens: Tensor) -> Tensor:
        """``float[B, C, H, W]`` of ``int[B, N]``."""
        return self.tokenizer.decode(tokens)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.target.config.shape
        return rows, columns

    def names(self, sampling: Sampling) -> tuple[str, ...]:
        """All methods; every one goes with every sampling."""
        return tuple(METHODS)

    def method(self, name: str, settings: Mapping[str, Any]) -> Method:
        """As :func:`~experiments.models.discrete.methods.make_method` has it, over the tokenizer's codebook."""
        return make_method(name, self.codebook, settings)

    def check(self, sampling: Sampling) -> None:
        """Raise ``ValueError`` where a sampling does not fit the target."""
        sampling.check(self.target.config.length, self.target.config.vocabulary)

    def processes(
        self, drafter: Drafter | None, labels: np.ndarray, sampling: Sampling
    ) -> tuple[Cached, Process | None]:
        """The target for one image of each of ``labels[B]``, and what drafts for it, as :func:`draw` has them."""
        form = Cached
        if self.device.type == "cpu":
            from simlab.models.process.cached_compiled import CachedOnHost  # loads Numba

            form = CachedOnHost
        given = torch.from_numpy(labels).to(self.device)
        return process_pair(self.target, self.drafting(drafter), given, sampling, form)

    def drafting(self, drafter: Drafter | None) -> Any:
        """What drafts for the target: the draft model, the head, or nothing."""
        if drafter == "head":
            return self.head
        return self.draft if drafter == "draft" else None

    def draw(
        self,
        method: Method,
        labels: np.ndarray,
        seed: int,
        sampling: Sampling,
        batch: int,
        first: int = 0,
        notify: Notify = ignore,
        stepped: Notify = ignore,
        failed: Callable[[int, str], None] | None = None,
        clock: Clock = UNTIMED,
    ) -> Samples:
        """An image of each of ``labels[n]``, ``batch`` at a time; the first is replicate ``first`` of the tape.

        Images that cannot be drawn are not among the samples. Raises :class:`OutOfMemory` or ``ValueError`` for the
        first of them unless ``failed`` is given, or if there are no others.
        """
        requests = [
            Request(label, method.decoder, method.rule, seed, first + i, sampling)
            for i, label in enumerate(labels.tolist())
        ]
        results: list[Result] = []
        lost: list[Result] = []
        for result in serve(self.target, requests, batch, self.drafting(method.drafter), notify=stepped, clock=clock):
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

    @torch.no_grad()
    def pictures(self, samples: Samples, batch: int) -> np.ndarray:
        parts = torch.from_numpy(samples.tokens).split(batch)
        images = torch.cat([self.pixels(part.to(self.device)).float().cpu() for part in parts])
        return np.asarray(images.movedim(1, -1).squeeze(-1))

    def _fitting(self, kind: str, model: Transformer) -> Transformer:
        """``model``; raises ``ValueError`` unless it is over the codes and the grid of the tokenizer."""
        own = model.config.vocabulary, tuple(model.config.shape)
        wanted = self.tokenizer.config.codes, tuple(self.tokenizer.config.shape)
        if own != wanted:
            raise ValueError(
                f"{self.folder}: the {kind} has (vocabulary, shape) {own}; expected those of the tokenizer, {wanted}"
            )
        if model.config.condition != "class" or model.config.classes != len(CLASSES):
            raise ValueError(f"{self.folder}: the {kind} is for other conditions; expected {len(CLASSES)} classes")
        return model


def _joined(results: list[Result]) -> Samples:
    """All images together; calls that one did not need, of as many as it has tokens, are 0."""
    tokens = np.array([result.tokens for result in results])

    def filled(values: np.ndarray) -> np.ndarray:
        return np.pad(values, (0, tokens.shape[1] - len(values)))

    return Samples(
        tokens,
        np.array([result.steps for result in results]),
        np.array([filled(result.accepted) for result in results]),
        np.array([filled(result.committed) for result in results]),
    )


def sampling_record(sampling: Sampling) -> dict[str, Any]:
    """A sampling, to be written down."""
    names = "guidance", "temperature", "top_k", "top_p"
    return {name: getattr(sampling, name) for name in names}
