"""The ratio of two trajectories, its mean and that of its logarithm, and how far apart they are: all of it again.

Densities are SciPy's; means of exponentials come from Gauss and Hermite's nodes or a grid; second moments of what is
affine in the noise are the same for noise that is +1 or -1, so they are enumerated.
"""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import LastStep, Path, TwoPath, VarianceProduct
from theory.claims.cspd import paths as cspd_paths
from theory.claims.cspd.bias import bounds, first_order, near, shared_end, spread_root
from theory.claims.cspd.log_ratio import Logs, logs
from theory.claims.cspd.paths import predicted
from theory.claims.cspd.ratios import mean_ratio
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.joint_gaussian import log_sigma
from theory.continuous.paths import (
    Coupling,
    Quadratic,
    independent_noise,
    mean_norm,
    quadratic,
    random_chains,
)

pytestmark = pytest.mark.exact

# Densities once more -------------------------------------------------------------------------------------------


def slow_log_path(chain: Chain, condition: np.ndarray, states: np.ndarray, end: np.ndarray | None = None) -> float:
    """The log density of one trajectory ``states[T + 1, d]``, by SciPy."""
    dense = chain.layout.dense
    start = dense(chain.start_factor)
    value = multivariate_normal.logpdf(
        states[-1], dense(chain.start_gain) @ condition + chain.start_mean, start @ start.T
    )
    for t in range(1, chain.steps + 1):
        root = dense(chain.factor[t - 1])
        mean = (
            dense(chain.slope[t - 1]) @ states[t] + dense(chain.condition_gain[t - 1]) @ condition + chain.offset[t - 1]
        )
        to = end if t == 1 and end is not None else states[t - 1]
        value += multivariate_normal.logpdf(to, mean, root @ root.T)
    return float(value)


def slow_log_ratio(walks: Coupling, seen: TrajectoryPair, row: int) -> float:
    """Eq. 4: each trajectory under its own model, x_0 that of the draft."""
    end = seen.draft.states[0, row]
    parts = [
        slow_log_path(model.chain, condition, model.states[:, row], end)
        for model, condition in zip(seen, walks.given, strict=True)
    ]
    return parts[0] - parts[1]


@pytest.mark.parametrize("seed", range(5))
def test_the_two_path_ratio_is_eq_4_and_collapses(seed: int) -> None:
    for case in random_chains(seed, 6):
        for walks, collapses in ((Coupling(*case), True), (independent_noise(*case), False)):
            seen = walks.trajectories(np.random.default_rng(seed).normal(size=(2, walks.size)))
            slow = [slow_log_ratio(walks, seen, row) for row in range(2)]
            assert TwoPath().log_draft_ratio(seen) == pytest.approx(slow, abs=1e-9)
            short = VarianceProduct().log_draft_ratio(seen)
            assert (np.abs(short - slow).max() < 1e-9) == (collapses or case[0].steps == 1)
            volumes = [np.prod([abs(np.linalg.det(c.layout.dense(f))) for f in c.factor[1:]]) for c in case[:2]]
            assert log_sigma(*case[:2]) == pytest.approx(log(volumes[1] / volumes[0]))


# Means of ratios -----------------------------------------------------------------------------------------------

TARGET, DRAFT = (
    affine_chain(2, (0.5, 0.8), (1.0, 0.8), (0.2, 0.0)),
    affine_chain(2, (0.6, 0.9), (0.95, 1.0), (0.0, 0.1)),
)


def test_means_of_ratios_by_quadrature() -> None:
    """Over the three normals of the draft; for the path ratio 1, for the others Sigma and 1."""
    grid, weights = hermite(3, 60)
    walks = Coupling(TARGET, DRAFT, UNCONDITIONAL)
    seen = walks.trajectories(grid)
    for rule, aim in ((Path(), 1.0), (TwoPath(aligned=True), 1.25), (LastStep(), 1.0), (VarianceProduct(), 1.25)):
        slow = weights @ np.exp(rule.log_draft_ratio(seen))
        assert slow == pytest.approx(aim, rel=2e-4)
        assert mean_ratio(rule, walks) == pytest.approx(aim, rel=1e-10)


# The bounds of A.1.2 -------------------------------------------------------------------------------------------


def test_the_bounds_from_their_definitions() -> None:
    """Integrals over (x_2, x_1, x_0) of |grad p|, by differences, times the distance; q / q cancels.

    Here sp = 1 and sq = 3.
    """
    sp, sq = 1.0, 3.0
    x = np.linspace(-6, 6, 121)
    x2, x1, x0 = np.meshgrid(x, x * sp, x, indexing="ij")
    density = norm.pdf(x2) * norm.pdf(x1, scale=sp) * norm.pdf(x0)
    gradient = np.gradient(density, x, x * sp, x)
    length = np.sqrt(sum(part**2 for part in gradient))
    cell = (x[1] - x[0]) ** 3 * sp
    left = np.sum(length * (sq - sp) * np.abs(x1) / sq) * cell
    right = np.sum(length) * (sq - sp) * cell
    assert bounds(sp, sq) == pytest.approx((left, right), rel=5e-3)
    assert left < sq / sp - 1  # eq. 15 fails here too
    assert right > sq / sp - 1


