"""How far apart two trajectories are: every number again by enumerating noise of two values, or by quadrature.

Second moments of what is affine in the noise are the same for noise that is +1 or -1, so they can be enumerated.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from theory.claims.cspd import paths as cspd_paths
from theory.claims.cspd.paths import predicted
from theory.continuous.paths import (
    Coupling,
    Quadratic,
    independent_noise,
    mean_norm,
    quadratic,
    random_chains,
)

pytestmark = pytest.mark.exact


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
    left, right = cspd_paths.distances(Coupling(p, q, (np.zeros(1), np.zeros(1))), 1, True)
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
    walks = Coupling(p, p, (np.zeros(1), np.zeros(1)), (2,))
    assert walks.size == 4
    seen = walks.trajectories(np.array([[1.0, 10.0, 100.0, 1000.0]]))
    assert seen.draft.states[:, 0, 0].tolist() == [111, 101, 1]
    assert seen.target.states[:, 0, 0].tolist() == [1011, 1001, 1]
    assert list(independent_noise(p, p, walks.given).own) == [1, 2]
    assert list(independent_noise(p, p, walks.given, start_shared=False).own) == [0, 1, 2]
