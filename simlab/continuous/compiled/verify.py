"""One token a lane: drafted, walked by the target, and kept or replaced."""

from __future__ import annotations

from math import exp, expm1, isnan
from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.continuous.compiled.batched_ops import add_density, advance
from simlab.continuous.compiled.constants import ACCEPT, DRAFT, LAST_NOISE, MARGINAL, OWN, PROPOSAL, TARGET, TRIAL
from simlab.continuous.compiled.draws import Places, fill_coins, fill_normals
from simlab.continuous.compiled.models import CompiledModel
from simlab.continuous.compiled.rules import INVERSE_PRODUCT, LAST_STEP, ONE_PATH, TWO_PATH, CompiledRule
from simlab.continuous.compiled.trajectories import Work, copy, trajectory, trajectory_under_both
from simlab.continuous.decoders.base import Outcome

ACCEPTED, REPLACED, EXHAUSTED, MISSING = (
    int(Outcome.ACCEPTED),
    int(Outcome.REPLACED),
    int(Outcome.EXHAUSTED),
    int(Outcome.MISSING),
)


class Lanes(NamedTuple):
    """W tokens, or W proposals: what a ratio is made of."""

    places: Places
    c_target: np.ndarray  # [d, W]: conditions
    c_draft: np.ndarray
    x_target: np.ndarray  # [d, W]: x_1 of the two trajectories
    x_draft: np.ndarray
    x: np.ndarray  # [d, W]: the draft, or the proposal
    other: np.ndarray  # [W]: what the log ratio has beside the densities of x
    ratio: np.ndarray  # [W]: the log ratio
    density: np.ndarray  # [W]
    coins: np.ndarray  # [W]
    who: np.ndarray  # int64[W]: the lane of the token a proposal is for


class Verdicts(NamedTuple):
    """What became of W tokens."""

    token: np.ndarray  # [d, W]
    outcome: np.ndarray  # int64[W]
    trials: np.ndarray  # int64[W]
    waiting: np.ndarray  # int64[W]: the lanes of those that still need a proposal


@njit(nogil=True, cache=True, error_model="numpy")
def verify(
    rule: CompiledRule,
    target: CompiledModel,
    j: int,
    draft: CompiledModel,
    limit: int,
    count: int,
    lanes: Lanes,
    verdicts: Verdicts,
    proposals: Lanes,
    work: Work,
) -> None:
    """Draft a token in each of the first ``count`` lanes, and keep or replace it.

    Places and conditions are given in ``lanes``; the target's chain is its ``j``. The drafts are left in ``lanes.x``.
    """
    places, ratio, density = lanes.places, lanes.ratio, lanes.density
    if rule.kind == ONE_PATH:
        trajectory_under_both(
            draft, OWN, lanes.c_draft, target, j, lanes.c_target, count, places, DRAFT, lanes.x, density, ratio, work
        )
        for w in range(count):
            ratio[w] -= density[w]
    else:
        with_start = rule.kind == TWO_PATH
        if rule.judge != MARGINAL:
            purpose = DRAFT if rule.aligned else TARGET
            trajectory(
                target, j, lanes.c_target, count, places, purpose, with_start, lanes.x, lanes.x_target, ratio, work
            )
        trajectory(draft, OWN, lanes.c_draft, count, places, DRAFT, with_start, lanes.x, lanes.x_draft, density, work)
        for w in range(count):
            more = 0.0 if rule.kind == LAST_STEP else density[w] - ratio[w]
            lanes.other[w] = -more if rule.kind == INVERSE_PRODUCT else more
        _compare(rule, target, j, draft, count, lanes, rule.sharpness, work)

    fill_coins(lanes.coins, places, count, ACCEPT)
    left = count * 0  # a plain 0 would compile what it is handed to once more
    for w in range(count):
        verdicts.trials[w] = 0
        if not isnan(ratio[w]) and lanes.coins[w] < exp(min(ratio[w], 0.0)):
            verdicts.outcome[w] = ACCEPTED
            for i in range(lanes.x.shape[0]):
                verdicts.token[i, w] = lanes.x[i, w]
        else:
            verdicts.waiting[left] = w
            left += 1
    if left > 0:
        _resample(rule, target, j, draft, limit, left, lanes, verdicts, proposals, work)


