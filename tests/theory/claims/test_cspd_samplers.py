"""Which samplers give trajectories a density: by hand, by quadrature, and by walking many small cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from simlab.continuous.models.diffusion import ddim_chain, schedule
from simlab.continuous.rules import LastStep, Marginal, Path, TwoPath, VarianceProduct
from theory.claims.cspd.samplers import flow, missing, noisy

pytestmark = pytest.mark.exact


def test_rectified_flow_ends_near_the_data() -> None:
    """Euler's method is of first order: with twice the steps the variance is about twice as near."""
    errors = [abs(flow(0.5, n).marginal(np.zeros((1, 1))).covariance[0, 0] - 0.5) for n in (50, 100, 200)]
    assert errors[0] < 0.05
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.1)


def test_ddim_without_noise_maps_volumes_as_its_marginal_says() -> None:
    """Walks of a fine grid of x_T: what falls between two neighbours falls between where they end."""
    chain = ddim_chain(np.array([0.6]), schedule("linear", steps=5), 0.0)
    edges = np.linspace(-4, 4, 2001)[:, None]
    ends = chain.trajectory(np.full_like(edges, 0.3), lambda t: edges)[0]
    density = np.diff(norm.cdf(edges[:, 0])) / np.diff(ends[:, 0])
    middle = (ends[1:] + ends[:-1]) / 2
    law = np.exp(chain.marginal(np.full_like(middle, 0.3)).log_density(middle))
    assert np.abs(density - law).max() < 1e-5


@pytest.mark.parametrize("rule", [Path(), TwoPath(), VarianceProduct(), LastStep()])
@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0])
def test_steps_without_noise_have_no_density(rule: Any, eta: float) -> None:
    """DDIM's last step adds none, whatever eta is: a rule of densities says so; the marginal rule does not mind."""
    chain = ddim_chain(np.array([0.6]), schedule("linear", steps=3), eta)
    assert chain.factor[0, 0] == 0
    assert missing(chain) == (3 if eta == 0 else 1)
    assert missing(noisy(chain)) == (3 if eta == 0 else 0)
    with pytest.raises(ValueError, match=r"density|adds no noise|singular"):
        rule.check(chain, chain)
    if eta:
        rule.check(noisy(chain), noisy(chain))
    Marginal().check(chain, chain)
