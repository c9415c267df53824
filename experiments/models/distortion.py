"""Exact distortion of each token that a lossy rule emits, in the contexts that a real run visits.

As in :mod:`experiments.sweeps.distortion`: at every ``STRIDE``-th position the law of the token that was committed
there is compared with the target's row p, both given the tokens before. A token that followed p without a draft counts
as 0. A decoder with one chain of drafts verifies them all in one call of its rule; a tree does not, and is not
measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from experiments.models.methods import Method
from experiments.models.session import Models, processes
from experiments.sweeps.distortion import FIRST, STRIDE
from simlab.arrays import Array, total_variation
from simlab.decoders import Info, SjdPd, run, verifies
from simlab.models.process.sampling import Sampling
from simlab.randomness import Tape
from simlab.rules import Rule, Speculative
from simlab.rules.compiled import compiled_step
from simlab.statistics import estimate
from theory.wasserstein import wasserstein1_nearly


class RecordingRule(Rule):
    """A ``rule`` that records the rows of the first drafts it verifies."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.rows: tuple[Array, Array] | None = None

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        self.rows = self.rows or (p, q)
        return self.rule.accept_rows(p, q, x)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.rule.weights_rows(p, q, x)

    def residual_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.rule.residual_rows(p, q, x)

    def law_rows(self, p: Array, q: Array) -> Array:
        return self.rule.law_rows(p, q)


def measurable(method: Method) -> bool:
    """Whether each token of the method has one draft at most, verified by its rule."""
    return verifies(method.decoder) and not isinstance(method.decoder, SjdPd)


def distortion(
    models: Models, method: Method, labels: np.ndarray, seed: int, sampling: Sampling
) -> dict[str, float] | None:
    """Means over the contexts of one batch of images, ``labels[n]`` with n >= 2; None for what is not measured."""
    if not measurable(method):
        return None
    target, draft = processes(models, method.drafter, labels, sampling)
    recorder, codebook = RecordingRule(method.rule), models.codebook
    found: list[list[tuple[float, ...]]] = [[] for _ in labels]

    def watch(before: Any, after: Any, info: Info) -> None:
        assert recorder.rows is not None, "every call verifies"
        p, q = recorder.rows
        recorder.rows = None
        for image, k, (own_p, own_q) in _looked_at(before.length, info.committed, p, q):
            bonus = k == q.shape[1]
            found[image].append((0.0,) * 4 if bonus else _point(method.rule, own_p, own_q, codebook))

    run(method.decoder, target, recorder, Tape(seed, len(labels)), draft, watch)
    points = [np.array([point[:2] for point in own]) for own in found]
    visited = np.array([point[2:] for own in found for point in own if any(point)])
    far, moved = (estimate([own[:, column].mean() for own in points]) for column in (0, 1))
    return {
        "tv": far.mean,
        "tv_error": far.error,
        "wasserstein": moved.mean,
        "wasserstein_error": moved.error,
        "acceptance": float(visited[:, 0].mean()) if len(visited) else 0.0,
        "acceptance_lossless": float(visited[:, 1].mean()) if len(visited) else 0.0,
        "contexts": sum(map(len, points)),
    }


def _looked_at(
    length: torch.Tensor, committed: torch.Tensor, p: Array, q: Array
) -> Iterator[tuple[int, int, tuple[np.ndarray, np.ndarray]]]:
    """The committed tokens of a call at the positions that are looked at: image, place in the window, rows."""
    starts, counts = length.tolist(), committed.tolist()
    for image, (start, count) in enumerate(zip(starts, counts, strict=True)):
        for k in range(count):
            if (start + k) % STRIDE == FIRST:
                inside = min(k, q.shape[1] - 1)
                yield image, k, (_summing_to_one(p[image, inside]), _summing_to_one(q[image, inside]))


def _summing_to_one(row: torch.Tensor) -> np.ndarray:
    """``float64[V]``: a row without what float32 leaves over."""
    wide: np.ndarray = row.double().cpu().numpy()
    return wide / wide.sum()


def _point(rule: Rule, p: np.ndarray, q: np.ndarray, codebook: np.ndarray) -> tuple[float, ...]:
    """TV, Wasserstein-1, acceptance, and that of the lossless rule."""
    step, lossless = compiled_step(rule, p, q), compiled_step(Speculative(), p, q)
    far = wasserstein1_nearly(step.law, p, codebook)
    return float(total_variation(step.law, p)), far, step.acceptance, lossless.acceptance
