"""Tests of whether a method's samples follow the target, and measures of their quality.

The Frechet distance is that between normal distributions fitted to features of *simlab's own classifier*: no numbers of
other classifiers' features compare with it.

A method is tested in four ways. Ranks are exact and the sharpest: order each row by probability, and the mass before
the token, plus a uniform share of its own, is uniform and independent of all before it, if every token follows its row.
The others compare two samples, cut into cells that are made from both together. The images of one method share their
random numbers with those of another, so all are held against images of ``ar`` that have numbers of their own. Labels
are drawn like everything else, so that images are independent of each other and follow one law. By Bonferroni's
inequality all tests of all lossless methods together raise a false alarm with probability about ``FALSE_ALARMS`` or
less.

What a test detects is a TV over its cells, with probability .999 whatever the shape. Of 512 images of 196 tokens a
method, the 21 lossless methods together: ranks .017, likelihood and features .33, accuracy .28. Deviations finer than
the cells, or smaller, can stay unseen; the tests of this module compute the power that is stated.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans

from experiments.models.likelihood import Classified, Likelihood
from simlab.statistics import GTest, Stated, TwoSampleG, estimate

FALSE_ALARMS = 1e-6
CELLS = 16  # of ranks, likelihoods and features, at most
RANKS = 1  # beside the seed: the shares are of other random numbers than the labels
SHARE = 30  # images in a cell, on average: a little more than the least of the tests' own
TESTS = ("ranks", "likelihood", "features", "accuracy")


class Sample(NamedTuple):
    """Images of one method, as the target and the classifier see them."""

    likelihood: Likelihood
    classes: Classified

    @property
    def bits(self) -> np.ndarray:
        """``float64[n]``: bits a token, of every image."""
        return self.likelihood.bits.mean(axis=1)


def checks(sample: Sample, reference: Sample, level: float, seed: int) -> dict[str, dict[str, Any]]:
    """By test: its p-value, whether that is above ``level``, and the smallest deviation it detects."""
    counts = rank_counts(sample.likelihood, seed)
    return tested(counts, "likelihood", (sample.bits, reference.bits), (sample.classes, reference.classes), level)


def tested(
    ranks: np.ndarray | None,
    name: str,
    numbers: tuple[np.ndarray, np.ndarray],
    classes: tuple[Classified, Classified],
    level: float,
) -> dict[str, dict[str, Any]]:
    """The same of counts ``ranks[CELLS]``, where there are any, and of two samples of n images.

    The test called ``name`` is of ``numbers``, one of each image.
    """
    n = len(classes[0].right)
    two, half = TwoSampleG(cells(n)), TwoSampleG(2)
    right = [np.bincount(side.right, minlength=2) for side in classes]
    p_values = {
        name: two.p_value(*in_cells(*numbers)),
        "features": two.p_value(*in_clusters(*(side.features for side in classes))),
        "accuracy": half.p_value(*right),
    }
    if ranks is not None:
        p_values = {"ranks": GTest(dict.fromkeys(range(CELLS), 1 / CELLS)).p_value(ranks)} | p_values
    says = stated(n, 1 if ranks is None else int(ranks.sum()), level)
    says[name] = says["likelihood"]
    return {test: summary(p_value, *says[test]) for test, p_value in p_values.items()}


def stated(n: int, tokens: int, level: float) -> dict[str, tuple[Stated, int]]:
    """By test of n images of ``tokens`` tokens together: what it detects, and over how many cells at most."""
    counted = {"ranks": CELLS, "likelihood": cells(n), "features": cells(n), "accuracy": 2}
    ranks = GTest(dict.fromkeys(range(CELLS), 1 / CELLS)).stated(tokens, level)
    two = {name: TwoSampleG(counted[name]).stated(n, level) for name in TESTS[1:]}
    return {name: (two.get(name, ranks), counted[name]) for name in TESTS}


def measures(sample: Sample, reference: Sample, held_out: np.ndarray | None) -> dict[str, Any]:
    """How good the samples are; bits are None where a token is impossible."""
    bits = estimate(np.where(np.isfinite(sample.bits), sample.bits, 0.0))
    impossible = int(np.isinf(sample.likelihood.bits).sum())
    return {
        "bits_per_token": bits.mean if not impossible else None,
        "bits_per_token_error": bits.error if not impossible else None,
        "impossible_tokens": impossible,
        **of_classes(sample.classes, reference.classes, held_out),
    }


def of_classes(own: Classified, reference: Classified, held_out: np.ndarray | None) -> dict[str, Any]:
    """How good images are, as the classifier sees them."""
    accuracy = estimate(own.right)
    return {
        "accuracy": accuracy.mean,
        "accuracy_error": accuracy.error,
        "frechet_to_ar": frechet(own.features, reference.features),
        "frechet_to_held_out": None if held_out is None else frechet(own.features, held_out),
    }


def frechet(first: np.ndarray, second: np.ndarray) -> float:
    """Between normal distributions fitted to features ``[n, d]`` and ``[m, d]``.

    |a - b|^2 + tr(A + B - 2 (A B)^(1/2)), where the trace of the root is that of (A^(1/2) B A^(1/2))^(1/2): a symmetric
    matrix, so nothing complex comes up where rounding makes A B none with real roots.
    """
    one, other = (np.cov(side, rowvar=False, dtype=np.float64) for side in (first, second))
    values, vectors = eigh(one)
    half = vectors * np.sqrt(values.clip(0)) @ vectors.T
    roots = np.sqrt(eigh(half @ other @ half, eigvals_only=True).clip(0))
    apart = first.mean(axis=0) - second.mean(axis=0)
    return max(0.0, float(apart @ apart + np.trace(one) + np.trace(other) - 2 * roots.sum()))


# Cells ------------------------------------------------------------------------------------------------------------


def rank_counts(likelihood: Likelihood, seed: int) -> np.ndarray:
    """``int64[CELLS]``: how many tokens have a rank in each cell of 0 to 1."""
    return in_even_cells(_ranks(likelihood, seed))


def in_even_cells(shares: np.ndarray) -> np.ndarray:
    """``int64[CELLS]``: how many of the numbers from 0 to 1 are in each cell."""
    return np.bincount((shares * CELLS).astype(np.int64).clip(0, CELLS - 1).ravel(), minlength=CELLS)


def rank_distance(likelihood: Likelihood, seed: int) -> dict[str, float]:
    """How far ranks are from uniform: the largest difference of their distribution function from it, and its error.

    Ranks are made of tokens, so that the TV of tokens from their rows, in the mean, is at least as large. The error is
    over images, at the place where the difference is largest; of uniform ranks the largest is about one error.
    """
    ranks = _ranks(likelihood, seed)
    edges = np.arange(1, CELLS) / CELLS
    below = np.stack([(ranks < edge).mean(axis=1) - edge for edge in edges])  # [CELLS - 1, n]
    place = int(np.abs(below.mean(axis=1)).argmax())
    found = estimate(below[place])
    return {"at_least": abs(found.mean), "error": found.error}


def _ranks(likelihood: Likelihood, seed: int) -> np.ndarray:
    """``float64[n, N]``: the mass before each token, and a uniform share of its own."""
    share = np.random.Generator(np.random.Philox([seed, RANKS])).random(likelihood.mass.shape)
    return likelihood.above + share * likelihood.mass


def cells(n: int) -> int:
    """How many cells two samples of n are cut into."""
    return max(2, min(CELLS, n // SHARE))


def in_cells(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts ``[C]`` of numbers in cells that hold as many of both together."""
    count = cells(len(first))
    edges = np.quantile(np.concatenate([first, second]), np.arange(1, count) / count, method="lower")
    one, other = (np.bincount(np.searchsorted(edges, side), minlength=count) for side in (first, second))
    return one, other


def in_clusters(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts ``[C]`` of points in clusters of both together, which know nothing of what is whose."""
    count = cells(len(first))
    together = np.concatenate([first, second])
    together = together[np.lexsort(together.T)]
    clusters = KMeans(min(count, len(np.unique(together, axis=0))), n_init=1, random_state=0).fit(together)
    one, other = (np.bincount(clusters.predict(side), minlength=count) for side in (first, second))
    return one, other


def summary(p_value: float, stated: Stated, cells: int) -> dict[str, Any]:
    """A test, to be written down; ``detects`` is None where no deviation is surely seen."""
    return {
        "p_value": float(p_value),
        "passes": bool(p_value > stated.false_alarms),
        "n": stated.n,
        "level": stated.false_alarms,
        "detects": stated.detectable if isfinite(stated.detectable) else None,
        "power": stated.power,
        "unit": stated.unit,
        "cells": cells,
    }
