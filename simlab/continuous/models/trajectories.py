"""Sampled trajectories, and the pair of a token's two: what rules look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.continuous.models.protocol import Kernel, Kernels, Noise


class Trajectory(NamedTuple):
    """Sampled trajectories of one chain."""

    chain: Kernels  # what they were sampled from
    condition: Any  # [B], the conditions of the tokens: float64[B, d] where the chain is affine
    states: np.ndarray  # float64[T + 1, B, d], x_t at index t
    # kernel t at x_t, at index t - 1, where they are at hand; else the chain is asked for them
    kernels: tuple[Kernel, ...] | None = None

    def kernel(self, t: int) -> Kernel:
        """Its kernel t: the law of x_{t-1} given the state x_t that it went through."""
        if self.kernels is not None:
            return self.kernels[t - 1]
        return self.chain.kernel(t, self.states[t], self.condition)

    def through(self, states: np.ndarray) -> Trajectory:
        """Trajectories of the same chain under the same conditions through other states."""
        return Trajectory(self.chain, self.condition, states)

    def only(self, rows: np.ndarray) -> Trajectory:
        """Those of the tokens ``rows``."""
        part = self.chain.layout.only
        kernels = self.kernels and tuple(Kernel(k.mean[rows], part(k.root, rows)) for k in self.kernels)
        return Trajectory(self.chain, self.condition[rows], self.states[:, rows], kernels)

    def log_step(self, t: int, to: np.ndarray | None = None) -> np.ndarray:
        """``[B]``: the log density of its kernel t at ``to``, or at the state it went to itself."""
        return self.chain.log_density_of(self.kernel(t), self.states[t - 1] if to is None else to)

    def log_noise(self, to: np.ndarray) -> np.ndarray:
        """``[B]``: the log density of what the last noise leads to, at the states ``to[B, d]``."""
        k = self.chain.last_noise
        return self.chain.log_start(to, self.condition) if k > self.chain.steps else self.log_step(k, to)

    def log_upper(self) -> np.ndarray:
        """``[B]``: the log density of its trajectory down to x_1."""
        start = self.chain.log_start(self.states[-1], self.condition)
        return sum((self.log_step(t) for t in range(2, self.chain.steps + 1)), start)

    def log_volume(self, t: int) -> np.ndarray:
        """``[B]``: log sqrt(det S_t) of its kernel t."""
        return self.chain.log_volume_of(self.kernel(t))

    def log_volumes(self) -> np.ndarray:
        """``[B]``: log of the product over t >= 2 of sqrt(det S_t)."""
        steps = range(2, self.chain.steps + 1)
        return sum((self.log_volume(t) for t in steps), np.zeros(self.states.shape[1]))


class TrajectoryPair(NamedTuple):
    """The two trajectories of each token."""

    target: Trajectory  # the target's; its x_0 is what the target would have drawn with that noise
    draft: Trajectory  # the draft's, which ends in the draft

    def only(self, rows: np.ndarray) -> TrajectoryPair:
        """Those of the tokens ``rows``."""
        return TrajectoryPair(self.target.only(rows), self.draft.only(rows))

    def log_sigma(self) -> np.ndarray:
        """``[B]``: log Sigma, of the draft's standard deviations over the target's; CSpD, eq. 8."""
        return self.draft.log_volumes() - self.target.log_volumes()


def joined(parts: Sequence[Trajectory]) -> Trajectory:
    """Trajectories of one chain, those of each part behind those of the parts before."""
    first, chain = parts[0], parts[0].chain
    kernels = first.kernels and tuple(
        Kernel(np.concatenate([kernel.mean for kernel in same]), chain.layout.joined([kernel.root for kernel in same]))
        for same in zip(*(part.kernels or () for part in parts), strict=True)
    )
    condition = chain.joined([part.condition for part in parts])
    return Trajectory(chain, condition, np.concatenate([part.states for part in parts], axis=1), kernels)


def sampled(chain: Kernels, condition: Any, noise: Noise) -> Trajectory:
    """A trajectory for each of the conditions ``[B]``, on noise ``float64[B, d]`` a step."""
    return Trajectory(chain, condition, *chain.walk(condition, noise))
