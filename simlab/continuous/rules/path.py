"""The path ratio: one trajectory, its density under both models. CSpD, eqs. 2, 5, 10 to 12, and A.1.2.

    rho(Y) = p(Y) / q(Y),  Y = x_{0:T} sampled from the draft; proposals are trajectories of the target

Speculative sampling of whole trajectories, so lossless for them and for x_0; but what separates the models adds up
over the steps, and acceptance, 1 - TV of the laws of trajectories, falls accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules.base import Rule
from simlab.continuous.tape import all_normals
from simlab.randomness import Purpose, Tape


@dataclass(frozen=True)
class Path(Rule):
    """The ratio of the densities of whole trajectories: lossless.

    References
    ----------
    CSpD, eqs. 2, 5, 10 to 12, and A.1.2.
    """

    name = "path"

    def check(self, target: Kernels, draft: Kernels) -> None:
        for chain in (target, draft):
            chain.check_density(1, chain.steps)
            chain.check_start()
            chain.check_noisy_end()

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return _log_density(pair.target.through(candidate)) - _log_density(pair.draft.through(candidate))

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        chain = pair.target.chain
        noise = all_normals(tape, position, Purpose.PROPOSAL, chain.steps, trial, chain.dimension)
        return chain.walk(pair.target.condition, noise).states


def _log_density(model: Trajectory) -> np.ndarray:
    """``[B]``: the log density of a whole trajectory."""
    return model.log_upper() + model.log_step(1)