def test_mean_length_beside_a_height() -> None:
    for height in (0.0, 0.5, 3.0, 40.0):
        slow = quad(lambda r, h=height: np.sqrt(h * h + r * r) * r * np.exp(-r * r / 2), 0, 12)[0]
        assert spread_root(height) == pytest.approx(slow, abs=1e-7)


def test_the_first_order_by_quadrature() -> None:
    """E_q[grad p' (Yp - Yq) / q] of a pair on the line: gradients by differences of SciPy's densities."""
    close = near(TARGET, DRAFT, 0.05)
    walks = Coupling(TARGET, close, UNCONDITIONAL)
    grid, weights = hermite(3, 10)
    seen = walks.trajectories(grid)
    states, away = seen.draft.states[..., 0], (seen.target.states - seen.draft.states)[..., 0]
    slow, h = 0.0, 1e-5
    for row, weight in enumerate(weights):
        y, step = states[:, row], h * away[:, row] * [0, 1, 1]  # x_0 is shared
        up, down = (slow_log_path(TARGET, UNCONDITIONAL[0], (y + sign * step)[:, None]) for sign in (1, -1))
        ratio = np.exp(
            slow_log_path(TARGET, UNCONDITIONAL[0], y[:, None]) - slow_log_path(close, UNCONDITIONAL[1], y[:, None])
        )
        slow += weight * ratio * (up - down) / (2 * h)
    assert first_order(walks, shared_end) == pytest.approx(slow, rel=1e-3)
    assert abs(slow) > 0.005


# Log ratios ----------------------------------------------------------------------------------------------------


def slow_logs(walks: Coupling) -> Logs:
    """Means over all signs of the noise, of densities by SciPy; KL and entropies from joint normal laws."""
    seen = walks.trajectories(np.array(list(product((-1.0, 1.0), repeat=walks.size))))
    rows = range(seen.draft.states.shape[1])

    def mean(chain: Chain, k: int, trajectory: Trajectory, ends: np.ndarray) -> float:
        values = [slow_log_path(chain, walks.given[k], trajectory.states[:, row], ends[row]) for row in rows]
        return float(np.mean(values))

    target, draft = seen.target, seen.draft
    base = mean(walks.target, 0, draft, draft.states[0])
    laws = [joint_law(chain, c) for chain, c in zip((walks.target, walks.draft), walks.given, strict=True)]
    (m, s), (n, r) = laws
    inverse, size = np.linalg.inv(s), len(m)
    divergence = (
        np.trace(inverse @ r) + (m - n) @ inverse @ (m - n) - size + log(np.linalg.det(s) / np.linalg.det(r))
    ) / 2
    entropies = [multivariate_normal(mean_, cov).entropy() for mean_, cov in laws]
    return Logs(
        mean(walks.target, 0, target, draft.states[0]) - base,
        mean(walks.target, 0, target, target.states[0]) - base,
        float(divergence),
        float(entropies[1] - entropies[0]),
    )


