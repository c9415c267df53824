"""Mixtures, token by token against loops and SciPy, and the law of what is emitted against integrals done otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from simlab.continuous.models.mixtures import Components, Densities, Mixture, Ratio, WeightedComponents, speculate
from simlab.continuous.tape import coins, normals
from simlab.randomness import Purpose, Tape
from tests.support.verdicts import numbers_of
from theory.claims.cspd.mixtures import line
from theory.continuous.mixture_law import emitted, matched, overlap, together

pytestmark = pytest.mark.exact

RATIOS: list[Ratio] = [Densities(), Components(), WeightedComponents()]
MEANS = np.array([[0.0, 1.0], [2.0, -1.0], [5.0, 5.0]])
ROOTS = np.array([[[1.0, 0.0], [0.5, 0.3]], [[0.4, 0.2], [-0.1, 0.6]], [[1.0, 0.0], [0.0, 1.0]]])
WEIGHTS = np.array([0.3, 0.7, 0.0])


def dense() -> Mixture:
    with np.errstate(divide="ignore"):
        return Mixture(np.log(WEIGHTS), MEANS, ROOTS)


TARGET = line([0.5, 0.3, 0.2], [-1.0, 1.5, 4.0], [0.6, 0.8, 0.4])
DRAFT = line([0.6, 0.4], [-0.8, 2.0], [0.7, 1.0])


# The mixture -------------------------------------------------------------------------------------------------------


def test_densities_are_scipys() -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    each = [multivariate_normal(m, r @ r.T) for m, r in zip(MEANS, ROOTS, strict=True)]
    np.testing.assert_allclose(dense().log_components(x), np.stack([law.logpdf(x) for law in each], axis=1))
    whole = sum(w * law.pdf(x) for w, law in zip(WEIGHTS, each, strict=True))
    np.testing.assert_allclose(dense().log_density(x), np.log(whole))
    flat = Mixture(np.log([0.5, 0.5]), MEANS[:2], np.array([[1.0, 0.5], [2.0, 0.1]]))
    same = Mixture(np.log([0.5, 0.5]), MEANS[:2], np.stack([np.diag([1.0, 0.5]), np.diag([2.0, 0.1])]))
    np.testing.assert_allclose(flat.log_components(x), same.log_components(x))
    noise = np.random.default_rng(1).normal(size=(4, 2))
    np.testing.assert_allclose(flat.place(np.array([0, 1, 1, 0]), noise), same.place(np.array([0, 1, 1, 0]), noise))


def test_far_away_the_density_is_still_a_number() -> None:
    far = np.array([[1e4, -1e4]])
    assert np.isfinite(dense().log_density(far)).all()


def test_components_are_chosen_by_their_weights_and_draws_are_affine_in_the_noise() -> None:
    coin = np.array([0.0, 0.29, 0.31, 0.999999])
    assert list(dense().choose(coin)) == [0, 0, 1, 1]  # and never the one without weight
    noise = np.array([[1.0, 2.0], [0.0, -1.0]])
    np.testing.assert_allclose(dense().place(np.array([1, 0]), noise), [MEANS[1] + ROOTS[1] @ noise[0], [0.0, 0.7]])
    tape, position = Tape(3, 50), np.arange(50)
    drawn = dense().draw(tape, position, Purpose.TARGET, 2)
    coin = coins(tape, position, Purpose.TARGET, 2)
    noise = normals(tape, position, Purpose.TARGET, 1, 2, 2)
    np.testing.assert_array_equal(drawn, dense().place(dense().choose(coin), noise))


@pytest.mark.parametrize(
    ("weights", "means", "roots", "message"),
    [
        ([0.5, 0.4], np.zeros((2, 1)), np.ones((2, 1)), r"exp\(log_weights\) sums to 0\.9.*; expected a pmf"),
        ([1.0], np.zeros((2, 1)), np.ones((2, 1)), r"log_weights has shape \(1,\); expected \(2,\)"),
        ([0.5, 0.5], np.zeros(2), np.ones((2, 1)), r"means has shape \(2,\); expected \[K, d\]"),
        ([0.5, 0.5], np.zeros((2, 1)), np.ones(2), r"roots has shape \(2,\)"),
        ([0.5, 0.5], np.zeros((2, 1)), np.array([[1.0], [0.0]]), "component 1 has a singular covariance"),
        ([0.5, 0.5], np.zeros((2, 2)), np.ones((2, 2, 2)), "component 0 has a singular covariance"),
        ([0.5, 0.5], np.array([[np.nan], [0.0]]), np.ones((2, 1)), "means holds nan; expected finite"),
        ([0.5, 0.5], np.zeros((2, 1)), np.array([[np.inf], [1.0]]), "roots holds inf; expected finite"),
    ],
)
def test_what_is_no_mixture_is_refused(weights: list, means: np.ndarray, roots: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Mixture(np.log(weights), means, roots)


def test_mixtures_of_other_dimensions_and_limits_are_refused() -> None:
    position = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="the draft has dimension 2; expected the target's 1"):
        speculate(TARGET, dense(), Densities(), Tape(0, 2), position)
    with pytest.raises(ValueError, match="limit is 0"):
        speculate(TARGET, DRAFT, Densities(), Tape(0, 2), position, 0)
    with pytest.raises(ValueError, match="dimension 2; expected 1"):
        emitted(dense(), dense(), Densities())


# Speculation, in a loop over tokens ---------------------------------------------------------------------------------


def pdf(mixture: Mixture, x: Any) -> Any:
    parts = zip(mixture.weights, mixture.means[:, 0], mixture.roots[:, 0], strict=True)
    return sum(w * norm.pdf(x, m, s) for w, m, s in parts)


def ratio_of(name: str, i: int, j: int, x: Any) -> Any:
    if name == "densities":
        return pdf(TARGET, x) / pdf(DRAFT, x)
    p, q = norm.pdf(x, TARGET.means[i, 0], TARGET.roots[i, 0]), norm.pdf(x, DRAFT.means[j, 0], DRAFT.roots[j, 0])
    weights = TARGET.weights[i] / DRAFT.weights[j] if name == "weighted-components" else 1.0
    return weights * p / q


@pytest.mark.parametrize("ratio", RATIOS, ids=lambda ratio: ratio.name)
def test_speculation_token_by_token(ratio: Ratio) -> None:
    count, limit = 60, 4
    made = speculate(TARGET, DRAFT, ratio, Tape(8, count), np.full(count, 5), limit)
    outcomes = set()
    for row in range(count):
        tape, at = Tape(8, [row]), np.array([5])

        def component(mixture: Mixture, u: float) -> int:
            return int(np.searchsorted(np.cumsum(mixture.weights), u, side="right"))

        u = coins(tape, at, Purpose.DRAFT)[0]
        i, j = component(TARGET, u), component(DRAFT, u)
        x = DRAFT.means[j, 0] + DRAFT.roots[j, 0] * normals(tape, at, Purpose.DRAFT, 1, 0, 1)[0, 0]
        token, trials = x, 0
        kept = coins(tape, at, Purpose.ACCEPT)[0] < min(1.0, ratio_of(ratio.name, i, j, x))
        if not kept:
            token = np.nan
            for trials in range(1, limit + 1):
                if ratio.name == "densities":
                    i = component(TARGET, coins(tape, at, Purpose.PROPOSAL, trials)[0])
                noise = normals(tape, at, Purpose.PROPOSAL, 1, trials, 1)[0, 0]
                y = TARGET.means[i, 0] + TARGET.roots[i, 0] * noise
                if coins(tape, at, Purpose.TRIAL, trials)[0] < max(0.0, 1 - 1 / ratio_of(ratio.name, i, j, y)):
                    token = y
                    break
        assert made.accepted[row] == kept
        assert made.trials[row] == trials
        assert made.found[row] == (token == token)
        np.testing.assert_allclose(made.tokens[row, 0], token, rtol=1e-12)
        outcomes.add((bool(kept), token == token))
    assert outcomes == {(True, True), (False, True), (False, False)}


# The law -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", RATIOS, ids=lambda ratio: ratio.name)
def test_the_emitted_law_on_a_fine_grid(ratio: Ratio) -> None:
    law = emitted(TARGET, DRAFT, ratio)
    cases = [(1.0, 0, 0)] if ratio.name == "densities" else list(together(TARGET, DRAFT))
    width = 1e-4
    x = np.arange(-9, 11, width) + width / 2  # midpoints: right to 1e-8, also across kinks
    looks = (lambda x: x, lambda x: x * x, lambda x: np.sin(3 * x))
    means, kept = np.zeros(3), 0.0
    for mass, i, j in cases:
        rho = ratio_of(ratio.name, i, j, x)
        p, q = pdf(TARGET, x), pdf(DRAFT, x)
        if ratio.name != "densities":
            p, q = (norm.pdf(x, m.means[k, 0], m.roots[k, 0]) for m, k in ((TARGET, i), (DRAFT, j)))
        keep, taken = q * np.minimum(1, rho), p * np.maximum(0, 1 - 1 / rho)
        alpha = keep.sum() * width
        density = mass * (keep + (1 - alpha) / (taken.sum() * width) * taken)
        kept += mass * alpha
        means += [(density * look(x)).sum() * width for look in looks]
    assert law.acceptance == pytest.approx(kept, abs=1e-7)
    np.testing.assert_allclose([law.weight @ (law.density * look(law.x)) for look in looks], means, atol=1e-6)
    assert law.mass == pytest.approx(1, abs=1e-10)
    assert (law.tv < 1e-12) == (ratio.name != "weighted-components")


def test_overlaps_of_normal_laws_are_known() -> None:
    one, other = line([1.0], [0.0], [1.0]), line([1.0], [1.2], [1.0])
    assert overlap(one, other) == pytest.approx(2 * norm.cdf(-0.6), abs=1e-13)
    halves = line([0.5, 0.5], [-2.0, 2.0], [0.5, 0.5])
    assert matched(halves).means[0, 0] == pytest.approx(0)
    assert matched(halves).roots[0, 0] ** 2 == pytest.approx(4.25)


def test_one_coin_chooses_both_components() -> None:
    masses = np.zeros((3, 2))
    for mass, i, j in together(TARGET, DRAFT):
        masses[i, j] = mass
    np.testing.assert_allclose(masses, [[0.5, 0], [0.1, 0.2], [0, 0.2]], atol=1e-15)
    coin = (np.arange(1000) + 0.5) / 1000
    counted = np.zeros((3, 2))
    np.add.at(counted, (TARGET.choose(coin), DRAFT.choose(coin)), 1 / 1000)
    np.testing.assert_allclose(counted, masses, atol=1e-3)


# The claims --------------------------------------------------------------------------------------------------------


def test_the_smallest_biased_case_by_hand() -> None:
    _, example = numbers_of("cspd.mixtures.aligned-components", "example")
    (pi, _), (rho, _) = example["weights"], example["draft_weights"]
    first = pi * pi / rho  # both choose the first with probability pi, and keep it with pi / rho
    second = 1 - pi
    assert example["law"] == pytest.approx([first, second])
    assert example["unfinished"] == pytest.approx(1 - first - second)
    assert example["tv"] == pytest.approx((pi - first + example["unfinished"]) / 2)
