"""Two trajectories as linear functions of one standard normal vector, and their moments in closed form.

With fixed variances every state is affine in the noise, every log density of a trajectory at itself or at the other is
quadratic in it, and so is the log ratio of every rule that has one. A quadratic f(e) = c + b'e + e'Me/2 is known from
its values, and E f = c + tr M / 2, while E exp f is finite only if I - M is positive definite. So the mean of a ratio
is computed from the rule itself, without sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import pi
from typing import NamedTuple

import numpy as np
import scipy

from simlab.continuous.models.chains import Chain
from simlab.continuous.models.gaussians import HALF_LOG_TURN
from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from theory.continuous.joint_gaussian import Given

_SINGULAR = 1e-9  # eigenvalues of I - M of well-scaled chains come out to 1e-12

Case = tuple[Chain, Chain, Given]  # a target, a draft and their conditions


class Coupling(NamedTuple):
    """A target and a draft, and which steps have shared noise.

    Noise is laid out as n = d (T + 1 + number of own steps) numbers: the draft's for steps 0 to T, then the target's
    own.
    """

    # target, draft: chains of one dimension d and as many steps T
    target: Chain
    draft: Chain
    given: Given  # their conditions, [d] each
    own: Collection[int] = ()  # the steps with independent noise; step 0 is the noise of x_T

    @property
    def size(self) -> int:
        """n, how many normals the two trajectories take."""
        return self.target.dimension * (self.target.steps + 1 + len(self.own))

    def trajectories(self, noise: np.ndarray) -> TrajectoryPair:
        """The two trajectories for each row of ``noise[B, n]``."""
        d, steps = self.target.dimension, self.target.steps
        parts = noise.reshape(len(noise), -1, d)
        order = {t: steps + 1 + k for k, t in enumerate(sorted(self.own))}
        conditions = [np.broadcast_to(c, (len(noise), d)) for c in self.given]
        target = self.target.trajectory(conditions[0], lambda t: parts[:, order.get(t, t)])
        draft = self.draft.trajectory(conditions[1], lambda t: parts[:, t])
        return TrajectoryPair(
            Trajectory(self.target, conditions[0], target), Trajectory(self.draft, conditions[1], draft)
        )

    def sampled(self, random: np.random.Generator, count: int) -> TrajectoryPair:
        """``count`` pairs of trajectories."""
        return self.trajectories(random.normal(size=(count, self.size)))

    def quadratic(self, value: Callable[[TrajectoryPair], np.ndarray]) -> Quadratic:
        """A value of the trajectory pair, ``float[B]`` and quadratic in the states, as a quadratic in the noise."""
        return quadratic(lambda noise: value(self.trajectories(noise)), self.size)

    def linear(self, value: Callable[[TrajectoryPair], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """A value ``float[B, m]`` of the pair, affine in the states: its constant ``[m]`` and matrix ``[m, n]``."""
        at = value(self.trajectories(np.vstack([np.zeros(self.size), np.eye(self.size)])))
        return at[0], (at[1:] - at[0]).T


def independent_noise(target: Chain, draft: Chain, given: Given, start_shared: bool = True) -> Coupling:
    """Trajectories whose noise is independent, but perhaps for that of x_T. Arguments are those of a coupling."""
    return Coupling(target, draft, given, range(int(start_shared), target.steps + 1))


class Quadratic(NamedTuple):
    """c + b'e + e'Me/2 of n standard normals."""

    constant: float  # c
    linear: np.ndarray  # b, float64[n]
    curvature: np.ndarray  # M, symmetric, float64[n, n]

    @property
    def mean(self) -> float:
        return self.constant + float(np.trace(self.curvature)) / 2

    def given(self, index: int, value: float) -> Quadratic:
        """The same with one of the normals known: a quadratic in the others."""
        others = np.arange(len(self.linear)) != index
        across = self.curvature[index]
        constant = self.constant + self.linear[index] * value + across[index] * value**2 / 2
        return Quadratic(
            float(constant), (self.linear + across * value)[others], self.curvature[np.ix_(others, others)]
        )

    @property
    def mean_exp(self) -> float:
        """E exp f, inf where it diverges or leaves the range of floats."""
        left = np.eye(len(self.linear)) - self.curvature
        sizes, turns = np.linalg.eigh(left)
        if sizes[0] <= _SINGULAR * max(1.0, sizes[-1]):
            return float("inf")
        along = turns.T @ self.linear
        with np.errstate(over="ignore"):
            return float(np.exp(self.constant + 0.5 * np.sum(along**2 / sizes) - 0.5 * np.sum(np.log(sizes))))

    @property
    def log_moment(self) -> Callable[[np.ndarray], np.ndarray]:
        """s -> log E exp(s f), both ``[n]`` and complex, wherever that is finite."""
        sizes, turns = np.linalg.eigh(self.curvature)
        along = (turns.T @ self.linear) ** 2

        def at(s: np.ndarray) -> np.ndarray:
            left = 1 - s[:, None] * sizes
            value: np.ndarray = s * self.constant + s * s * (along / left).sum(1) / 2 - np.log(left).sum(1) / 2
            return value

        return at


def quadratic(value: Callable[[np.ndarray], np.ndarray], size: int) -> Quadratic:
    """The quadratic that a function is, from its values at 0, at +- e_i and at e_i + e_j.

    ``value``: from ``float[B, n]`` to ``float[B]``, quadratic. ``size``: n.
    """
    eye = np.eye(size)
    rows, columns = np.triu_indices(size, 1)
    values = value(np.vstack([np.zeros(size), eye, -eye, eye[rows] + eye[columns]]))
    (constant,), plus, minus, both = np.split(values, [1, size + 1, 2 * size + 1])
    curvature = np.diag(plus + minus - 2 * constant)
    curvature[rows, columns] = curvature[columns, rows] = both - plus[rows] - plus[columns] + constant
    return Quadratic(float(constant), (plus - minus) / 2, curvature)


def log_path(model: Trajectory, end: np.ndarray | None = None) -> np.ndarray:
    """The log density ``[B]`` of trajectories under their own model, with ``end[B, d]`` in place of x_0 if given."""
    chain = model.chain
    value = chain.log_start(model.states[-1], model.condition) + model.log_step(1, end)
    value = value + sum(model.log_step(t) for t in range(2, chain.steps + 1))
    return value - chain.dimension * (chain.steps + 1) * HALF_LOG_TURN


def under(chain: Kernels, condition: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The log density ``[B]`` of trajectories ``states[T + 1, B, d]`` under a chain, whichever model sampled them.

    ``condition``: ``float[d]`` or ``float[B, d]``.
    """
    return log_path(Trajectory(chain, np.broadcast_to(condition, states.shape[1:]), states))


