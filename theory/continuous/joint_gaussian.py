"""The joint law of the target's and the draft's trajectories, in closed form.

With fixed variances both states follow one linear recursion, so that (x_t^p, x_t^q) is normal at every t. Shared noise
and independent noise differ in one block: the covariance of what a step adds is L_p L_q' or 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.continuous.models.chains import Chain

Given = tuple[np.ndarray, np.ndarray]  # the conditions [d] of target and draft


class Joint(NamedTuple):
    """The law of (x^p, x^q), both ``[d]``, the target first."""

    mean: np.ndarray  # float64[2 d]
    covariance: np.ndarray  # float64[2 d, 2 d]

    @property
    def gap(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean ``[d]`` and covariance ``[d, d]`` of x^p - x^q."""
        size = len(self.mean) // 2
        apart = np.hstack([np.eye(size), -np.eye(size)])
        return apart @ self.mean, apart @ self.covariance @ apart.T

    @property
    def distance(self) -> float:
        """E ||x^p - x^q||^2."""
        mean, covariance = self.gap
        return float(mean @ mean + np.trace(covariance))


def joint_states(
    target: Chain, draft: Chain, given: Given, aligned: bool, start_shared: bool | None = None
) -> list[Joint]:
    """The joint laws of (x_t^p, x_t^q), t at index t, down to what the last step adds of its own.

    ``target``, ``draft``: chains of one dimension d and as many steps T. ``given``: their conditions, ``[d]`` each.
    ``aligned``: whether the steps have shared noise, else independent noise. ``start_shared``: whether x_T has shared
    noise; by default as ``aligned`` says. The law at 0 is for x_0 that each draws itself, with the same noise if
    aligned. Raises ``ValueError`` for a learned range, and where the draft takes other steps.
    """
    check_steps(target, draft)
    models = (target, draft)
    for chain in models:
        chain.check_fixed()
    dense = target.layout.dense
    starts = [chain.start(c[None])[0] for chain, c in zip(models, given, strict=True)]
    together = aligned if start_shared is None else start_shared
    joint = Joint(np.concatenate(starts), _added([dense(chain.start_factor) for chain in models], together))
    laws = [joint]
    for t in range(target.steps, 0, -1):
        joint = moved(joint, target, draft, given, t, aligned)
        laws.append(joint)
    return laws[::-1]


def moved(joint: Joint, target: Chain, draft: Chain, given: Given, t: int, aligned: bool) -> Joint:
    """The joint law after kernel ``t``, 1 to T: that of (x_{t-1}^p, x_{t-1}^q).

    ``joint``: the law of (x_t^p, x_t^q). All else as for :func:`joint_states`.
    """
    mean, slope = means_after(joint, target, draft, given, t)
    dense = target.layout.dense
    roots = [dense(chain.factor[t - 1]) * (t > 1 or chain.noisy_end) for chain in (target, draft)]
    return Joint(mean, slope @ joint.covariance @ slope.T + _added(roots, aligned))


def last_means(target: Chain, draft: Chain, given: Given, aligned: bool) -> Joint:
    """The joint law of where the last kernels of the two go: (mu_1^p(x_1^p), mu_1^q(x_1^q)).

    Its ``gap`` is that of the last means. Arguments and errors are those of :func:`joint_states`.
    """
    joint = joint_states(target, draft, given, aligned)[1]
    mean, slope = means_after(joint, target, draft, given, 1)
    return Joint(mean, slope @ joint.covariance @ slope.T)


def means_after(joint: Joint, target: Chain, draft: Chain, given: Given, t: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean ``[2 d]`` of what kernel ``t`` goes to, and the matrix ``[2 d, 2 d]`` it multiplies states with.

    Arguments are those of :func:`moved`.
    """
    size, dense = target.dimension, target.layout.dense
    halves = (joint.mean[:size], joint.mean[size:])
    mean = np.concatenate(
        [chain.mean(t, x[None], c[None])[0] for chain, x, c in zip((target, draft), halves, given, strict=True)]
    )
    slope = np.zeros((2 * size, 2 * size))
    slope[:size, :size], slope[size:, size:] = dense(target.slope[t - 1]), dense(draft.slope[t - 1])
    return mean, slope


def last_sd(chain: Chain) -> float:
    """The standard deviation of the last kernel; raises ``ValueError`` in more than one dimension."""
    check_line(chain)
    return float(abs(chain.layout.dense(chain.factor[0])[0, 0]))


def log_sigma(target: Chain, draft: Chain) -> float:
    """log Sigma, the product over t >= 2 of sqrt(det S_t^q) / sqrt(det S_t^p): CSpD, equation 8.

    ``target``, ``draft``: chains of one dimension and as many steps; raises ``ValueError`` for other steps. It is 0 for
    models with the same variances.
    """
    check_steps(target, draft)
    logs = [sum(float(chain.layout.log_volume(root)) for root in chain.factor[1:]) for chain in (target, draft)]
    return logs[1] - logs[0]


def check_steps(target: Chain, draft: Chain) -> None:
    """Raise ``ValueError`` unless both take as many steps."""
    if draft.steps != target.steps:
        raise ValueError(f"the draft takes {draft.steps} steps; expected the target's {target.steps}")


def check_line(*chains: Chain) -> None:
    """Raise ``ValueError`` unless chains are of one dimension."""
    for chain in chains:
        if chain.dimension != 1:
            raise ValueError(f"a chain has dimension {chain.dimension}; expected 1: laws on the line")


def _added(roots: list[np.ndarray], shared: bool) -> np.ndarray:
    """The covariance ``[2 d, 2 d]`` of (L_p e_p, L_q e_q), e_p = e_q if shared, else independent."""
    left, right = roots
    across = left @ right.T * shared
    return np.block([[left @ left.T, across], [across.T, right @ right.T]])
