"""Laws on the line by quadrature: against closed forms, against decoders on the tape, and against themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import atan, inf, log, pi, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from simlab.continuous import Chain, Outcome, Truncating, affine, affine_chain
from simlab.continuous.models.diffusion import noiseless_end
from simlab.continuous.rules import LastStep, Marginal, Path, ReferenceCode, Reflection, Rule, TwoPath, VarianceProduct
from simlab.randomness import Tape
from simlab.statistics import GTest, proportion_interval
from theory.continuous.example_processes import UNCONDITIONAL, mismatches
from theory.continuous.gaussian_overlap import (
    acceptance_over_gap,
    acceptance_rates,
    cost_over_gap,
    last_step_acceptance,
)
from theory.continuous.isotropic import isotropic_acceptance, overlap
from theory.continuous.joint_gaussian import last_means, log_sigma
from theory.continuous.line import Law, cells, distances, emitted, marginal_tv, target_law
from theory.continuous.paths import independent_noise
from theory.continuous.ratio_acceptance import (
    LogMoment,
    expected_acceptance,
    largest_acceptance,
    moment_of_independent,
    moment_of_shared,
)
from theory.continuous.rejection_cost import bounded, of_a_token
from theory.continuous.two_path import two_path_law

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 2

TARGET = affine_chain(4, 0.8, 0.5)


@pytest.mark.parametrize(("gap", "log_weight"), [(8.0, 40.0), (5.0, 30.0), (5.0, -30.0), (2.0, -40.0), (-8.0, 40.0)])
def test_a_large_weight_loses_no_tail(gap: float, log_weight: float) -> None:
    """Of equal deviations in closed form: W p exceeds q beyond g/2 - log W/g, and log Phi is exact in its tails."""
    found = acceptance_rates(gap, log_weight)
    size = abs(gap)
    edge = size / 2 - log_weight / size
    inside = norm.sf(edge) + np.exp(log_weight + norm.logcdf(edge - size))
    assert float(found.acceptance) == pytest.approx(inside, rel=1e-12)
    assert float(found.proposal_acceptance) == pytest.approx(
        norm.sf(edge - size) - np.exp(norm.logsf(edge) - log_weight), rel=1e-9
    )


@pytest.mark.parametrize("step", [0.0, 1e-7, 1.1e-6, -2e-6, 1e-5])
def test_deviations_that_are_nearly_equal_overlap_nearly_as_equal_ones(step: float) -> None:
    for dimension, away in ((1, 0.0), (1, 1.0), (16, 5.0), (64, 0.5)):
        assert overlap(dimension, away, 1.0, 1.0 + step) == pytest.approx(2 * norm.cdf(-away / 2), rel=1e-4)


DRAFTS = {
    "equal last sd": affine_chain(4, 0.8, [0.5, 0.65, 0.65, 0.5], 0.2),
    "wider": affine_chain(4, 0.7, 0.6, 0.1),
    "narrower": affine_chain(4, 0.9, 0.4, -0.1),
}
LEVEL = 1e-6


@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize("rule", [LastStep(), VarianceProduct()], ids=lambda rule: rule.name)
def test_shares_are_those_of_the_closed_form(name: str, rule: Rule) -> None:
    draft = DRAFTS[name]
    gaps = np.array([-3.0, -0.2, 0.0, 0.01, 0.7, 5.0])
    found = cells(TARGET, draft, UNCONDITIONAL, rule, gaps)
    weight = log_sigma(TARGET, draft) if isinstance(rule, VarianceProduct) else 0.0
    expected = acceptance_rates(gaps, weight, 0.5, float(draft.factor[0, 0]))
    np.testing.assert_allclose(found.acceptance, expected.acceptance, atol=1e-12)
    np.testing.assert_allclose(found.proposal_acceptance, expected.proposal_acceptance, atol=1e-12)
    np.testing.assert_allclose(found.mass.sum(axis=1) + found.unfinished, 1, atol=1e-11)


def test_drafts_with_noise_are_verified_by_a_ratio_of_their_own() -> None:
    """Published code divides the distances of a draft by 42^2, and those of a proposal not: its acceptance by hand."""
    draft, sharp = DRAFTS["wider"], 42.0**-2
    y, gaps = np.linspace(-12, 12, 200_001), np.array([-3.0, -0.2, 0.0, 0.7, 5.0])
    away = sharp * ((y / 0.6) ** 2 - ((y - gaps[:, None]) / 0.5) ** 2) / 2
    kept = norm.pdf(y, 0, 0.6) * np.exp(np.minimum(away + log(0.6 / 0.5) - log_sigma(TARGET, draft), 0))
    found = cells(TARGET, draft, UNCONDITIONAL, ReferenceCode(), gaps)
    np.testing.assert_allclose(found.acceptance, kept.sum(axis=1) * (y[1] - y[0]), atol=1e-7)
    np.testing.assert_allclose(found.mass.sum(axis=1) + found.unfinished, 1, atol=1e-11)


@pytest.mark.parametrize("sp", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("weight", [-2.0, 0.0, 0.5, 300.0])
def test_the_closed_form_is_the_integral(sp: float, weight: float) -> None:
    """By the trapezoidal rule with 400 001 points, whose error at an edge is below 1e-8."""
    y = np.linspace(-40, 40, 400_001)
    for gap in (-1.5, 0.0, 0.3):
        p, q = norm.logpdf(y, gap, sp), norm.logpdf(y)
        step = y[1] - y[0]
        kept = np.exp(np.minimum(q, weight + p)).sum() * step
        taken = np.maximum(np.exp(p) - np.exp(q - weight), 0).sum() * step
        share = acceptance_rates(gap, weight, sp, 1.0)
        assert share.acceptance == pytest.approx(kept, abs=1e-7)
        assert share.proposal_acceptance == pytest.approx(taken, abs=1e-7)


def test_a_narrow_target_far_away_is_not_the_draft() -> None:
    """The whole target is where the draft's density is all but even: what is accepted is its width, times log terms."""
    sp, sq, gap = 1e-6, 1e4, 700.0
    height = norm.pdf(gap, 0, sq)
    half = sp * sqrt(-2 * log(height * sp * sqrt(2 * pi)))  # where p falls to the draft's height
    share = acceptance_rates(gap, 0.0, sp, sq)
    assert share.acceptance == pytest.approx(2 * half * height + 2 * norm.sf(half / sp), rel=1e-6)
    assert share.proposal_acceptance == pytest.approx(1, abs=1e-8)


