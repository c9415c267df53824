"""Pairs of chains on the line with every kind of mismatch, for checks that run over many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from simlab.continuous import affine, make_pair
from simlab.continuous.models.chains import Chain
from theory.continuous.line import Given

NOWHERE = (np.zeros(1), np.zeros(1))  # the conditions of tokens that stand alone


class Mismatch(NamedTuple):
    """A target and a draft with their conditions, and what sets them apart."""

    label: str
    target: Chain
    draft: Chain
    given: Given


def mismatches() -> Iterator[Mismatch]:
    """108 affine pairs and 12 of diffusions: T from 2 to 20, means, slopes, and variances of all steps or the last."""
    for steps, slope, gap, sd, last in product((2, 5), (0.7, 0.9), (0.0, 0.1, 0.5), (0.4, 0.5, 0.6), (0.4, 0.5, 0.7)):
        label = f"T = {steps}, slope {slope}, gap {gap}, sd {sd}, last sd {last} for 0.8, 0 and 0.5"
        sds = np.full(steps, sd)
        sds[0] = last
        yield Mismatch(label, affine(steps, 0.8, 0.5), affine(steps, slope, sds, gap), NOWHERE)
    for steps, spread, kernels in product((4, 8, 20), (0.7, 1.0), ("exact", "upper")):
        pair = make_pair("ddpm", dimension=1, steps=steps, draft_variance=spread, draft_kernels=kernels)
        label = f"diffusion, T = {steps}, draft's data variance {spread}, {kernels} kernels, shift 0.1"
        yield Mismatch(label, pair.target.chain, pair.draft.chain, (np.zeros(1), np.full(1, 0.1)))