def joint_law(chain: Chain, condition: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of (x_T, ..., x_0), step by step."""
    dense, d = chain.layout.dense, chain.dimension
    mean = dense(chain.start_gain) @ condition + chain.start_mean
    covariance = dense(chain.start_factor) @ dense(chain.start_factor).T
    for t in range(chain.steps, 0, -1):
        slope, root = dense(chain.slope[t - 1]), dense(chain.factor[t - 1])
        across = covariance[:, -d:] @ slope.T
        last = slope @ covariance[-d:, -d:] @ slope.T + root @ root.T
        mean = np.concatenate(
            [mean, slope @ mean[-d:] + dense(chain.condition_gain[t - 1]) @ condition + chain.offset[t - 1]]
        )
        covariance = np.block([[covariance, across], [across.T, last]])
    return mean, covariance


@pytest.mark.parametrize("seed", range(3))
def test_log_ratios_by_enumeration(seed: int) -> None:
    few = [case for case in random_chains(seed, 14) if independent_noise(*case, start_shared=False).size <= 8]
    assert few
    for case in few:
        for walks in (Coupling(*case), independent_noise(*case), independent_noise(*case, start_shared=False)):
            assert logs(walks) == pytest.approx(slow_logs(walks), abs=1e-8)


# Distances by enumeration --------------------------------------------------------------------------------------


def enumerated(walks: Coupling) -> np.ndarray:
    """E||x_t^q - x_t^p||^2 for each t, over all signs of the noise."""
    seen = walks.trajectories(np.array(list(product((-1.0, 1.0), repeat=walks.size))))
    return ((seen.target.states - seen.draft.states) ** 2).sum(axis=2).mean(axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_the_reduction_over_several_steps(seed: int) -> None:
    few = [case for case in random_chains(seed, 12) if independent_noise(*case).size <= 12]
    assert len(few) > 1
    for case in few:
        lowered = enumerated(independent_noise(*case)) - enumerated(Coupling(*case))
        assert lowered == pytest.approx(predicted(*case[:2]), abs=1e-10)


# The distance of trajectories ----------------------------------------------------------------------------------


def hermite(size: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes ``[N, size]`` and weights ``[N]`` of a mean over standard normals."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack(np.meshgrid(*[x] * size, indexing="ij"), axis=-1).reshape(-1, size)
    weights = np.prod(np.stack(np.meshgrid(*[w / w.sum()] * size, indexing="ij"), axis=-1).reshape(-1, size), axis=1)
    return grid, weights


def test_mean_lengths() -> None:
    assert mean_norm(np.zeros(1), np.ones((1, 1))) == pytest.approx(np.sqrt(2 / np.pi), abs=1e-10)
    assert mean_norm(np.zeros(3), np.eye(3)) == pytest.approx(np.sqrt(8 / np.pi), abs=1e-10)
    assert mean_norm(np.array([3.0, 4.0]), np.zeros((2, 2))) == pytest.approx(5, abs=1e-9)
    assert mean_norm(np.zeros(2), np.zeros((2, 2))) == 0
    mean, root = np.array([4.0, 1.0]), np.array([[1.0, 0.0], [0.5, 0.3]])  # far from the origin, where it is smooth
    grid, weights = hermite(2, 60)
    slow = weights @ np.linalg.norm(mean + grid @ root.T, axis=1)
    assert mean_norm(mean, root @ root.T) == pytest.approx(slow, abs=1e-5)


def test_the_distance_of_two_trajectories_on_the_line() -> None:
    """T = 2, shared noise: Yp - Yq is 1/2 + e / 4 in x_1 alone, a folded normal."""
    p, q = affine_chain(2, (1, 0), (1, 1), (0, 0.5)), affine_chain(2, (1, 0), (1, 0.75))
    left, right = cspd_paths.distances(Coupling(p, q, UNCONDITIONAL), 1, True)
    x = np.linspace(-8, 8, 200_001)
    slow = np.sum(np.abs(0.5 + x / 4) * np.exp(-x * x / 2)) * (x[1] - x[0]) / np.sqrt(2 * np.pi)
    assert left == pytest.approx(slow, abs=1e-8)
    assert right == pytest.approx(np.sqrt(5 / 16), abs=1e-12)


# The tools -----------------------------------------------------------------------------------------------------


def test_a_quadratic_is_found_from_its_values() -> None:
    random = np.random.default_rng(3)
    c, b, m = 0.7, random.normal(size=3), random.normal(size=(3, 3)) / 6
    m = m + m.T

    def value(e: np.ndarray) -> np.ndarray:
        return c + e @ b + np.einsum("bi,ij,bj->b", e, m, e) / 2

    found = quadratic(value, 3)
    assert found.constant == pytest.approx(c)
    assert np.allclose(found.linear, b)
    assert np.allclose(found.curvature, m)
    grid, weights = hermite(3, 40)
    assert found.mean == pytest.approx(weights @ value(grid), abs=1e-9)
    assert found.mean_exp == pytest.approx(weights @ np.exp(value(grid)), rel=1e-5)
    known = grid[:, 0] == grid[0, 0]
    rest = hermite(2, 40)
    fixed = found.given(0, grid[0, 0] / 4)
    at = np.column_stack([np.full(len(rest[0]), grid[0, 0] / 4), rest[0]])
    assert known.sum() == len(rest[1])
    assert fixed.mean_exp == pytest.approx(rest[1] @ np.exp(value(at)), rel=1e-5)


@pytest.mark.parametrize(("curvature", "finite"), [(0.999, True), (1.0, False), (1.5, False)])
def test_a_mean_that_diverges_is_infinite(curvature: float, finite: bool) -> None:
    mean = Quadratic(0.0, np.zeros(2), np.diag([curvature, -1.0])).mean_exp
    assert np.isfinite(mean) == finite
    if finite:
        assert mean == pytest.approx(1 / np.sqrt((1 - curvature) * 2))


def test_noise_of_its_own_is_laid_out_step_by_step() -> None:
    """The second step alone is not shared: the noise of x_2 and the last step's move both trajectories alike."""
    p = Chain(np.ones((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)), np.ones((2, 1)), np.ones(1))
    walks = Coupling(p, p, UNCONDITIONAL, (2,))
    assert walks.size == 4
    seen = walks.trajectories(np.array([[1.0, 10.0, 100.0, 1000.0]]))
    assert seen.draft.states[:, 0, 0].tolist() == [111, 101, 1]
    assert seen.target.states[:, 0, 0].tolist() == [1011, 1001, 1]
    assert list(independent_noise(p, p, walks.given).own) == [1, 2]
    assert list(independent_noise(p, p, walks.given, start_shared=False).own) == [0, 1, 2]
