"""Chains of Gaussian kernels: marginals in closed form, against what is known and against walking them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from simlab.continuous import Chain, InPlace, Pair, Tokens, affine_chain, ddpm
from simlab.continuous.compiled import simulate
from simlab.continuous.decoders.base import noise_at
from simlab.continuous.models import marginal_check as ends
from simlab.continuous.models.chains import LearnedRange
from simlab.continuous.models.diffusion import (
    ddim_chain,
    ddpm_chain,
    guided,
    learned_range,
    noiseless_end,
    respacing,
    schedule,
    tempered,
)
from simlab.continuous.models.gaussians import Normal, root_of
from simlab.continuous.models.trajectories import sampled
from simlab.continuous.rules import LastStep
from simlab.randomness import Purpose, Tape
from tests.support.refusals import refused
from theory.continuous.joint_gaussian import joint_states, last_means

pytestmark = pytest.mark.exact

SPREAD = np.array([[1.0, 0.6, 0.1], [0.6, 0.8, -0.2], [0.1, -0.2, 0.5]])


@pytest.mark.parametrize("steps", [1, 2, 7, 100])
@pytest.mark.parametrize("name", ["linear", "cosine"])
@pytest.mark.parametrize("covariance", [np.array([0.3, 1.0, 2.5]), SPREAD], ids=["diagonal", "dense"])
def test_exact_posteriors_end_in_the_data(steps: int, name: str, covariance: np.ndarray) -> None:
    chain = ddpm_chain(covariance, schedule(name, 1000, steps), exact_start=True)
    condition = np.array([[0.5, -2.0, 1.0], [0.0, 0.0, 3.0]])
    law = chain.marginal(condition)
    np.testing.assert_allclose(law.mean, condition, atol=1e-10)
    np.testing.assert_allclose(law.covariance, np.diag(covariance) if covariance.ndim == 1 else covariance, atol=1e-10)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 21, 43, 91, 100, 1000])  # of 21, 43 and 91 some places are halves
@pytest.mark.parametrize("name", ["linear", "cosine"])
def test_which_steps_a_schedule_keeps(name: str, steps: int) -> None:
    whole = schedule(name)
    trailing, even = schedule(name, 1000, steps), schedule(name, 1000, steps, spacing="linspace")
    np.testing.assert_array_equal(trailing, whole[np.round(np.arange(1, steps + 1) * 1000 / steps).astype(int) - 1])
    assert len(even) == steps
    assert even[-1] == trailing[-1] == whole[-1]
    if steps == 1:
        return
    stride = 999 / (steps - 1)  # one by one, as the code of Nichol and Dhariwal
    place, places = 0.0, []
    for _ in range(steps):
        places.append(round(place))
        place += stride
    np.testing.assert_array_equal(respacing(1000, steps, "linspace"), places)
    np.testing.assert_array_equal(even, whole[places])
    assert even[0] == whole[0]
    assert (trailing[0] == whole[0]) == (steps == 1000)


def test_a_dense_chain_of_diagonal_matrices_is_the_diagonal_one() -> None:
    abar = schedule("cosine", 1000, 12)
    flat, dense = ddpm_chain(np.array([0.3, 1.0]), abar), ddpm_chain(np.diag([0.3, 1.0]), abar)
    tape, position = Tape(1, 50), np.zeros(50, np.int64)
    condition = np.tile([1.0, -1.0], (50, 1))
    one, other = (
        sampled(chain, condition, noise_at(chain, tape, position, Purpose.DRAFT)).states for chain in (flat, dense)
    )
    np.testing.assert_allclose(one, other, atol=1e-12)
    to = one[2] + 0.1
    for t in (1, 5, 12):
        logs = [chain.log_density_of(chain.kernel(t, one[t], condition), to) for chain in (flat, dense)]
        np.testing.assert_allclose(*logs, rtol=1e-12)


def test_densities_are_those_of_scipy() -> None:
    from scipy.stats import multivariate_normal

    chain = ddpm_chain(SPREAD, schedule("linear", 1000, 4))
    x, c = np.array([[0.3, -0.5, 1.0]]), np.array([[1.0, 0.0, -1.0]])
    for t in (1, 3):
        root = chain.root(t, x)
        law = multivariate_normal(chain.mean(t, x, c)[0], root @ root.T)
        expected = law.logpdf([0.1, 0.2, 0.3]) + 1.5 * np.log(2 * np.pi)
        found = chain.log_density_of(chain.kernel(t, x, c), np.array([[0.1, 0.2, 0.3]]))
        assert float(found[0]) == pytest.approx(expected, rel=1e-12)


def test_ddim_is_noiseless_at_zero_and_always_at_the_end() -> None:
    abar = schedule("linear", 1000, 10)
    assert not ddim_chain(np.ones(1), abar, 0.0).factor.any()
    half, full = ddim_chain(np.ones(1), abar, 0.5), ddim_chain(np.ones(1), abar, 1.0)
    assert half.factor[0, 0] == full.factor[0, 0] == 0
    np.testing.assert_allclose(half.factor[1:] * 2, full.factor[1:])
    assert ddim_chain(np.ones(1), abar, 1.0, end=0.2).factor[0, 0] == 0.2
    # for data of variance 1 a prediction of x_0 is unbiased, and the mean of a step that of the posterior
    np.testing.assert_allclose(full.slope[1:], ddpm_chain(np.ones(1), abar).slope[1:], rtol=1e-9)


def test_a_learned_range_lies_between_its_bounds() -> None:
    abar = schedule("cosine", 1000, 8)
    plain = ddpm_chain(np.ones(2), abar)
    low, high = (ddpm_chain(np.ones(2), abar, kind).factor for kind in ("posterior", "upper"))
    x = np.array([[-3.0, 0.0], [2.0, 9.0]])
    for bias in (-2.0, 0.0, 2.0):
        chain = learned_range(plain, abar, slope=0.7, bias=bias)
        for t in (1, 4, 8):
            root = chain.root(t, x)
            assert (root >= low[t - 1] * (1 - 1e-12)).all()
            assert (root <= high[t - 1] * (1 + 1e-12)).all()
    middle = learned_range(plain, abar).root(5, x)
    np.testing.assert_allclose(middle, np.tile(np.sqrt(low[4] * high[4]), (2, 1)), rtol=1e-12)
    refused(lambda: learned_range(plain, abar, slope=0.5).marginal(x), "learned range")


def test_temperature_and_guidance_scale_what_they_say() -> None:
    abar = schedule("linear", 1000, 6)
    chain = ddpm_chain(np.array([0.5, 2.0]), abar)
    np.testing.assert_allclose(tempered(chain, 0.7).factor, 0.7 * chain.factor)
    x, c = np.array([[0.4, -1.0]]), np.array([[2.0, 1.0]])
    free = np.array([[-1.0, 0.5]])
    for t in (1, 3, 6):
        pulled = guided(chain, chain, 3.0, free[0]).mean(t, x, c)
        apart = chain.mean(t, x, c) - chain.mean(t, x, free)
        np.testing.assert_allclose(pulled, chain.mean(t, x, free) + 3 * apart, rtol=1e-10)
    assert guided(chain, chain, 1.0).mean(2, x, c) == pytest.approx(chain.mean(2, x, c))


def test_the_noiseless_end_is_the_mean() -> None:
    chain = noiseless_end(affine_chain(3, 0.5, 0.4))
    tape, position = Tape(0, 5), np.zeros(5, np.int64)
    states = sampled(chain, np.zeros((5, 1)), noise_at(chain, tape, position, Purpose.DRAFT)).states
    np.testing.assert_array_equal(states[0], 0.5 * states[1])
    assert chain.marginal(np.zeros((1, 1))).covariance[0, 0] == pytest.approx(
        affine_chain(3, 0.5, [0.0, 0.4, 0.4]).marginal(np.zeros((1, 1))).covariance[0, 0]
    )


DENSE = np.array([[1.0, 0.3], [0.3, 0.5]])
TURN = np.array([[0.5, 0.2], [0.0, 0.4]])
NOISE = schedule("cosine", 1000, 20)


def ends_in(covariance: np.ndarray, by: dict) -> Chain:
    """A chain that ends in N(c, ``covariance``), but for what is changed."""
    chain = ddpm_chain(covariance, NOISE, exact_start=True)
    end = chain.marginal(np.zeros((1, len(covariance)))).covariance
    if "mean" in by:
        chain = replace(
            chain, condition_gain=chain.condition_gain + by["mean"] * np.eye(20)[0].reshape(20, *[1] * covariance.ndim)
        )
    if "constant" in by:
        chain = replace(chain, offset=by["constant"] * np.sqrt(np.diag(end)) * np.eye(20)[0][:, None])
    if "variance" in by:
        more = chain.layout.squared(chain.factor[0]) + by["variance"] * covariance
        factor = root_of(more)
        chain = replace(chain, factor=np.concatenate([factor[None], chain.factor[1:]]))
    return chain


@pytest.mark.parametrize("data", [np.array([0.3, 1.5]), DENSE], ids=["diagonal", "dense"])
@pytest.mark.parametrize(
    ("by", "told"),
    [
        ({}, None),
        ({"mean": 0.018, "constant": 0.019, "variance": 0.045}, None),
        ({"mean": 0.025}, ("mean", "025")),
        ({"constant": 0.025}, ("mean", "condition 0", "0.02")),
        ({"variance": 0.055}, ("variance", "5%")),
    ],
)
def test_tokens_are_integrated_out_where_chains_end_in_the_data(
    data: np.ndarray, by: dict, told: tuple[str, ...] | None
) -> None:
    ar_coefficient = np.array([0.5, 0.0]) if data.ndim == 1 else TURN
    tokens = Tokens(lambda covariance: ends_in(covariance, by), data, 5, ar_coefficient)
    if told is None:
        assert len(tokens.ahead(3)) == 3
    else:
        refused(lambda: tokens.ahead(3), "the chain ends in", *told)
    assert len(tokens.ahead(1)) == 1, "the next token is the chain's own"
    apart = replace(tokens, ar_coefficient=0.0)
    assert len(apart.ahead(3)) == 3, "tokens that do not follow each other are the chain's own"


def test_every_chain_ahead_is_asked_where_it_ends() -> None:
    """One that does not look at the covariance it is built for ends right for the first token alone."""
    chain = ddpm_chain(np.array([0.3]), NOISE)
    tokens = Tokens(lambda covariance: chain, np.array([0.3]), 5, 0.5)
    refused(lambda: tokens.ahead(2), "variance 0.3", "0.375")


def test_decoders_ask_no_further_than_their_sequences_are() -> None:
    wrong = Tokens(lambda data: ddpm_chain(data, NOISE[-2:], "upper"), np.array([0.3]), 1, 0.5)
    longer = replace(wrong, length=2)
    tape = Tape(0, 3)
    for run in (InPlace(3).run, partial(simulate, InPlace(3))):
        assert np.isfinite(run(wrong, wrong, LastStep(), tape).tokens).all()
        refused(lambda run=run: run(longer, longer, LastStep(), tape), "in place")


@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_a_learned_range_is_refused_where_its_variance_is_wrong_for_sure(slope: float) -> None:
    def tokens(size: float, scale: float, steps: int, bias: float) -> Tokens:
        abar = schedule("cosine", 1000, steps)
        return Tokens(
            lambda data: tempered(learned_range(ddpm_chain(data, abar), abar, slope, bias), scale),
            np.array([size]),
            5,
            0.5,
        )

    assert len(tokens(0.7, 1.0, 100, 0.0).ahead(3)) == 3
    for wrong in (tokens(3.0, 1.0, 2, 0.0), tokens(0.7, 1.5, 100, 0.0)):
        refused(lambda wrong=wrong: wrong.ahead(3), "variance")
    unsure = tokens(0.7, 1.0, 4, -9.0)  # right for another slope alone
    if slope:
        assert len(unsure.ahead(3)) == 3
    else:
        refused(lambda: unsure.ahead(3), "variance")


def test_bounds_of_a_learned_range_hold_what_it_ends_in() -> None:
    """One step, x_0 = x_1 / 2 + L(x_1) e: the variance is 1/4 + E L^2, by quadrature; without a slope it is known."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    for slope in (0.0, 1.5):
        learned = LearnedRange(np.full((1, 1), 0.7), np.full((1, 1), slope), np.full((1, 1), -0.3))
        chain = replace(affine_chain(1, 0.5, 0.4), learned=learned)
        squares = chain.root(1, nodes[:, None])[:, 0] ** 2
        variance = 0.25 + float(weights @ squares / weights.sum())
        low, high = (bound.marginal(np.zeros((1, 1))).covariance[0, 0] for bound in ends.bounds(chain))
        assert low - 1e-12 <= variance <= high + 1e-12
        assert (high - low < 1e-12) == (slope == 0)
        if slope:
            assert low == pytest.approx(0.25 + 0.16)
            assert high == pytest.approx(0.25 + 0.16 * np.exp(1.4))


