"""Exact distortion of each token that a lossy rule emits, in the contexts that a real run visits.

As in :mod:`experiments.sweeps.distortion`: at every ``STRIDE``-th position the law of the token that was committed
there is compared with the target's row p, both given the tokens before. A token that followed p without a draft counts
as 0. A decoder with one chain of drafts verifies them all in one call of its rule; a tree does not, and is not
measured. Nor are drafts that follow another row than is declared for them, and phrases that are verified jointly. A
draft that is not verified at all follows its own row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import Method
from experiments.models.watched import Windows, watch
from experiments.sweeps.distortion import FIRST, STRIDE, by_declared_rows
from simlab.arrays import total_variation
from simlab.decoders import SjdPd, Skipping
from simlab.models.process.sampling import Sampling
from simlab.randomness import Tape
from simlab.rules import Mixture, Rule, Speculative
from simlab.rules.compiled import compiled_step
from simlab.statistics import estimate
from theory.wasserstein import wasserstein1_nearly

ANY = Mixture(0)  # accepts every draft
UNDRAFTED = 0.0, 0.0, np.nan, np.nan  # of a token without a draft that could be accepted or not


def measurable(method: Method) -> bool:
    """Whether each token of the method has one draft at most, verified by its rule, from the row that is declared."""
    decoder = method.decoder
    return isinstance(decoder, Skipping) or (by_declared_rows(decoder) and not isinstance(decoder, SjdPd))


def contexts(
    models: Discrete, method: Method, labels: np.ndarray, seed: int, sampling: Sampling, first: int = 0
) -> np.ndarray:
    """``float64[n, contexts, 4]``: TV, Wasserstein-1, acceptance, and that of the lossless rule, both NaN of a token
    without a draft; of ``labels[n]`` drawn at once, of which the first is replicate ``first``; n is 0 for what is not
    measured."""
    places = len(range(FIRST, models.target.config.length, STRIDE))
    if not measurable(method) or not len(labels):
        return np.zeros((0, places, 4))
    codebook = models.codebook
    found: list[list[tuple[float, ...]]] = [[] for _ in labels]

    def look(seen: Windows) -> None:
        for image, rows in _at_chosen_positions(seen, method):
            found[image].append(UNDRAFTED if rows is None else _point(*rows, codebook))

    watch(models, method, labels, sampling, Tape(seed, range(first, first + len(labels))), look)
    return np.array(found)


def distortion(found: np.ndarray) -> dict[str, float] | None:
    """Means over contexts ``[n, contexts, 4]``; None for none, and for n = 1."""
    if len(found) < 2:
        return None
    drafted = found[..., 2:][np.isfinite(found[..., 2])]
    far, moved = (estimate(found[..., column].mean(axis=1)) for column in (0, 1))
    return {
        "tv": far.mean,
        "tv_error": far.error,
        "wasserstein": moved.mean,
        "wasserstein_error": moved.error,
        "acceptance": float(drafted[:, 0].mean()) if len(drafted) else 0.0,
        "acceptance_lossless": float(drafted[:, 1].mean()) if len(drafted) else 0.0,
        "contexts": found[..., 0].size,
    }


def _at_chosen_positions(
    seen: Windows, method: Method
) -> Iterator[tuple[int, tuple[Rule, np.ndarray, np.ndarray] | None]]:
    """The committed tokens of a call at the positions that are looked at: image, and rule and rows (p, q) of its draft;
    None for the token that follows a window without one."""
    skipped = method.decoder.skipped if isinstance(method.decoder, Skipping) else 0
    for b, (image, start, count) in enumerate(zip(seen.sequences, seen.start, seen.committed, strict=True)):
        for k in range(count):
            if (start + k) % STRIDE == FIRST:
                drafted = k < seen.q.shape[1]
                rule = ANY if k < skipped else method.rule
                rows = (rule, _summing_to_one(seen.p[b, k]), _summing_to_one(seen.q[b, k])) if drafted else None
                yield image, rows


def _summing_to_one(row: torch.Tensor) -> np.ndarray:
    """``float64[V]``: a row without what float32 leaves over."""
    wide: np.ndarray = row.double().cpu().numpy()
    return wide / wide.sum()


def _point(rule: Rule, p: np.ndarray, q: np.ndarray, codebook: np.ndarray) -> tuple[float, ...]:
    """TV, Wasserstein-1, acceptance, and that of the lossless rule."""
    step, lossless = compiled_step(rule, p, q), compiled_step(Speculative(), p, q)
    far = wasserstein1_nearly(step.law, p, codebook)
    return float(total_variation(step.law, p)), far, step.acceptance, lossless.acceptance
