"""Mutants of rules and decoders for tokens whose sampler adds no noise at its end, each with one mistake."""

from __future__ import annotations

import numpy as np

from simlab.continuous.decoders import Truncating
from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules import LastNoise, LastStep, TargetEnd
from simlab.continuous.rules.last_noise import walked_back
from simlab.randomness import Tape


class DraftEnd(TargetEnd):
    """Ends what is accepted by the draft's means instead of the target's: accepted drafts stay what they are."""

    def token(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        chain, condition = pair.draft.chain, pair.draft.condition
        state = candidate[chain.last_noise - 1]
        for t in range(chain.last_noise - 1, 0, -1):
            state = chain.kernel(t, state, condition).mean
        return state


class DraftState(TargetEnd):
    """Takes the state before the last noise from the draft, for the target as well."""

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return super().log_ratio(_from_the_draft(pair), candidate)

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        return super().propose(_from_the_draft(pair), tape, position, trial)


class UnusedVariance(LastStep):
    """The ratio of the last step, and proposals from it, with a variance that no noise is drawn with."""

    def check(self, target: Kernels, draft: Kernels) -> None:
        for chain in (target, draft):
            chain.check_density(1, 1)


class WithoutVolume(LastNoise):
    """Leaves the determinants of the change of variables out."""

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        target, draft = (model.log_noise(walked_back(model, candidate)[0]) for model in pair)
        return target - draft


class WalkedByTheDraft(LastNoise):
    """Walks a token back through the draft's means for both models."""

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        state, _ = walked_back(pair.draft, candidate)
        return pair.target.log_noise(state) - pair.draft.log_noise(state)


class Uncut(Truncating):
    """Goes on after every accepted draft, though what was emitted is not what the target looked at."""

    def goes_on(self, accepted: np.ndarray, emitted: np.ndarray, draft: np.ndarray) -> np.ndarray:
        return accepted


def _from_the_draft(pair: TrajectoryPair) -> TrajectoryPair:
    return pair._replace(target=pair.target.through(pair.draft.states))
