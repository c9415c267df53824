"""The rule ``reflection``: its closed form, the law of what the decoder emits, and what it is not for."""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, sqrt

import numpy as np
import pytest
import scipy

from simlab.continuous import Outcome, Truncating, affine, make_rule
from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import Reflection
from simlab.randomness import Tape
from simlab.statistics import GTest
from tests.support.refusals import refused

CELLS, TOKENS, FALSE_ALARMS = 20, 20_000, 1e-6


@dataclass(frozen=True)
class Reused(Reflection):
    """The noise of a rejected draft as it was."""

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        return (pair.draft.states[0] - pair.draft.kernel(1).mean + pair.target.kernel(1).mean)[None]


@pytest.mark.exact
@pytest.mark.parametrize(("distance", "accepted"), [(0.5, 0.802587), (1.0, 0.617075), (2.0, 0.317311)])
def test_acceptance_is_the_overlap_of_two_normal_laws(distance: float, accepted: float) -> None:
    """By a grid over the noise: the mean of min(1, phi(z + D) / phi(z))."""
    z = np.linspace(-9, 9, 20_001)
    models = affine(1, slope=0.0, sd=1.0), affine(1, slope=0.0, sd=1.0, offset=distance)
    chains = [model.chain for model in models]
    conditions = np.zeros((len(z), 1))
    states = np.stack([z[:, None] + distance, conditions])
    pair = TrajectoryPair(*(Trajectory(chain, conditions, states) for chain in chains))
    kept = np.exp(np.minimum(Reflection().log_draft_ratio(pair), 0))
    weights = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
    assert kept @ weights == pytest.approx(1 - erf(distance / sqrt(8)), abs=1e-6)
    assert kept @ weights == pytest.approx(accepted, abs=2e-6)


@pytest.mark.exact
def test_covariances_that_differ_are_refused_by_name() -> None:
    models = affine(2, sd=0.5), affine(2, sd=0.6)
    refused(lambda: Truncating(1).run(*models, make_rule("reflection"), Tape(0, 2)), "covariances")

    class Unknown(Reflection):
        def check(self, target: Kernels, draft: Kernels) -> None:
            """As for a network, whose deviations are not known before."""

    refused(lambda: Truncating(1).run(*models, Unknown(), Tape(0, 2)), "covariances")


def p_value(rule: Reflection) -> float:
    """Of tokens in three numbers, along the line through both means, in cells of the target's law."""
    target, draft = affine(2, 3, 0.5, 0.8), affine(2, 3, 0.5, 0.8, 0.7)
    decoded = Truncating(1).run(target, draft, rule, Tape(3, TOKENS))
    assert set(np.unique(decoded.outcome)) == {Outcome.ACCEPTED, Outcome.REPLACED}
    assert decoded.trials.max() == 1
    law = target.chain.marginal(np.zeros((1, 3)))
    along = ((decoded.tokens[:, 0] - law.mean) / np.sqrt(np.diag(law.covariance))).sum(axis=1) / sqrt(3)
    counts = np.bincount((CELLS * scipy.special.ndtr(along)).astype(int), minlength=CELLS)
    return float(GTest(dict.fromkeys(range(CELLS), 1 / CELLS)).p_value(counts))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("aligned", [True, False])
def test_tokens_follow_the_target(aligned: bool) -> None:
    """20 cells, 20,000 tokens: a TV of 0.03 is missed with a probability below 1e-3; reused noise is seen."""
    assert p_value(Reflection(aligned)) > FALSE_ALARMS
    assert p_value(Reused(aligned)) < FALSE_ALARMS
