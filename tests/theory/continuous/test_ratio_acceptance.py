"""Acceptance from the moments of a log ratio: against closed forms, quadrature in three dimensions, and the rules."""

from __future__ import annotations

from math import atan, pi, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from simlab.continuous import affine_chain
from simlab.continuous.rules import TwoPath
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.paths import independent_noise
from theory.continuous.ratio_acceptance import (
    expected_acceptance,
    largest_acceptance,
    moment_of_independent,
    moment_of_shared,
)
from theory.continuous.two_path import two_path_law

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("gap", [0.01, 0.5, 2.0, 8.0])
def test_two_normals(gap: float) -> None:
    assert expected_acceptance(moment_of_shared(3, gap)) == pytest.approx(2 * norm.cdf(-gap / 2), abs=1e-8)


@pytest.mark.parametrize("variance", [0.1, 2.0, 30.0])
def test_a_gap_that_varies(variance: float) -> None:
    found = expected_acceptance(moment_of_shared(1, 0, sqrt(variance)))
    assert found == pytest.approx(2 / pi * atan(2 / sqrt(variance)), abs=1e-8)


@pytest.mark.parametrize("count", [1, 2, 5, 99, 1584])
def test_what_independent_noise_accepts_at_most(count: int) -> None:
    assert expected_acceptance(moment_of_independent(1, count, 0)) == pytest.approx(largest_acceptance(count), abs=1e-8)


@pytest.mark.parametrize(("log_sigma", "sigma"), [(np.log(2), 2.0), (np.log(0.3), 0.3)])
def test_the_product_of_variances(log_sigma: float, sigma: float) -> None:
    x = np.linspace(-12, 14, 26_001)
    overlap = np.minimum(norm.pdf(x), sigma * norm.pdf(x, 1.5)).sum() * (x[1] - x[0])
    assert expected_acceptance(moment_of_shared(1, 1.5, log_sigma=log_sigma)) == pytest.approx(overlap, abs=1e-7)


def test_independent_noise_is_what_the_rule_accepts() -> None:
    """A chain of four steps: by moments, by the quadratic of the rule's own values, and by quadrature of its law."""
    p, q = affine_chain(4, 0.5, 0.5), affine_chain(4, 0.8, 0.5, 0.25)
    found = expected_acceptance(
        independent_noise(p, q, UNCONDITIONAL, False).quadratic(TwoPath().log_draft_ratio).log_moment
    )
    assert found == pytest.approx(two_path_law(p, q, UNCONDITIONAL, 100, 48, 60).acceptance, abs=5e-3)
    shared = expected_acceptance(independent_noise(p, p, UNCONDITIONAL).quadratic(TwoPath().log_draft_ratio).log_moment)
    spread = sqrt(sum(0.25**k for k in range(1, 4)))
    assert shared == pytest.approx(expected_acceptance(moment_of_independent(1, 3, 0, spread, spread)), abs=1e-8)


def test_an_integral_that_does_not_converge_is_told() -> None:
    with pytest.raises(ArithmeticError, match="has not converged"):
        expected_acceptance(lambda s: 1000 * s)  # a constant ratio: nothing makes the integrand fall
