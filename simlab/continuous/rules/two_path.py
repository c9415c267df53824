"""CSpD's two-path ratio, all densities of both trajectories, which share x_0 alone. CSpD, eq. 4.

    rho(x) = p(x_T^p) prod_{t >= 2} p(x_{t-1}^p | x_t^p) p(x | x_1^p) / the same of the draft

With shared noise it is ``variance-product`` (eqs. 7 to 9). With independent noise each trajectory brings the density of
its noise, so that the ratio is that times exp of half the difference of two chi-squares with d T degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.last_step import LastStep


@dataclass(frozen=True)
class TwoPath(LastStep):
    """CSpD's two-path ratio in full, step by step."""

    # whether the target's trajectory shares the noise of the draft; by default it has independent noise
    aligned: bool = False
    name = "two-path"

    def check(self, target: Kernels, draft: Kernels) -> None:
        super().check(target, draft)
        for chain in (target, draft):
            chain.check_density(2, chain.steps)
            chain.check_start()

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return pair.target.log_upper() - pair.draft.log_upper() + super().log_ratio(pair, candidate)
