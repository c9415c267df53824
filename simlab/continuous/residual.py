"""A token in place of a rejected one, by acceptance-rejection with bounded proposals. CSpD, section 3.3 and A.3.

A proposal is taken with probability Z, the mass of the residual, so that trials are geometric: 1 / Z in
the mean, and more than n with probability (1 - Z)^n. Where Z is 0 none is ever taken. So proposals are counted, and
that they have run out is a result of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.base import Rule
from simlab.continuous.tape import coins
from simlab.randomness import Purpose, Tape

LIMIT = 10_000  # proposals


class Resampled(NamedTuple):
    """Tokens in place of rejected ones.

    Attributes
    ----------
    tokens
        ``float64[B, d]``, NaN where no proposal was taken.
    trials
        ``int64[B]``, proposals made.
    found
        ``bool[B]``, whether one was taken.
    """

    tokens: np.ndarray
    trials: np.ndarray
    found: np.ndarray


def resample(rule: Rule, pair: TrajectoryPair, tape: Tape, position: np.ndarray, limit: int = LIMIT) -> Resampled:
    """Propose until one is taken, for rejected tokens.

    Parameters
    ----------
    rule, pair
        The rule, and the two trajectories of each rejected token.
    tape
        Where normals and coins come from.
    position
        ``int[B]``, of the tokens in their sequences.
    limit
        The most proposals for a token.

    Returns
    -------
    Resampled
        Tokens, NaN where none was taken, with the number of proposals.

    References
    ----------
    CSpD, section 3.3 and A.3.
    """
    count, size = pair.target.states.shape[1:]
    tokens = np.full((count, size), np.nan)
    trials = np.zeros(count, np.int64)
    waiting = np.arange(count)
    for trial in range(1, limit + 1):
        if not len(waiting):
            break
        here, own = pair.only(waiting), tape.subset(waiting)
        candidate = rule.propose(here, own, position[waiting], trial)
        taken = coins(own, position[waiting], Purpose.TRIAL, trial) < rule.taking(here, candidate)
        trials[waiting] = trial
        tokens[waiting[taken]] = rule.token(here, candidate)[taken]
        waiting = waiting[~taken]
    return Resampled(tokens, trials, ~np.isin(np.arange(count), waiting))
