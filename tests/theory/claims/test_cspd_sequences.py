"""Laws of sequences in closed form, against what the trajectories do to each number they are made of."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain, learned_range, schedule
from simlab.continuous.models.sequences import Tokens
from tests.support.verdicts import numbers_of
from theory.claims.cspd.prefill import gains
from theory.continuous.positions import block_tokens, costs, fading, mean_after, rates
from theory.continuous.sequences import SequenceLaw, affine_map, autoregressive, hellinger, in_place, kl, tv_bounds

pytestmark = pytest.mark.exact

ABAR = schedule("linear", 1000, 3)
FULL = np.array([[1.0, 0.5], [0.5, 0.8]])
TURNED = np.array([[0.5, 0.3], [-0.2, 0.6]])


def rough(covariance: np.ndarray) -> Chain:
    """Started from N(0, I): its tokens are not quite normal around c with that covariance."""
    return ddpm_chain(covariance, ABAR)


def exact(covariance: np.ndarray) -> Chain:
    return ddpm_chain(covariance, ABAR, exact_start=True)


def tokens(build: Callable[[np.ndarray], Chain], length: int = 3) -> list[Tokens]:
    return [
        Tokens(build, np.array([0.7]), length, np.asarray(0.6), np.asarray(0.3), np.asarray(-1.0)),
        Tokens(build, np.array([0.7, 1.1]), length, np.array([0.6, -0.4]), np.array([0.3, 0.0])),
        Tokens(build, FULL, length, TURNED, np.array([0.3, 0.1]), np.array([1.0, 2.0])),
    ]


def impulses(model: Tokens, parents: list[int], links: list[tuple]) -> SequenceLaw:
    """Mean and covariance from what sequences do without noise, and with a unit of each noise alone.

    Token n is walked under the condition level + carry x_parent, for ``links[n]`` = (carry, level, chain).
    """
    size = model.dimension
    kinds = [(n, t, k) for n in range(len(parents)) for t in range(model.chain.steps + 1) for k in range(size)]
    rows = len(kinds) + 1  # the last row has no noise at all
    made = np.zeros((rows, len(parents), size))
    for n, (parent, (ar_coefficient, level, chain)) in enumerate(zip(parents, links, strict=True)):
        before = made[:, parent] if parent >= 0 else np.broadcast_to(model.first, (rows, size))
        matrix = np.diag(ar_coefficient) if ar_coefficient.ndim == 1 else ar_coefficient
        noise = np.zeros((model.chain.steps + 1, rows, size))
        for row, (m, t, k) in enumerate(kinds):
            noise[t, row, k] = m == n
        made[:, n] = chain.trajectory(before @ matrix.T + level, lambda t, noise=noise: noise[t])[0]
    moved = (made[:-1] - made[-1]).reshape(len(kinds), -1)
    return SequenceLaw(made[-1], moved.T @ moved)


@pytest.mark.parametrize("build", [rough, exact])
def test_laws_are_what_the_noise_of_all_tokens_adds_up_to(build: Callable[[np.ndarray], Chain]) -> None:
    """Of the model itself, and in place, where a token follows the one before its block."""
    for model in tokens(build, 5):
        one = (model.ar_coefficient, model.level, model.chain)
        ahead = model.ahead(5)
        for law, parents, places in (
            (autoregressive(model), [-1, 0, 1, 2, 3], [None] * 5),
            (in_place(model, 3), [-1, -1, -1, 2, 2], [0, 1, 2, 0, 1]),
            (in_place(model, 2, 1), [-1, 0, 0, 2, 2], [None, 0, 1, 0, 1]),
            (in_place(model, 1), [-1, 0, 1, 2, 3], [0, 0, 0, 0, 0]),
            (in_place(model, 9, 7), [-1, 0, 1, 2, 3], [None] * 5),
            (in_place(model, 9), [-1] * 5, [0, 1, 2, 3, 4]),
        ):
            slow = impulses(model, parents, [one if j is None else ahead[j] for j in places])
            np.testing.assert_allclose(law.mean, slow.mean, atol=1e-12)
            np.testing.assert_allclose(law.covariance, slow.covariance, atol=1e-12)


def test_autocorrelations_are_the_correlations_a_lag_apart() -> None:
    for model in tokens(exact, 4):
        law = autoregressive(model)
        spread = np.sqrt(np.diag(law.covariance))
        correlation = law.covariance / np.outer(spread, spread)
        size = model.dimension
        for lag in (0, 1, 3):
            found = law.autocorrelation(lag)
            assert found.shape == (4 - lag, size)
            for n in range(4 - lag):
                for k in range(size):
                    assert found[n, k] == pytest.approx(correlation[n * size + k, (n + lag) * size + k])


def test_whitened_sequences_have_no_covariance_left() -> None:
    law = autoregressive(tokens(exact)[2])
    root = np.linalg.cholesky(law.covariance)
    normals = np.eye(6)
    made = (normals @ root.T).reshape(6, 3, 2) + law.mean
    np.testing.assert_allclose(law.whitened(made), normals, atol=1e-12)


def test_a_chains_map_is_affine_and_learned_ranges_are_refused() -> None:
    chain = rough(FULL)
    slope, offset, covariance = affine_map(chain)
    c = np.array([[1.3, -0.4]])
    np.testing.assert_allclose(chain.marginal(c).mean[0], slope @ c[0] + offset)
    np.testing.assert_allclose(chain.marginal(c).covariance, covariance)
    learned = Tokens(lambda v: learned_range(ddpm_chain(v, ABAR), ABAR), np.ones(1), 2)
    with pytest.raises(ValueError, match="learned range"):
        autoregressive(learned)
    with pytest.raises(ValueError, match="gamma is 0"):
        in_place(tokens(exact)[0], 0)
    with pytest.raises(ValueError, match="prefill is -1"):
        in_place(tokens(exact)[0], 1, -1)


# Distances ---------------------------------------------------------------------------------------------------------


def line(mean: float, variance: float) -> SequenceLaw:
    return SequenceLaw(np.array([[mean]]), np.array([[variance]]))


PAIRS = [((0.0, 1.0), (0.0, 1.0)), ((0.0, 1.0), (1.5, 1.0)), ((0.3, 0.5), (-0.2, 2.0)), ((0.0, 3.0), (0.0, 0.1))]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_distances_on_the_line_are_integrals(one: tuple[float, float], other: tuple[float, float]) -> None:
    p, q = (norm(mean, np.sqrt(variance)) for mean, variance in (one, other))
    reach = np.linspace(-18, 18, 37)

    def whole(function: Callable[[float], float]) -> float:
        pieces = pairwise(reach)
        return sum(quad(function, low, high)[0] for low, high in pieces)

    divergence = whole(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)))
    overlap = whole(lambda x: np.sqrt(p.pdf(x) * q.pdf(x)))
    apart = whole(lambda x: abs(p.pdf(x) - q.pdf(x))) / 2
    laws = line(*one), line(*other)
    assert kl(*laws) == pytest.approx(divergence, abs=1e-8)
    assert hellinger(*laws) ** 2 == pytest.approx(1 - overlap, abs=1e-8)
    least, most = tv_bounds(*laws)
    assert least - 1e-5 <= apart <= most + 1e-5
    assert least == pytest.approx(apart, abs=1e-5)  # on a line the line says all


def test_the_divergence_of_sequences_is_the_mean_log_ratio() -> None:
    one, other = autoregressive(tokens(exact)[2]), in_place(tokens(exact)[2], 2)
    other = SequenceLaw(other.mean + 0.1, other.covariance)
    p, q = (multivariate_normal(law.mean.ravel(), law.covariance) for law in (one, other))
    # the expectation of a quadratic form, from points that match mean and covariance exactly
    root = np.linalg.cholesky(one.covariance) * np.sqrt(6)
    points = one.mean.ravel() + np.concatenate([root.T, -root.T])
    assert kl(one, other) == pytest.approx(float(np.mean(p.logpdf(points) - q.logpdf(points))))


# The claims --------------------------------------------------------------------------------------------------------


def test_either_change_alone_by_hand() -> None:
    [example] = numbers_of("cspd.in-place.mend", "example")
    # int over y < m / 2 of y^2 (phi(y) - phi(y - m)), by parts
    m = example["draft_mean"]
    second = norm.cdf(m / 2) - m / 2 * norm.pdf(m / 2)
    shifted = (1 + m * m) * norm.cdf(-m / 2) - 1.5 * m * norm.pdf(m / 2)
    assert example["covariance_not_seen"] == pytest.approx((second - shifted) / 2, abs=1e-9)
    assert example["tv_not_cut_at_least"] == pytest.approx(norm.cdf(m / 2 / np.sqrt(1.25)) - 0.5)


# Acceptance along a sequence, and the cost of decoding it ------------------------------------------------------------


FEW_STEPS = np.array([0.8, 0.4, 0.1])


def build(covariance: np.ndarray) -> Chain:
    return ddpm_chain(covariance, FEW_STEPS)  # started from N(0, I)


def on_the_line(variance: float, ar_coefficient: float, level: float, first: float) -> Tokens:
    return Tokens(build, np.array([variance]), 3, np.asarray(ar_coefficient), np.asarray(level), np.asarray(first))


def slow_rates(target: Tokens, draft: Tokens, aligned: bool) -> list[float]:
    """From what each unit of noise does to the gap of the last means, and the overlap of two normal densities."""
    steps = target.chain.steps
    found = []
    for n in range(target.length):
        kinds = [(m, t, side) for m in range(n + 1) for t in range(steps + 1) for side in (0, 1)]
        rows = len(kinds) + 1
        noise = np.zeros((n + 1, steps + 1, 2, rows, 1))
        for row, (m, t, side) in enumerate(kinds):
            noise[m, t, side, row] = 1
        if aligned:
            noise[n, :, 1] = noise[n, :, 0]  # the draft walks on the target's noise, and has none of its own
        x = np.broadcast_to(target.first, (rows, 1))
        for m in range(n):
            x = target.chain.trajectory(target.condition(x), lambda t, own=noise[m]: own[t, 0])[0]
        means = []
        for side, model in enumerate((target, draft)):
            before = x if n else np.broadcast_to(model.first, (rows, 1))
            condition = model.condition(before)
            states = model.chain.trajectory(condition, lambda t, own=noise[n, :, side]: own[t])
            means.append(model.chain.mean(1, states[1], condition)[:, 0])
        gap = means[0] - means[1]
        mean, sd = float(gap[-1]), float(np.sqrt(((gap[:-1] - gap[-1]) ** 2).sum()))
        sds = [float(model.chain.factor[0, 0]) for model in (target, draft)]
        # the draft x and the gap g are integrated over: E min(1, p / q)
        x_grid, g_grid = np.linspace(-12, 12, 2001) * max(sds), mean + sd * np.linspace(-8, 8, 3001)
        both = np.minimum(norm.pdf(x_grid, g_grid[:, None], sds[0]), norm.pdf(x_grid, 0, sds[1]))
        kept = both.sum(axis=1) * (x_grid[1] - x_grid[0])
        weight = norm.pdf(np.linspace(-8, 8, 3001))
        found.append(float(weight @ kept / weight.sum()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("aligned", [True, False])
def test_rates_are_what_the_noise_says(aligned: bool) -> None:
    target = on_the_line(0.7, 0.6, 0.3, -1.0)
    for draft in (on_the_line(0.7, 0.6, 0.3, 1.0), on_the_line(0.7, -0.4, 0.0, -1.0), on_the_line(1.1, 0.6, 1.0, 0.0)):
        np.testing.assert_allclose(rates(target, draft, aligned), slow_rates(target, draft, aligned), atol=2e-5)


def test_rates_of_two_numbers_are_refused() -> None:
    wide = Tokens(build, np.ones(2), 2)
    with pytest.raises(ValueError, match="tokens have dimension 2; expected 1"):
        rates(wide, wide)
    with pytest.raises(ValueError, match="the draft has length 3"):
        rates(Tokens(build, np.ones(1), 2), on_the_line(1.0, 0.0, 0.0, 0.0))


def test_a_mismatch_that_fades_is_one_of_the_first_condition_alone() -> None:
    """At every position as for models whose first tokens differ by that much."""
    chain = build(np.ones(1))
    for aligned in (True, False):
        row = fading(chain, 2.0, 0.5, 4, aligned)
        for n in range(4):
            pair = [Tokens(build, np.ones(1), 1, np.ones(()), np.zeros(()), np.asarray(f)) for f in (0.0, 2.0 * 0.5**n)]
            assert row[n] == pytest.approx(rates(*pair, aligned)[0], abs=1e-12)
    with pytest.raises(ValueError, match="memory is 2"):
        fading(chain, 1.0, 2, 3)
    with pytest.raises(ValueError, match="length is 0"):
        fading(chain, 1.0, 0.5, 0)


# Costs: every outcome of every coin --------------------------------------------------------------------------------


def decoded_cost(kept: tuple[bool, ...], gamma: int, c: F) -> F:
    """The cost of one sequence, given which draft would be kept at each position."""
    at, total = 0, F(0)
    while at < len(kept):
        total += 1 + gamma * c
        run = 0
        while run < gamma and at + run < len(kept) and kept[at + run]:
            run += 1
        at += run + 1
    return total


ROWS = [[F(1, 3), F(1, 2), F(4, 5), F(1), F(1, 7)], [F(0)] * 4, [F(1)] * 5, [F(1, 2)], [F(2, 3), F(1, 5), F(3, 4)]]


@pytest.mark.parametrize("gamma", [1, 2, 3, 7])
def test_costs_are_means_over_all_coins(gamma: int) -> None:
    for row in ROWS:
        for c in (F(0), F(1, 10)):
            found = costs(row, gamma, c)
            assert found[-1] == 0
            for start in range(len(row)):
                mean = F(0)
                for kept in product((True, False), repeat=len(row) - start):
                    weight = F(1)
                    for rate, yes in zip(row[start:], kept, strict=True):
                        weight *= rate if yes else 1 - rate
                    mean += weight * decoded_cost(kept, gamma, c)
                assert found[start] == mean
    with pytest.raises(ValueError, match="gamma is 0"):
        costs(ROWS[0], 0, F(0))


def test_tokens_of_a_block_and_means_by_hand() -> None:
    row = [F(1, 2), F(1, 3), F(1, 4)]
    assert block_tokens(row, 0, 2) == 1 + F(1, 2) + F(1, 6)
    assert block_tokens(row, 1, 1) == F(4, 3)
    assert block_tokens(row, 1, 5) == F(4, 3)  # two positions are left
    assert block_tokens(row, 2, 5) == 1
    assert block_tokens(row, 0, 3) == block_tokens(row, 0, 2)
    assert mean_after(row, 0) == F(13, 36)
    assert mean_after(row, 2) == F(1, 4)
    assert gains(row) == [F(7, 24) - F(13, 36), F(1, 4) - F(7, 24)]