def mean_norm(mean: np.ndarray, covariance: np.ndarray) -> float:
    """E ||g|| of a normal vector with this ``mean[d]`` and ``covariance[d, d]``, by quadrature.

    sqrt(Q) = int_0^inf (1 - exp(-u^2 Q)) / (u^2 sqrt(pi)) du, and E exp(-u^2 Q) is known for Q = ||g||^2.
    """
    sizes, turns = np.linalg.eigh(covariance)
    sizes, along = np.clip(sizes, 0, None), (turns.T @ mean) ** 2
    scale = float(sizes.sum() + along.sum())
    if scale == 0:
        return 0.0
    sizes, along = sizes / scale, along / scale

    def left(u: float) -> float:
        if u < 1e-4:
            return 1.0  # E Q, up to 1e-8
        wide = 1 + 2 * u * u * sizes
        log_mean = -u * u * np.sum(along / wide) - 0.5 * np.sum(np.log(wide))
        return float(-np.expm1(log_mean)) / (u * u)

    near, far = (
        scipy.integrate.quad(left, 0, 1, epsabs=1e-11)[0],
        scipy.integrate.quad(left, 1, np.inf, epsabs=1e-11)[0],
    )
    return float(np.sqrt(scale / pi)) * (near + far)


def random_chains(seed: int, count: int, dense: bool = True) -> list[Case]:
    """Targets and drafts of up to 3 dimensions and 4 steps that start from N(0, I), and conditions for both.

    Every second pair is diagonal, or all are; roots of dense covariances are triangular.
    """
    random = np.random.default_rng(seed)
    found = []
    for k in range(count):
        d, steps = 1 + int(random.integers(3)), 1 + int(random.integers(4))
        flat = not dense or k % 2 == 0
        shape = (steps, d) if flat else (steps, d, d)
        one = np.ones(d) if flat else np.eye(d)

        def chain(shape: tuple[int, ...] = shape, flat: bool = flat, one: np.ndarray = one) -> Chain:
            sizes = random.uniform(0.5, 1.5, shape[:2])
            factor = sizes if flat else np.tril(random.normal(0, 0.4, shape), -1) + sizes[:, None] * one
            slope = random.normal(0, 0.6, shape)
            return Chain(slope, random.normal(0, 0.6, shape), random.normal(0, 0.5, shape[:2]), factor, one)

        found.append((chain(), chain(), (random.normal(size=d), random.normal(size=d))))
    return found
