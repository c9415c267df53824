"""The pair of continuous tokens, and batches of images that a method draws with it.

Image i is replicate i of the tape and has an order of places of its own, whatever batch it is drawn in; so it has the
same tokens, but for the rounding of networks in a batch of another size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from experiments.models.continuous.methods import Method
from simlab.continuous.decoders import autoregressive
from simlab.continuous.decoders.base import Watch, unwatched
from simlab.continuous.models.sequences import Pair
from simlab.continuous.networks.adapter import NetworkTokens
from simlab.continuous.networks.fashion import ORDERS, FashionContinuous, load_fashion_continuous, orders
from simlab.continuous.networks.sampler import Sampler
from simlab.models.adapters.fashion import CLASSES, SHIPPED, load_classifier
from simlab.models.architectures.classifier import Classifier
from simlab.randomness import Tape

Notify = Callable[[int], None]  # called with how many images are done


class Models:
    """The pair of a ``folder`` on a ``device``, with the classifier that comes along; each read when it is asked for.

    Raises :class:`~simlab.models.checkpoints.CheckpointError` then, for a checkpoint that is missing or wrong.
    """

    def __init__(self, folder: Path | None = None, device: str = "cpu") -> None:
        self.folder, self.device = folder or SHIPPED, torch.device(device)

    @cached_property
    def pair(self) -> FashionContinuous:
        return load_fashion_continuous(self.folder, self.device)

    @cached_property
    def classifier(self) -> Classifier:
        return load_classifier(SHIPPED, self.device)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, by their numbers."""
        return CLASSES

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of tokens."""
        return self.pair.target.config.shape


@dataclass(frozen=True)
class Settings:
    """How images are drawn, whatever the method.

    Attributes
    ----------
    sampler
        Steps, variances, temperature, guidance; its end is the method's affair.
    order
        Of places: ``raster`` or ``random``.
    seed
        Of all random numbers.
    """

    sampler: Sampler
    order: str = ORDERS[0]
    seed: int = 0

    def of(self, method: Method) -> Sampler:
        """The sampler with the end that a method needs."""
        if method.noisy_end is None:
            return self.sampler
        return replace(self.sampler, noisy_end=method.noisy_end)

    def record(self) -> dict[str, Any]:
        """To be written down; the end is told by the method."""
        own = dict(vars(self.sampler))
        del own["noisy_end"]
        return own | {"order": self.order}


class Samples(NamedTuple):
    """Images as tokens in the order they were made, and what became of each; ``[n, N]`` but for the first and last."""

    tokens: np.ndarray  # float64[n, N, d]
    places: np.ndarray  # int64[n, N]: of each token, in raster order
    outcome: np.ndarray  # int8[n, N], of simlab.continuous.Outcome
    trials: np.ndarray  # int64[n, N]: proposals
    calls: np.ndarray  # int64[n]: of the target


def draw(
    models: Models,
    method: Method,
    labels: np.ndarray,
    settings: Settings,
    batch: int,
    first: int = 0,
    notify: Notify = lambda done: None,
    watch: Watch = unwatched,
) -> Samples:
    """An image of each of ``labels[n]``, ``batch`` at a time; the first is replicate ``first`` of the tape."""
    parts = []
    for begin in range(0, len(labels), batch):
        own = labels[begin : begin + batch]
        replicates = first + begin + np.arange(len(own))
        pair, places = pair_for(models, own, replicates, settings, settings.of(method))
        tape = Tape(settings.seed, replicates.tolist())
        if method.decoder is None or method.rule is None:
            found = autoregressive(pair.target, tape)
        else:
            found = method.decoder.run(pair.target, pair.draft, method.rule, tape, watch)
        parts.append(Samples(found.tokens, places, found.outcome, found.trials, found.calls))
        notify(begin + len(own))
    return joined(parts)


def pair_for(
    models: Models, labels: np.ndarray, replicates: np.ndarray, settings: Settings, sampler: Sampler
) -> tuple[Pair[NetworkTokens], np.ndarray]:
    """The target and the draft for one image of each of ``labels[B]``, and the places of its tokens ``int[B, N]``."""
    places = orders(settings.order, replicates, models.pair.length, settings.seed)
    return models.pair.pair(labels, places, sampler), places


def joined(parts: list[Samples]) -> Samples:
    """All images together."""
    return Samples(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def pictures(models: Models, samples: Samples) -> np.ndarray:
    """``float32[n, side, side]`` from 0 to 1: the images of samples."""
    return models.pair.images(samples.tokens, samples.places)
