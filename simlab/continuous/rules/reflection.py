"""The reflection-maximal coupling: a rejected draft's own noise, reflected, is the token in its place.

De Bortoli, Galashov, Gretton and Doucet, "Accelerated diffusion models via speculative sampling", arXiv 2501.05370.
Where the last kernels have one covariance L L', with means m_p of the target and m_q of the draft,

    x = m_q + L z,    D = L^-1 (m_q - m_p),    e = D / |D|,
    keep x with probability min(1, phi(z + D) / phi(z)),    else    y = m_p + L (z - 2 e (e . z)),

with phi the standard normal density: the ratio of ``last-step``, and one proposal that is always taken.

*Theorem.* The emitted token follows the target's marginal, whatever the joint law of the two trajectories down to x_1,
as long as the last noise z and the coin are independent of it; a draft is kept with probability 2 Phi(-|D| / 2), which
no rule exceeds that emits the target's last step given both trajectories down to x_1.

*Proof.* Given both trajectories down to x_1 a rejected z has the density [phi(z) - phi(z + D)]+. The reflection R takes
D to -D, keeps lengths and volumes, and is its own inverse. So z' = R z has the density [phi(R z') - phi(R z' + D)]+ =
[phi(z') - phi(R (R z' + D))]+ = [phi(z') - phi(z' - D)]+, and y = m_p + L z' that of [p(y) - q(y)]+, for L z' - L D =
y - m_q: just what kept drafts, min(p, q), are short of p. The overlap of two normal laws at a distance |D| is
2 Phi(-|D| / 2). What follows is as for ``last-step``. QED

Nothing is drawn for a rejected draft, however near the two models are: ``last-step`` takes 1 / (1 - alpha) proposals
there. For covariances that differ the reflected noise has no such law, and the rule says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.last_step import LastStep
from simlab.randomness import Tape

NEAR = 1e-12  # by which share of the largest entry covariances may differ


@dataclass(frozen=True)
class Reflection(LastStep):
    """The ratio of the last step, and the rejected draft's noise reflected: lossless where covariances are one.

    See De Bortoli et al., arXiv 2501.05370.
    """

    name = "reflection"

    def check(self, target: Kernels, draft: Kernels) -> None:
        super().check(target, draft)
        own, other = target.last_root(), draft.last_root()
        if own is not None and other is not None:
            _check_one(target.layout.squared(own), draft.layout.squared(other))

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        _check_one(*(model.chain.layout.squared(model.kernel(1).root) for model in pair))
        return super().log_ratio(pair, candidate)

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        """The draft's noise reflected; nothing is drawn."""
        target, draft = pair.target.kernel(1), pair.draft.kernel(1)
        whitened = pair.target.chain.layout.whitened
        noise = whitened(target.root, pair.draft.states[0] - draft.mean)
        apart = whitened(target.root, draft.mean - target.mean)
        return pair.target.chain.drawn(target, reflected(noise, apart))[None]

    def taking(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return np.ones(candidate.shape[1])


def reflected(noise: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """``[B, d]``: noise ``z[B, d]`` on the other side of the plane through 0 that ``D[B, d]`` is normal to."""
    return noise - 2 * apart * (np.sum(apart * noise, axis=-1) / np.sum(apart * apart, axis=-1))[:, None]


def _check_one(target: np.ndarray, draft: np.ndarray) -> None:
    """Raise ``ValueError`` unless two covariances are one, but for rounding."""
    if (off := float(np.max(np.abs(target - draft), initial=0))) > NEAR * float(np.max(np.abs(target), initial=0)):
        raise ValueError(
            f"the covariances of the last kernels differ by {off:.3g}; expected one for both models, as fixed "
            "variances have: a reflection turns the noise of one into that of the other; last-step asks for none"
        )
