"""The rule of CSpD's published code, as far as it departs from the paper.

* the product of variances enters inverted, 1 / Sigma;
* to accept, both Mahalanobis distances are divided by 42^2; to resample, they are not;
* the last step adds no noise, though a variance is predicted for it: drafts are means, and that variance is used in
  the densities and for proposals;
* at most 100 proposals, after which the token is zero. How many there are is up to the decoder: it takes
  ``limit=PROPOSALS`` to be as that code is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simlab.checks import check_number
from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.variance_product import VarianceProduct

PROPOSALS = 100  # at most, for a rejected token: the ``limit`` of a decoder


@dataclass(frozen=True)
class ReferenceCode(VarianceProduct):
    """The rule of CSpD's published code: lossy.

    Raises ``ValueError`` for a sharpness that is no finite number of at least 0.

    That code makes at most 100 proposals: give a decoder ``limit=PROPOSALS``.
    """

    sharpness: float = 42.0**-2  # factor of squared Mahalanobis distances when a draft is verified, at least 0
    name = "cspd-reference"
    fill_value: ClassVar[float] = 0.0  # what a token is filled with when proposals have run out

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("sharpness", self.sharpness)

    def check(self, target: Kernels, draft: Kernels) -> None:
        for chain in (target, draft):
            chain.check_density(1, chain.steps)

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return -pair.log_sigma() + pair.target.log_step(1, candidate[0]) - pair.draft.log_step(1, candidate[0])

    def log_draft_ratio(self, pair: TrajectoryPair) -> np.ndarray:
        x, sharp = pair.draft.states[0], self.sharpness
        # half of a squared distance is what a log density and a log volume lack
        target, draft = (sharp * model.log_step(1, x) - (1 - sharp) * model.log_volume(1) for model in pair)
        return target - draft - pair.log_sigma()
