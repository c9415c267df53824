"""Drafted denoising steps: tokens follow the target's chain, whatever the draft is.

The exact law of drafted Gaussian steps, step by step and as a block, is in the claims ``speculative-diffusion.law`` and
``block-diffusion.law``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

from simlab.continuous.drafted_steps import Means, Walked, drafted_steps
from simlab.continuous.gaussian_steps import verify_block, verify_steps

TOKENS, DIMENSION = 20_000, 2
SD = np.array([0.6, 0.5, 0.7, 0.4, 0.8])  # of steps 1 to T
FALSE_ALARMS = 1e-6


def affine(slope: float, shift: float, t: int, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return slope * x + shift * np.array([1.0, -0.5])


TARGET, OTHER = partial(affine, 0.8, 0.2), partial(affine, 0.6, 0.0)


def walked(draft: Means | None, gamma: int, block: bool) -> Walked:
    rng = np.random.default_rng(0)
    return drafted_steps(TARGET, draft, rng.standard_normal((TOKENS, DIMENSION)), SD, gamma, rng, block)


def furthest(found: Walked) -> float:
    """The largest z of means and of variances of the tokens' coordinates, against those of the target's chain."""
    mean, variance = np.zeros(DIMENSION), 1.0
    for sd in SD[::-1]:
        mean, variance = 0.8 * mean + 0.2 * np.array([1.0, -0.5]), 0.64 * variance + sd**2
    off = (found.tokens - mean) / np.sqrt(variance)
    means, spreads = off.mean(axis=0) * np.sqrt(TOKENS), ((off**2).mean(axis=0) - 1) * np.sqrt(TOKENS / 2)
    return float(np.abs([*means, *spreads]).max())


LIMIT = float(norm.isf(FALSE_ALARMS / (2 * 4 * 8)))  # of four numbers of eight runs; a shift of 0.05 sd has z = 7


@pytest.mark.statistical
@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("gamma", [1, 3])
@pytest.mark.parametrize("draft", [OTHER, None], ids=["another model", "its own step"])
def test_tokens_follow_the_target(draft: Means | None, gamma: int, block: bool) -> None:
    assert furthest(walked(draft, gamma, block)) < LIMIT


@pytest.mark.exact
@pytest.mark.parametrize("block", [False, True])
def test_a_draft_that_is_the_target_is_accepted(block: bool) -> None:
    found = walked(TARGET, 2, block)
    assert (found.calls == 2).all()  # of three steps and of two
    assert (found.accepted == found.drafted).all()


@pytest.mark.exact
def test_a_start_of_whole_numbers_stays_a_start() -> None:
    found = drafted_steps(TARGET, None, np.zeros((50, 2), int), SD, 2, np.random.default_rng(0)).tokens
    again = drafted_steps(TARGET, None, np.zeros((50, 2)), SD, 2, np.random.default_rng(0)).tokens
    assert np.array_equal(found, again)


@pytest.mark.exact
def test_a_block_takes_no_more_calls() -> None:
    """In the mean, by more than five standard errors."""
    steps, block = (walked(OTHER, 3, block).calls for block in (False, True))
    assert steps.mean() - block.mean() > 5 * np.sqrt((steps.var() + block.var()) / TOKENS)


@pytest.mark.exact
def test_a_block_of_one_step_accepts_as_the_step_does() -> None:
    random, count = np.random.default_rng(1), 100_000
    s, delta = random.standard_normal((count, 1)), np.full((count, 1), 0.8)
    coins, uniform = random.random((count, 1)), random.random(count)
    one, other = verify_steps(s, delta, coins), verify_block(s, delta, coins, uniform)
    assert (one[0] == other[0]).all()
    assert (np.isnan(one[1]) == np.isnan(other[1])).all()
    assert (np.isnan(one[1]) == (one[0] == 1)).all()
