"""The diffusion head and its kernels against the same formulas in NumPy, one row at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simlab.continuous.models.diffusion import ddpm_chain, forward_steps, respacing, schedule
from simlab.continuous.networks.mar.head import Head
from simlab.continuous.networks.mar.kernel import guided, kernel
from tests.support.mar import SMALL, PlainMar, Schedule, as_tensors, drawn, mar_shapes
from tests.support.refusals import refused

pytestmark = pytest.mark.parity
SIZES = SMALL
NET = "diffloss.net."
WEIGHTS = drawn(mar_shapes(SIZES), seed=4)


def loaded() -> Head:
    head = Head(SIZES.token_dim, SIZES.dim, SIZES.width, SIZES.layers).double()
    head.load_state_dict({name.removeprefix(NET): t for name, t in as_tensors(WEIGHTS).items() if name.startswith(NET)})
    return head.requires_grad_(False)


def rows(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("steps", [2, 25, 1000])
def test_kernels(steps: int) -> None:
    """Guided and not, at both ends of the schedule and between."""
    head, plain, spaced = loaded(), PlainMar(WEIGHTS, SIZES), Schedule(steps)
    original = respacing(1000, steps, "linspace")
    assert original.tolist() == spaced.original
    forward = forward_steps(schedule("cosine", 1000, steps, "linspace"))
    x, z, other = rows(2, SIZES.token_dim, seed=5), rows(2, SIZES.dim, seed=6), rows(2, SIZES.dim, seed=7)
    for t in sorted({0, 1, steps // 2, steps - 1}):
        at = torch.tensor([int(original[t])])
        with_class, without = (head(torch.from_numpy(x), at, torch.from_numpy(c)) for c in (z, other))
        for scale, predicted in ((1.0, with_class), (2.9, guided(with_class, without, 2.9, SIZES.token_dim))):
            mean, sd = kernel(predicted, torch.from_numpy(x), forward, t + 1)
            for row in range(2):
                given = x[row], t, z[row], None if scale == 1 else other[row], scale
                for found, expected in zip((mean, sd), plain.step(*given, spaced), strict=True):
                    np.testing.assert_allclose(found[row].numpy(), expected, rtol=1e-8)


def test_fixed_variances_are_those_of_affine_chains() -> None:
    """What ``ddpm_chain`` calls posterior and upper."""
    abar = schedule("cosine", 1000, 6, "linspace")
    for variances in ("posterior", "upper"):
        chain = ddpm_chain(np.ones(3), abar, variances)
        for t in range(1, 7):
            sd = kernel(torch.zeros(2, 3).double(), torch.zeros(2, 3).double(), forward_steps(abar), t, variances).sd
            np.testing.assert_allclose(sd.numpy(), np.broadcast_to(chain.factor[t - 1], (2, 3)))


def test_a_network_that_knows_the_noise_gives_posteriors() -> None:
    """The best prediction for standard normal data makes the means of that data's exact chain."""
    abar = schedule("cosine", 1000, 5, "linspace")
    chain, x = ddpm_chain(np.ones(3), abar), rows(4, 3, seed=8)
    for t in range(1, 6):
        noise = torch.from_numpy(np.sqrt(1 - abar[t - 1]) * x)
        mean = kernel(noise, torch.from_numpy(x), forward_steps(abar), t, "posterior").mean
        np.testing.assert_allclose(mean.numpy(), chain.mean(t, x, np.zeros((4, 3))), atol=1e-12)


def test_predictions_of_another_shape_are_refused() -> None:
    forward, x = forward_steps(schedule("cosine", 1000, 4, "linspace")), torch.zeros(2, 3)
    refused(lambda: kernel(torch.zeros(2, 3), x, forward, 1), "predicted", "(2, 3)", "6 numbers")
    refused(lambda: kernel(torch.zeros(2, 6), x, forward, 1, "upper"), "(2, 6)", "3 numbers", "upper")
    refused(lambda: Head(4, 4, 4, 0), "depth is 0")