@njit(nogil=True, cache=True, error_model="numpy")
def _compare(
    rule: CompiledRule,
    target: CompiledModel,
    j: int,
    draft: CompiledModel,
    count: int,
    lanes: Lanes,
    sharpness: float,
    work: Work,
) -> None:
    """The log ratio of what stands in ``lanes.x``: of the densities of one step, and the rest."""
    ratio, density = lanes.ratio, lanes.density
    for w in range(count):
        ratio[w] = 0.0
        density[w] = 0.0
    judge, spare, row = rule.judge, work.spare, work.row
    add_density(target, j, judge, lanes.x, lanes.x_target, lanes.c_target, count, sharpness, ratio, spare, row)
    add_density(draft, OWN, judge, lanes.x, lanes.x_draft, lanes.c_draft, count, sharpness, density, spare, row)
    for w in range(count):
        ratio[w] += lanes.other[w] - density[w]


@njit(nogil=True, cache=True, error_model="numpy")
def _resample(
    rule: CompiledRule,
    target: CompiledModel,
    j: int,
    draft: CompiledModel,
    limit: int,
    left: int,
    lanes: Lanes,
    verdicts: Verdicts,
    proposals: Lanes,
    work: Work,
) -> None:
    """Propose until one is taken, at most ``limit`` times, for the ``left`` tokens that wait.

    Several proposals for a token are made side by side, as many as were made before; the first that is taken counts.
    """
    done, waiting = 0, verdicts.waiting
    left_before = each_before = 0
    while left > 0 and done < limit:
        each = min(limit - done, max(1, min(len(waiting) // left, done)))
        count = left * each
        if left != left_before or each != each_before:
            _fetch(lanes, waiting, each, count, proposals)
            left_before, each_before = left, each
        for k in range(count):
            trial = done + 1 + k % each
            proposals.places.place[k] = lanes.places.place[proposals.who[k]] | (trial << 16)
        _propose(rule, target, j, draft, count, proposals, work)
        fill_coins(proposals.coins, proposals.places, count, TRIAL)
        still = 0
        for first in range(0, count, each):
            w, k = proposals.who[first], first
            while k < first + each and not proposals.coins[k] < _take(proposals.ratio[k]):
                k += 1
            if k == first + each:
                waiting[still] = w
                still += 1
                continue
            verdicts.outcome[w], verdicts.trials[w] = REPLACED, done + 1 + k - first
            for i in range(lanes.x.shape[0]):
                verdicts.token[i, w] = proposals.x[i, k]
        left = still
        done += each
    for k in range(left):
        w = waiting[k]
        verdicts.outcome[w], verdicts.trials[w] = EXHAUSTED, limit
        for i in range(lanes.x.shape[0]):
            verdicts.token[i, w] = rule.unfinished


@njit(nogil=True, cache=True, error_model="numpy")
def _fetch(lanes: Lanes, waiting: np.ndarray, each: int, count: int, proposals: Lanes) -> None:
    """What ``each`` proposals for every token that waits are made from."""
    own, places, who = lanes.places, proposals.places, proposals.who
    for k in range(count):
        who[k] = waiting[k // each]
        places.replicate[k] = own.replicate[who[k]]
        places.iteration[k] = own.iteration[who[k]]
        proposals.other[k] = lanes.other[who[k]]
    for i in range(lanes.x.shape[0]):
        for k in range(count):
            proposals.c_target[i, k] = lanes.c_target[i, who[k]]
            proposals.c_draft[i, k] = lanes.c_draft[i, who[k]]
            proposals.x_target[i, k] = lanes.x_target[i, who[k]]
            proposals.x_draft[i, k] = lanes.x_draft[i, who[k]]


@njit(nogil=True, cache=True, error_model="numpy")
def _propose(
    rule: CompiledRule,
    target: CompiledModel,
    j: int,
    draft: CompiledModel,
    count: int,
    lanes: Lanes,
    work: Work,
) -> None:
    """A proposal of the target into ``lanes.x``, and its log ratio."""
    places, ratio, density = lanes.places, lanes.ratio, lanes.density
    if rule.kind == ONE_PATH:
        trajectory_under_both(
            target, j, lanes.c_target, draft, OWN, lanes.c_draft, count, places, PROPOSAL, lanes.x, ratio, density, work
        )
        for w in range(count):
            ratio[w] -= density[w]
        return
    fill_normals(work.noise, places, count, PROPOSAL, LAST_NOISE)
    copy(lanes.x_target, count, lanes.x)
    advance(target, j, rule.judge, lanes.c_target, work.noise, 1.0, count, lanes.x, work.row, work.spare)
    _compare(rule, target, j, draft, count, lanes, 1.0, work)


@njit(inline="always", error_model="numpy")
def _take(log_ratio: float) -> float:
    """max(0, 1 - 1 / rho), as :func:`simlab.continuous.rules.base.proposal_acceptance`."""
    return -expm1(-log_ratio) if log_ratio > 0.0 else 0.0
