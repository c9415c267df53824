"""Drafted Gaussian steps, verified step by step and as a block; their exact law is a claim's own check.

Samples of whole chains are held against it in :mod:`tests.simlab.continuous.test_drafted_steps`.
"""

from __future__ import annotations

import numpy as np
import pytest

from simlab.continuous.gaussian_steps import ratio, verify_block, verify_steps, weights

COUNT = 100_000


def drafted(seed: int, gaps: tuple[float, ...]) -> tuple[np.ndarray, ...]:
    """Noise, gaps and uniforms."""
    random = np.random.default_rng(seed)
    shape = (COUNT, len(gaps))
    return random.standard_normal(shape), np.tile(gaps, (COUNT, 1)), random.random(shape), random.random(COUNT)


@pytest.mark.exact
def test_a_block_of_one_step_accepts_as_the_step_does() -> None:
    s, delta, coins, uniform = drafted(1, (0.8,))
    one, other = verify_steps(s, delta, coins), verify_block(s, delta, coins, uniform)
    assert (one[0] == other[0]).all()
    assert (np.isnan(one[1]) == np.isnan(other[1])).all()
    assert (np.isnan(one[1]) == (one[0] == 1)).all()


@pytest.mark.exact
def test_weights_are_those_of_block_verification() -> None:
    s, delta = np.array([[1.0, -1.0, 2.0]]), np.array([[1.0, 1.0, 0.5]])
    rho = ratio(s, delta)[0]
    assert np.allclose(weights(s, delta)[0], [1, 1, rho[1], min(1, rho[1] * rho[2])])
