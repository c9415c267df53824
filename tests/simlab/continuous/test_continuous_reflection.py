"""The rule ``reflection``: what a decoder emits with it, and what it is not for; its map and its acceptance are the
claim ``cspd.reflection``."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import scipy

from simlab.continuous import Outcome, Truncating, affine, make_rule
from simlab.continuous.models.protocol import Kernels
from simlab.continuous.rules import Reflection
from simlab.randomness import Tape
from simlab.statistics import GTest
from tests.support.refusals import refused
from theory.claims.cspd.reflection import Reused

CELLS, TOKENS, FALSE_ALARMS = 20, 20_000, 1e-6


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
