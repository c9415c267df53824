"""What statements on continuous rules need to be true: models that meet all but one assumption, or another order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from simlab.continuous import affine_chain
from theory.claims import CLAIMS
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.gaussian_overlap import last_step_acceptance

pytestmark = pytest.mark.exact


def test_merging_asks_for_independent_noise_of_the_target_too() -> None:
    """x_1 of the target is the draft's x_2, which is independent of its own x_2: at k = 1 and 3 models agree."""

    x, start = np.linspace(-12, 12, 2401), np.linspace(-8, 8, 321)
    both = np.minimum(norm.pdf(x, 0, np.sqrt(2)), norm.pdf(x, start[:, None]))
    second = float(norm.pdf(start) @ both.sum(axis=1)) * (x[1] - x[0]) * (start[1] - start[0])
    target, draft = affine_chain(1, 0.0, np.sqrt(2)), affine_chain(1, 1.0, 1.0)  # steps 1 and 2 as one, given x_2
    assert second == pytest.approx(last_step_acceptance(target, draft, UNCONDITIONAL, True), abs=1e-4)
    same = affine_chain(1, 1.0, 1.0)
    assert last_step_acceptance(same, same, UNCONDITIONAL, True) == pytest.approx(1)
    assert f"= {second:.3f}" in CLAIMS["cspd.noiseless.merging"].proof