@pytest.mark.parametrize("aligned", [True, False])
def test_the_joint_law_is_that_of_walks(aligned: bool) -> None:
    """200 000 walks; six deviations of a mean and of a covariance of normals."""
    abar = schedule("cosine", 1000, 5)
    target, draft = ddpm_chain(SPREAD[:2, :2], abar), ddpm_chain(np.eye(2), abar, "upper")
    given = np.array([1.0, 0.0]), np.array([0.5, -0.5])
    count = 200_000
    tape, position = Tape(7, count), np.zeros(count, np.int64)
    noise = Purpose.DRAFT if aligned else Purpose.TARGET
    states = [
        sampled(chain, np.tile(c, (count, 1)), noise_at(chain, tape, position, purpose)).states
        for chain, c, purpose in ((target, given[0], noise), (draft, given[1], Purpose.DRAFT))
    ]
    for t, law in enumerate(joint_states(target, draft, given, aligned)):
        both = np.hstack([states[0][t], states[1][t]])
        sds = np.sqrt(np.diag(law.covariance))
        assert (np.abs(both.mean(axis=0) - law.mean) < 6 * sds / np.sqrt(count)).all()
        off = np.abs(np.cov(both.T) - law.covariance) / np.outer(sds, sds)
        assert off.max() < 6 * np.sqrt(2 / count)
    other = joint_states(target, draft, given, not aligned)[1].covariance
    assert np.abs(other - joint_states(target, draft, given, aligned)[1].covariance).max() > 0.1


