"""Continuous tokens: vectors, kernels of two networks for their denoising steps, and what their decoders draw.

Image i has an order of places of its own, whatever batch it is drawn in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from experiments.models.continuous.methods import Method, make_method, names_with
from experiments.models.session import Models, Notify, ignore
from simlab.continuous.decoders import Outcome, autoregressive
from simlab.continuous.decoders.base import Watch, unwatched
from simlab.continuous.models.sequences import Pair
from simlab.continuous.networks.adapter import NetworkTokens
from simlab.continuous.networks.fashion import ORDERS, FashionContinuous, load_fashion_continuous, orders
from simlab.continuous.networks.sampler import Sampler
from simlab.randomness import Tape


@dataclass(frozen=True)
class Settings:
    """How images are drawn, whatever the method."""

    sampler: Sampler  # steps, variances, temperature, guidance; its end is the method's affair
    order: str = ORDERS[0]  # of places: raster or random

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

    @property
    def saved(self) -> tuple[str, ...]:
        """What is written beside the labels."""
        return self._fields

    def took(self) -> tuple[str, ...]:
        """What they took, and what became of drafts, for a person."""
        calls = f"calls of the target {self.calls.mean():.1f} an image"
        accepted, verified, exhausted = (int(each.sum()) for each in (self.accepted, self.verified, self.exhausted))
        if not verified:
            return (calls,)
        proposals = self.trials.sum() / max(1, verified - accepted)
        drafts = f"accepted {accepted / verified:.1%} of drafts; {proposals:.2f} proposals a rejected one"
        return calls, drafts + (f"; of {exhausted} drafts no proposal was taken" if exhausted else "")

    @property
    def accepted(self) -> np.ndarray:
        """``bool[n, N]``: where a draft was accepted."""
        return self.outcome == Outcome.ACCEPTED

    @property
    def exhausted(self) -> np.ndarray:
        """``bool[n, N]``: where a draft was rejected, and no proposal taken."""
        return self.outcome == Outcome.EXHAUSTED

    @property
    def verified(self) -> np.ndarray:
        """``bool[n, N]``: where a draft was verified."""
        return (self.outcome != Outcome.TARGET) & (self.outcome != Outcome.MISSING)


class Continuous(Models):
    """An autoencoder, a target over its tokens, and a draft of it."""

    name = "fashion-continuous"
    files = "continuous-autoencoder", "continuous-target", "continuous-draft"

    @cached_property
    def pair(self) -> FashionContinuous:
        return load_fashion_continuous(self.folder, self.device)

    @property
    def shape(self) -> tuple[int, int]:
        return self.pair.target.config.shape

    def names(self, sampling: Settings) -> tuple[str, ...]:
        """All methods that its sampler has densities for."""
        return tuple(name for name in names_with(sampling.sampler) if self._has_densities(make_method(name), sampling))

    def method(self, name: str, settings: Mapping[str, Any]) -> Method:
        """As :func:`~experiments.models.continuous.methods.make_method` has it."""
        return make_method(name, **settings)

    def check(self, sampling: Settings) -> None:
        """Nothing: samplers check themselves."""

    def processes(
        self, labels: np.ndarray, replicates: np.ndarray, seed: int, sampling: Settings, sampler: Sampler
    ) -> tuple[Pair[NetworkTokens], np.ndarray]:
        """The target and the draft for images of ``labels[B]``, and the places of their tokens ``int[B, N]``."""
        places = orders(sampling.order, replicates, self.pair.length, seed)
        return self.pair.pair(labels, places, sampler), places

    def draw(
        self,
        method: Method,
        labels: np.ndarray,
        seed: int,
        sampling: Settings,
        batch: int,
        first: int = 0,
        notify: Notify = ignore,
        stepped: Notify = ignore,
        failed: Callable[[int, str], None] | None = None,
        watch: Watch = unwatched,
    ) -> Samples:
        """An image of each of ``labels[n]``, ``batch`` at a time; ``watch`` is shown what is verified."""
        parts = []
        for begin in range(0, len(labels), batch):
            own = labels[begin : begin + batch]
            replicates = first + begin + np.arange(len(own))
            pair, places = self.processes(own, replicates, seed, sampling, sampling.of(method))
            tape = Tape(seed, replicates.tolist())
            if method.decoder is None or method.rule is None:
                found = autoregressive(pair.target, tape)
            else:
                found = method.decoder.run(pair.target, pair.draft, method.rule, tape, watch)
            parts.append(Samples(found.tokens, places, found.outcome, found.trials, found.calls))
            notify(begin + len(own))
        return Samples(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def _has_densities(self, method: Method, sampling: Settings) -> bool:
        """Whether the ratio of a method's rule exists."""
        if method.decoder is None or method.rule is None:
            return True
        one = np.zeros(1, np.int64)
        pair, _ = self.processes(one, one, 0, sampling, sampling.of(method))
        try:
            for chain in method.decoder.chains(pair.target):
                method.rule.check(chain, pair.draft.chain)
        except ValueError:
            return False
        return True

    def pictures(self, samples: Samples, batch: int) -> np.ndarray:
        """``float32[n, side, side]`` from 0 to 1: the images of samples."""
        return self.pair.images(samples.tokens, samples.places)