WIDER_LAST = [0.3, 0.5, 0.5], [0.36, 0.25, 0.25]  # the last step's noise larger in the draft, the others' smaller
NARROW_LAST = [1e-4, 0.5], [1.3e-4, 0.4]  # kernels of no width beside the spread of the gap


@pytest.mark.parametrize("sds", [WIDER_LAST, NARROW_LAST], ids=["wider last", "narrow last"])
@pytest.mark.parametrize("limit", [1.0, 1000.0])
def test_the_gaps_at_which_nothing_is_taken_are_met(sds: tuple[list[float], ...], limit: float) -> None:
    """Below a gap W p exceeds q nowhere, and all that is rejected is unfinished: by the trapezoidal rule."""
    target, draft = affine_chain(len(sds[0]), 0.8, sds[0]), affine_chain(len(sds[1]), 0.3, sds[1], 0.1)
    law = emitted(target, draft, UNCONDITIONAL, VarianceProduct(aligned=False), limit)
    mean, covariance = (float(part.ravel()[0]) for part in last_means(target, draft, UNCONDITIONAL, False).gap)
    sd, near = sqrt(covariance), np.geomspace(1e-7, 9 * sqrt(covariance) + 0.1, 60_000)
    gaps = np.concatenate([-near[::-1], [0.0], near])
    share = acceptance_rates(gaps, log_sigma(target, draft), sds[0][0], sds[1][0])
    cost = of_a_token(*share, limit)
    wanted = [np.trapezoid(part * norm.pdf(gaps, mean, sd), gaps) for part in (share.acceptance, *cost)]
    assert (law.acceptance, law.trials, law.unfinished) == pytest.approx(wanted, rel=1e-4, abs=1e-7)
    found = cost_over_gap(mean, sd, log_sigma(target, draft), sds[0][0], sds[1][0], limit)
    assert tuple(found) == pytest.approx(wanted, rel=1e-4, abs=1e-7)


