"""Pairs of chains on the line with every kind of mismatch, for checks over many pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain, schedule
from theory.continuous.joint_gaussian import Given

UNCONDITIONAL = (np.zeros(1), np.zeros(1))  # the conditions of tokens that stand alone


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
        yield Mismatch(label, affine_chain(steps, 0.8, 0.5), affine_chain(steps, slope, sds, gap), UNCONDITIONAL)
    for steps, spread, kernels in product((4, 8, 20), (0.7, 1.0), ("exact", "upper")):
        abar = schedule("cosine", steps=steps)
        target, draft = ddpm_chain([1.0], abar), ddpm_chain([spread], abar, kernels)
        label = f"diffusion, T = {steps}, draft's data variance {spread}, {kernels} kernels, level 0.1"
        yield Mismatch(label, target, draft, (np.zeros(1), np.full(1, 0.1)))
