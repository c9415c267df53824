"""The ratio of what the last noise leads to; whatever is accepted, the target's means end it.

MAR's sampler adds no noise at its last step, so that x_0 is the mean of kernel 1 at x_1, and has no density given x_1.
Let k be the last step that adds noise, 2 for MAR, and f_t the mean of the target's kernel t:

    rho(x_{k-1}) = p(x_{k-1} | x_k^p) / q(x_{k-1} | x_k^q),    x_0 = f_1( ... f_{k-1}(x_{k-1})).

A rejected state is replaced by proposals from p(x_{k-1} | x_k^p). The draft's own steps after x_{k-1} make the token
that later drafts follow, and nothing else.

*Theorem.* The emitted token follows the target's marginal, whatever the joint law of the two trajectories' noise down
to x_k, however the draft differs from the target, and whatever f_1, ..., f_{k-1} are.

*Proof.* Steps T to k are a chain with a noisy end, whose token is x_{k-1}: by the theorem of ``last-step`` what is
accepted or taken follows p(x_{k-1}). The target's own token is f_1( ... f_{k-1}(x_{k-1})) for x_{k-1} of that law, so
that the same function of it follows the same law. QED

*Prefixes.* The emitted token is not the draft's. Along a sequence the theorem needs p(. | x_k^p) given the tokens that
were emitted, and q(. | x_k^q) as the draft was drawn, given whatever prefix: given both trajectories down to x_k, the
emitted token follows p(. | x_k^p), which knows nothing of the draft's prefix. So

* in place, where the target looks at the tokens before the block alone, all drafts of a block are verified as they are;
* where the target looks at the drafts of the block, what it says of later tokens is given a draft that was not emitted.
  The block is cut at the first token that is not the draft, even at an accepted one: a call of the target gives one
  token, unless the last means of both models agree. ``last-noise`` leaves accepted drafts as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.base import Rule
from simlab.continuous.rules.last_noise import noise_again
from simlab.randomness import Tape


@dataclass(frozen=True)
class TargetEnd(Rule):
    """The ratio of what the last noise leads to, ended by the target's means: lossless, with any means."""

    name = "target-end"

    def check(self, target: Kernels, draft: Kernels) -> None:
        for chain in (target, draft):
            chain.check_noise()
        if target.last_noise != draft.last_noise:
            raise ValueError(
                f"the draft's last noise is that of step {draft.last_noise}; expected the target's "
                f"{target.last_noise}: what it leads to is compared"
            )

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        state = candidate[pair.target.chain.last_noise - 1]
        return pair.target.log_noise(state) - pair.draft.log_noise(state)

    def token(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        chain, condition = pair.target.chain, pair.target.condition
        state = candidate[chain.last_noise - 1]
        for t in range(chain.last_noise - 1, 0, -1):
            state = chain.kernel(t, state, condition).mean
        return state

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        return noise_again(pair.target, tape, position, trial)
