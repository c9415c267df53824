"""The exact rule: the ratio of the last step alone.

    rho(x) = p(x | x_1^p) / q(x | x_1^q),   x_1^p and x_1^q the states of the two trajectories before the last step.

*Theorem.* The emitted token follows the target's marginal, whatever the joint law of the noise of the two trajectories
and however the draft differs from the target.

*Proof.* Given both trajectories down to x_1, the draft is a draw from q(. | x_1^q), and what is done with it is
speculative sampling for the densities q(. | x_1^q) and p(. | x_1^p): the emitted token follows p(. | x_1^p). The
target's own trajectory down to x_1^p is distributed as without a draft, since noise that is shared is standard normal
all the same. So the token follows the integral of p(. | x_1) p(x_1), the marginal. Along a sequence, x_1^p is made from
the accepted prefix, and the argument holds for each token given those before. QED

Given the trajectories a rejection has probability Z = 1 - int min(p, q), and then takes 1 / Z proposals in the mean: at
most one proposal a token, whatever the models are, and exactly one where they differ almost surely. Alignment changes
how often drafts are accepted, not the law. Next to CSpD's Algorithm 1 only the product of variances is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.base import Rule


@dataclass(frozen=True)
class LastStep(Rule):
    """The ratio of the last step alone: lossless, with noise that is shared or not."""

    name = "last-step"

    def check(self, target: Kernels, draft: Kernels) -> None:
        for chain in (target, draft):
            chain.check_density(1, 1)
            chain.check_noisy_end()

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return pair.target.log_step(1, candidate[0]) - pair.draft.log_step(1, candidate[0])