def test_the_marginals_of_the_joint_law_are_the_marginals() -> None:
    model = partial(ddpm, 3, schedule("cosine", steps=9), correlation=0.4)
    pair = Pair(model(), model(variance=1.3, level=0.2))
    target, draft = pair.target.chain, pair.draft.chain
    given = np.zeros(3), pair.draft.level
    law = joint_states(target, draft, given, True)[0]
    for chain, c, part in ((target, given[0], slice(0, 3)), (draft, given[1], slice(3, 6))):
        own = chain.marginal(c[None])
        np.testing.assert_allclose(law.mean[part], own.mean[0], atol=1e-12)
        np.testing.assert_allclose(law.covariance[part, part], own.covariance, atol=1e-12)
    assert last_means(target, draft, given, True).covariance.shape == (6, 6)


def test_a_singular_covariance_has_a_root_and_no_density() -> None:
    law = Normal(np.zeros((1, 2)), np.array([[1.0, 1.0], [1.0, 1.0]]))
    refused(lambda: law.log_density(np.zeros((1, 2))), "0")
    np.testing.assert_allclose(root_of(np.array([[1.0, 1.0], [1.0, 1.0]])) @ np.ones(2), np.sqrt(2) * np.ones(2))


def test_log_volumes_survive_what_products_do_not() -> None:
    """A product of deviations of 1e-3, 100 steps and 64 dimensions: e^-44209, 0 as a float."""
    chain = affine_chain(100, 0.9, 1e-3, dimension=64)
    x = np.zeros((1, 64))
    total = sum(float(chain.log_volume_of(chain.kernel(t, x, x))[0]) for t in range(1, 101))
    assert total == pytest.approx(6400 * np.log(1e-3))
