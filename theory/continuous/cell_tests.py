"""Sequences that a decoder made, held against a normal law: how many fall into each of many cells of one mass."""

from __future__ import annotations

import numpy as np
import scipy

from simlab.statistics import GTest
from theory.continuous.sequences import SequenceLaw


def even(size: int, parts: int = 4) -> GTest:
    """The test of ``size`` independent standard normals, each in ``parts`` parts of one mass."""
    return GTest(np.full(parts**size, 1 / parts**size))


def sequence_p(law: SequenceLaw, tokens: np.ndarray, parts: int = 4) -> float:
    """How surprising the sequences ``[B, N, d]`` are under the law."""
    normals = law.whitened(tokens)
    size = normals.shape[1]
    places = np.minimum((parts * scipy.special.ndtr(normals)).astype(int), parts - 1)
    counts = np.bincount(places @ parts ** np.arange(size), minlength=parts**size)
    return float(even(size, parts).p_value(counts))


def token_p(law: SequenceLaw, tokens: np.ndarray) -> float:
    """How surprising the tokens are, each by itself: the least p-value, times how many there are."""
    found = []
    for n in range(tokens.shape[1]):
        mean, covariance = law.token(n)
        found.append(sequence_p(SequenceLaw(mean[None], covariance), tokens[:, n : n + 1]))
    return min(1.0, min(found) * len(found))
