"""The ratio of the marginal densities of the token. CSpD, section 3.1 and A.1.1, eq. 14: there it is out of reach.

    rho(x) = p(x) / q(x),  proposals are tokens of the target

Speculative sampling for densities: lossless, and no lossless rule accepts more. It needs marginals in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.base import Rule
from simlab.continuous.tape import normals
from simlab.randomness import Purpose, Tape


@dataclass(frozen=True)
class Marginal(Rule):
    """The ratio of marginal densities: lossless; for chains of fixed variances, whose marginals are normal."""

    name = "marginal"

    def check(self, target: Kernels, draft: Kernels) -> None:
        for chain in (target, draft):
            chain.marginal(np.zeros((1, chain.dimension))).checked()

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        target, draft = (model.chain.marginal(model.condition) for model in pair)
        return target.log_density(candidate[0]) - draft.log_density(candidate[0])

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        law = pair.target.chain.marginal(pair.target.condition)
        noise = normals(tape, position, Purpose.PROPOSAL, 1, trial, pair.target.chain.dimension)
        return (law.mean + noise @ law.root().T)[None]
