"""The ratio of the token's densities given the states before the last noise.

MAR's sampler adds no noise at its last step, and DDIM with eta = 0 at none, so that x_0 has no density given x_1. It
has one given the state before the last noise. Let k be the last step that adds noise and f_t the mean of kernel t:

    x_0 = f_1( ... f_{k-1}(x_{k-1})),    p(x_0 | x_k) = p(x_{k-1} | x_k) / prod_{t<k} |det f_t'|,
    rho(x) = p(x | x_k^p) / q(x | x_k^q),

where x_{k-1} is x_0 walked back through f_1, ..., f_{k-1}, each model through its own. With k = 1 that is
``last-step``. Where no step adds noise, k = T + 1, the state before it is nothing at all, and the ratio is that of the
marginals, by change of variables from x_T.

*Theorem.* Where f_1, ..., f_{k-1} are one to one and differentiable, with determinants nowhere 0, the emitted token
follows the target's marginal, whatever the joint law of the two trajectories' noise down to x_k, and an accepted token
is the draft itself.

Each model has a k of its own. Where the draft's is larger, steps below it add noise to the target alone: shared, it
would be that of the draft's last noise, and x_k^p would know the draft, which is no draw from q(. | x_k^q) then. So
such a pair asks for noise that is not shared. Where the target's is larger, x_k^p knows nothing of the draft's noise
behind it.

*Proof.* Take steps 1 to k as one. It has the density p(x_0 | x_k) above, by change of variables, and adds noise, so
that it is the last step of a chain to which the theorem of ``last-step`` applies. QED

*It accepts no less than* ``last-step`` *would with steps 1 to k apart.* min is concave, so that the overlap of
mixtures is at least the mixture of overlaps: for any coupling of x_j^p and x_j^q given x_k^p and x_k^q, int min(p(x |
x_k^p), q(x | x_k^q)) dx >= E int min(p(x | x_j^p), q(x | x_j^q)) dx. Merging steps climbs a ladder from ``last-step``
to ``marginal``; of a network only steps without noise can be merged, as here.

Since accepted drafts stay what they are, so do prefixes, and a block can be verified at once. Where the means of the
last steps are the same map in both models, acceptance is that of ``target-end``: a map that both share changes no
overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules.base import Rule
from simlab.continuous.tape import normals
from simlab.randomness import Purpose, Tape


@dataclass(frozen=True)
class LastNoise(Rule):
    """The ratio of the token's densities given the states before the last noise: lossless, with any sampler."""

    name = "last-noise"

    def check(self, target: Kernels, draft: Kernels) -> None:
        for chain in (target, draft):
            chain.check_noise()
            chain.check_one_to_one()
        if self.aligned and draft.last_noise > target.last_noise:
            raise ValueError(
                f"the draft's last noise is that of step {draft.last_noise}, the target's that of step "
                f"{target.last_noise}; expected no later one of the target where noise is shared: its state before "
                "that would know the draft. Without sharing (aligned=False) any two are fine"
            )

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return _log_token(pair.target, candidate) - _log_token(pair.draft, candidate)

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        return noise_again(pair.target, tape, position, trial)


def _log_token(model: Trajectory, candidate: np.ndarray) -> np.ndarray:
    """``[B]``: the log density of a candidate's token given the state before the last noise."""
    state, volumes = walked_back(model, candidate)
    return model.log_noise(state) - volumes


def walked_back(model: Trajectory, candidate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The states ``[B, d]`` that tokens come from without noise, and ``[B]``: log |det| of the way there.

    Each step is searched from where the candidate's own took it: its maker finds its states at once. A proposal has
    states up to its maker's own last noise alone: beyond, a step is searched from where it went.
    """
    state, volumes = candidate[0], np.zeros(candidate.shape[1])
    for t in range(1, model.chain.last_noise):
        near = state + (candidate[t] - candidate[t - 1]) if t < len(candidate) else state
        state, volume = model.chain.undo(t, state, model.condition, near)
        volumes = volumes + volume
    return state, volumes


def noise_again(model: Trajectory, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
    """A trajectory's last noise once more, and the steps behind it.

    ``model``: the trajectory, which gives the state before. ``tape``, ``position``, ``trial``: where the normals come
    from, as for :meth:`~simlab.continuous.rules.base.Rule.propose`. Returns ``float64[k, B, d]``, from x_0 up to
    x_{k-1}.
    """
    chain, condition, k = model.chain, model.condition, model.chain.last_noise
    step = k if k <= chain.steps else 0  # on the tape
    noise = normals(tape, position, Purpose.PROPOSAL, step, trial, chain.dimension)
    kernel = model.kernel(k) if step else chain.initial(condition)
    found = [chain.drawn(kernel, noise)]
    for t in range(k - 1, 0, -1):
        found.append(chain.kernel(t, found[-1], condition).mean)
    return np.stack(found[::-1])
