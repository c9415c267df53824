"""CSpD's rule: the ratio of the last step times the product of variances. CSpD, eqs. 8, 9 and 13, and Algorithm 1.

    Sigma = prod_{t >= 2} sqrt(det S_t^q) / sqrt(det S_t^p),    rho(x) = Sigma p(x | x_1^p) / q(x | x_1^q)

Where noise is shared, and x_T too, this is the ratio of the densities of the two trajectories, each at its own
(``two-path``). Sigma depends on the models, not on x: it is what biases the law, and where it is small enough no
proposal is ever taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.last_step import LastStep


@dataclass(frozen=True)
class VarianceProduct(LastStep):
    """CSpD's rule, the ratio of the last step times the product of variances.

    Biased where that product is not 1, but for special pairs.
    """

    name = "variance-product"

    def check(self, target: Kernels, draft: Kernels) -> None:
        super().check(target, draft)
        for chain in (target, draft):
            chain.check_density(2, chain.steps)

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return pair.log_sigma() + super().log_ratio(pair, candidate)
