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
AHEAD = 16  # proposals that are looked at together, at most: as many as before them, so that few are in vain


class Resampled(NamedTuple):
    """Tokens in place of rejected ones."""

    tokens: np.ndarray  # float64[B, d], NaN where no proposal was taken
    trials: np.ndarray  # int64[B], proposals made
    found: np.ndarray  # bool[B], whether one was taken


def resample(rule: Rule, pair: TrajectoryPair, tape: Tape, position: np.ndarray, limit: int = LIMIT) -> Resampled:
    """Propose until one is taken, for rejected tokens.

    ``rule``, ``pair``: the rule, and the two trajectories of each rejected token. ``tape``: where normals and coins
    come from. ``position``: ``int[B]``, of the tokens in their sequences. ``limit``: the most proposals for a token.
    Returns tokens, NaN where none was taken, with the number of proposals.
    """
    count, size = pair.target.states.shape[1:]
    tokens = np.full((count, size), np.nan)
    trials = np.zeros(count, np.int64)
    waiting = np.arange(count)
    made = 0
    while len(waiting) and made < limit:
        ahead = min(max(1, made), AHEAD, limit - made)
        rows, trial = np.tile(waiting, ahead), made + 1 + np.repeat(np.arange(ahead), len(waiting))
        here, own = pair.only(rows), tape.subset(rows)
        candidate = rule.propose(here, own, position[rows], trial)
        taken = coins(own, position[rows], Purpose.TRIAL, trial) < rule.taking(here, candidate)
        taken = taken.reshape(ahead, -1)
        some, first = taken.any(axis=0), taken.argmax(axis=0)
        trials[waiting] = made + np.where(some, first + 1, ahead)
        chosen = first * len(waiting) + np.arange(len(waiting))
        tokens[waiting[some]] = rule.token(here, candidate)[chosen[some]]
        waiting, made = waiting[~some], made + ahead
    return Resampled(tokens, trials, ~np.isin(np.arange(count), waiting))