def test_acceptance_over_a_centred_gap_is_an_angle() -> None:
    for spread in (0.1, 1.0, 7.0, 40.0, 160.0, 5000.0):
        assert acceptance_over_gap(0.0, spread) == pytest.approx(2 / np.pi * np.arctan(2 / spread), rel=1e-9)
    assert cost_over_gap(0.5, 0.0)[:2] == pytest.approx((2 * norm.cdf(-0.25), 1.0))  # one gap alone


# All noise of the draft 1.2 times the target's: one mean is 1.2 times the other, and no spread is left of the gap.
LARGER_NOISE = [(affine_chain(steps, 0.8, 0.5), affine_chain(steps, 0.8, 0.6)) for steps in (2, 100)]
ONE_STEP = affine_chain(1, 0.8, 0.5), affine_chain(1, 0.6, 0.5)


@pytest.mark.parametrize("aligned", [True, False])
def test_the_last_step_is_lossless_and_costs_one_proposal(aligned: bool) -> None:
    for target, draft in (*((TARGET, draft) for draft in DRAFTS.values()), *LARGER_NOISE, ONE_STEP):
        law, far = distances(target, draft, UNCONDITIONAL, LastStep(aligned))
        assert abs(law.mass - 1) < 1e-8
        assert far.tv < 1e-8
        assert law.trials == pytest.approx(1, abs=1e-9)
        assert law.acceptance == pytest.approx(last_step_acceptance(target, draft, UNCONDITIONAL, aligned), abs=1e-9)
        mean, variance = law.moments()
        own = target.marginal(np.zeros((1, 1)))
        assert mean == pytest.approx(own.mean[0, 0], abs=1e-8)
        assert variance == pytest.approx(own.covariance[0, 0], rel=1e-8)


RULES = {
    "last-step, aligned": (LastStep(), False),
    "last-step, own noise": (LastStep(aligned=False), False),
    "variance-product, aligned": (VarianceProduct(), False),
    "variance-product, own noise": (VarianceProduct(aligned=False), False),
    "two-path": (TwoPath(), False),
    "cspd-reference": (ReferenceCode(), True),
    "cspd-reference, noise at the end": (ReferenceCode(), False),
}


def simulated(rule: Rule, target: Chain, draft: Chain, count: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens ``[N]`` and their fates: the first of a block, from the reference decoder."""
    models = [replace(affine(4), build=lambda covariance, chain=chain: chain) for chain in (target, draft)]
    found = Truncating(1, limit=limit).run(*models, rule, Tape(11, count))
    return found.tokens[:, 0, 0], found.outcome[:, 0]


def cut_points(law: Law) -> np.ndarray:
    """Fifteen places that cut the finished mass into sixteen."""
    sequence_law = np.cumsum(law.density) / law.density.sum()
    return np.interp(np.arange(1, 16) / 16, sequence_law, law.x + (law.x[1] - law.x[0]) / 2)


@pytest.mark.parametrize("name", RULES)
def test_decoders_follow_the_laws(name: str) -> None:
    """60 000 tokens in 16 cells and what is unfinished; false alarms 1e-6, and TV of 0.03 is surely seen."""
    rule, noiseless = RULES[name]
    target, draft, limit = TARGET, DRAFTS["equal last sd"], 50
    if noiseless:
        target, draft = noiseless_end(target), noiseless_end(draft)
    law = (
        two_path_law(target, draft, UNCONDITIONAL, limit, 64, 400)
        if isinstance(rule, TwoPath)
        else emitted(target, draft, UNCONDITIONAL, rule, limit)
    )
    tokens, outcome = simulated(rule, target, draft, 60_000, limit)
    low, high = proportion_interval(int((outcome == Outcome.ACCEPTED).sum()), len(outcome), 1 - LEVEL)
    assert low <= law.acceptance <= high
    low, high = proportion_interval(int((outcome == Outcome.EXHAUSTED).sum()), len(outcome), 1 - LEVEL)
    assert low <= law.unfinished <= high
    done = tokens[outcome != Outcome.EXHAUSTED]
    counts = np.bincount(np.searchsorted(cut_points(law), done), minlength=16)
    test = GTest(np.full(16, 1 / 16))
    assert test.detectable(len(done), LEVEL, 0.999) < 0.03
    assert test.p_value(counts) > LEVEL
    # and against the target's law it fails where the rule is biased
    x = law.x
    truth = Law(x, target_law(target, UNCONDITIONAL[0], x), 1, 0, 0)
    against = test.p_value(np.bincount(np.searchsorted(cut_points(truth), done), minlength=16))
    assert (against > LEVEL) == (type(rule) is LastStep)


def test_distances_say_what_they_miss() -> None:
    """Twice the nodes move each distance by less than three times the error that is told."""
    draft = DRAFTS["wider"]
    _, far = distances(TARGET, draft, UNCONDITIONAL, VarianceProduct())
    _, finer = distances(TARGET, draft, UNCONDITIONAL, VarianceProduct(), gaps=336, points=1200)
    for name in ("tv", "ks", "w1"):
        error = getattr(far, f"{name}_error")
        assert abs(getattr(far, name) - getattr(finer, name)) < 3 * error + 1e-9
        assert error < 0.1 * getattr(far, name)


def test_marginals_by_the_rules_own_functions() -> None:
    for case in list(mismatches())[::11]:
        tv, kept = marginal_tv(case.target, case.draft, case.given, Marginal())
        laws = [c.marginal(g[None]) for c, g in zip((case.target, case.draft), case.given, strict=True)]
        means, sds = [law.mean[0, 0] for law in laws], [law.covariance[0, 0] ** 0.5 for law in laws]
        assert tv < 1e-12
        assert kept == pytest.approx(float(acceptance_rates(means[0] - means[1], 0.0, *sds).acceptance), abs=1e-12)


def test_there_are_a_hundred_mismatches_and_none_twice() -> None:
    labels = [case.label for case in mismatches()]
    assert len(labels) == len(set(labels)) >= 100


def test_what_proposals_cost() -> None:
    z = np.array([0.0, 1e-300, 1e-9, 0.25, 1.0])
    for limit in (1, 10, 10**6):
        cost = bounded(z, limit)
        by_hand = [sum((1 - v) ** k for k in range(min(limit, 5000))) for v in z]
        if limit <= 5000:
            np.testing.assert_allclose(cost.trials, by_hand, rtol=1e-9)
        np.testing.assert_allclose(cost.unfinished, np.exp(limit * np.log1p(-np.minimum(z, 1 - 1e-16))), atol=1e-12)
    free = bounded(z)
    np.testing.assert_array_equal(free.unfinished, [1, 0, 0, 0, 0])
    np.testing.assert_allclose(free.trials, [inf, 1e300, 1e9, 4, 1])


def test_sigma_of_hundreds_of_logarithms_is_no_overflow() -> None:
    target, draft = affine_chain(100, 0.5, [0.5, *[0.1] * 99]), affine_chain(100, 0.5, [0.5, *[10.0] * 99])
    assert log_sigma(target, draft) == pytest.approx(99 * log(100))
    share = acceptance_rates(0.5, log_sigma(target, draft))
    assert share.acceptance == pytest.approx(1)
    assert share.proposal_acceptance == pytest.approx(1)
    low = acceptance_rates(0.5, -log_sigma(target, draft))
    assert low.acceptance < 1e-190
    assert low.proposal_acceptance == 0
    huge = (
        acceptance_rates(np.array([-1.0, 0.0, 2.0]), 5000.0, 1.0, 1.3),
        acceptance_rates(np.array([-1.0, 0.0, 2.0]), -5000.0, 1.3, 1.0),
    )
    np.testing.assert_allclose([huge[0].acceptance, huge[0].proposal_acceptance], 1)
    np.testing.assert_allclose([huge[1].acceptance, huge[1].proposal_acceptance], 0)


FLAT, ORIGIN = affine_chain(2, dimension=2), (np.zeros(2), np.zeros(2))
LONGER = affine_chain(5, 0.8, 0.5)
POINTS = noiseless_end(affine_chain(1, 0.8, 0.5)), noiseless_end(affine_chain(1, 0.7, 0.5))


@pytest.mark.parametrize(
    ("law", "given", "told"),
    [
        (emitted, (FLAT, FLAT, ORIGIN, LastStep()), "dimension 2; expected 1"),
        (last_step_acceptance, (FLAT, FLAT, ORIGIN, True), "dimension 2; expected 1"),
        (marginal_tv, (FLAT, FLAT, ORIGIN, Marginal()), "dimension 2; expected 1"),
        (target_law, (FLAT, ORIGIN[0], np.zeros(3)), "dimension 2; expected 1"),
        *(
            (emitted, (TARGET, TARGET, UNCONDITIONAL, rule), "depends on more than the last step")
            for rule in (Marginal(), TwoPath(), Path())
        ),
        (emitted, (TARGET, TARGET, UNCONDITIONAL, Reflection()), "reflection makes one proposal"),
        (emitted, (TARGET, TARGET, UNCONDITIONAL, "marginal"), "rule is 'marginal'; expected a Rule"),
        (marginal_tv, (TARGET, TARGET, UNCONDITIONAL, "marginal"), "rule is 'marginal'; expected a Rule"),
        *(
            (marginal_tv, (TARGET, DRAFTS["wider"], UNCONDITIONAL, rule), "looks at more than the token")
            for rule in (LastStep(), TwoPath(), Path())
        ),
        (emitted, (TARGET, LONGER, UNCONDITIONAL, LastStep()), "takes 5 steps; expected the target's 4"),
        (last_step_acceptance, (TARGET, LONGER, UNCONDITIONAL, True), "takes 5 steps; expected the target's 4"),
        (log_sigma, (TARGET, LONGER), "takes 5 steps; expected the target's 4"),
        (emitted, (*POINTS, UNCONDITIONAL, ReferenceCode()), "the draft is mu_q itself"),
        (emitted, (TARGET, TARGET, UNCONDITIONAL, LastStep(), 0), "limit is 0"),
        (two_path_law, (TARGET, TARGET, UNCONDITIONAL, 1, 1, 2), "nodes is 1"),
        (two_path_law, (TARGET, TARGET, UNCONDITIONAL, 1, 2, 1), "points is 1"),
    ],
)
def test_what_cannot_be_integrated_is_told(law: Callable[..., Any], given: tuple[Any, ...], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        law(*given)


def test_isotropic_acceptance_without_spread_is_the_overlap_of_two_normals() -> None:
    assert isotropic_acceptance(16, 2.0, 1e-12, 0.5) == pytest.approx(2 * norm.cdf(-2), rel=1e-6)
    assert isotropic_acceptance(16, 2.0, 3e-7, 0.5) == pytest.approx(isotropic_acceptance(16, 2.0, 2e-7, 0.5), rel=1e-5)


# Acceptance from the moments of a log ratio --------------------------------------------------------------------------


CLOSED = [
    *((moment_of_shared(3, gap), 2 * norm.cdf(-gap / 2)) for gap in (0.01, 0.5, 2.0, 8.0)),
    *((moment_of_shared(1, 0, spread), 2 / pi * atan(2 / spread)) for spread in (0.3, 1.4, 5.5)),  # a gap that varies
    *((moment_of_independent(1, count, 0), largest_acceptance(count)) for count in (1, 2, 5, 99, 1584)),
]


@pytest.mark.parametrize(("moment", "expected"), CLOSED)
def test_the_mean_is_that_in_closed_form(moment: LogMoment, expected: float) -> None:
    assert expected_acceptance(moment) == pytest.approx(expected, abs=1e-8)


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
