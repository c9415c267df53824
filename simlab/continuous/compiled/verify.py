"""Draft and verify a batch of tokens: accept each, or replace it from the residual."""

from __future__ import annotations

from math import exp, expm1, isnan
from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.continuous.compiled.batched_ops import add_density, advance
from simlab.continuous.compiled.constants import ACCEPT, DRAFT, END, LAST_NOISE, MARGINAL, OWN, PROPOSAL, TARGET, TRIAL
from simlab.continuous.compiled.draws import TapePlaces, fill_coins, fill_normals
from simlab.continuous.compiled.models import CompiledModel
from simlab.continuous.compiled.reflection import reflect
from simlab.continuous.compiled.rules import INVERSE_PRODUCT, LAST_STEP, ONE_PATH, TWO_PATH, CompiledRule
from simlab.continuous.compiled.trajectories import Scratch, copy, trajectory, trajectory_under_both
from simlab.continuous.decoders.base import Outcome

ACCEPTED, REPLACED, EXHAUSTED, MISSING = (
    int(Outcome.ACCEPTED),
    int(Outcome.REPLACED),
    int(Outcome.EXHAUSTED),
    int(Outcome.MISSING),
)


class Batch(NamedTuple):
    """W tokens, or W proposals, and the parts of their ratios."""

    places: TapePlaces
    c_target: np.ndarray  # [d, W]: conditions
    c_draft: np.ndarray
    x_target: np.ndarray  # [d, W]: x_1 of the two trajectories
    x_draft: np.ndarray
    x: np.ndarray  # [d, W]: the draft, or the proposal; where the rule ends them, the state before
    drafted: np.ndarray  # [d, W]: the draft itself, which later drafts follow
    other: np.ndarray  # [W]: what the log ratio has beside the densities of x
    ratio: np.ndarray  # [W]: the log ratio
    density: np.ndarray  # [W]
    coins: np.ndarray  # [W]
    owner: np.ndarray  # int64[W]: the token a proposal is for


class Verdicts(NamedTuple):
    """The outcomes of W tokens."""

    token: np.ndarray  # [d, W]
    outcome: np.ndarray  # int64[W]
    trials: np.ndarray  # int64[W]
    waiting: np.ndarray  # int64[W]: tokens that still need a proposal


class Problem(NamedTuple):
    """What is decoded, and how."""

    rule: CompiledRule
    target: CompiledModel
    draft: CompiledModel
    gamma: int
    prefill: int
    limit: int


class Workspace(NamedTuple):
    """Buffers for a batch of W tokens."""

    batch: Batch
    proposals: Batch
    verdicts: Verdicts
    scratch: Scratch


@njit(nogil=True, cache=True, error_model="numpy")
def verify(problem: Problem, j: int, count: int, workspace: Workspace) -> None:
    """Draft the first ``count`` tokens of a batch, and accept or replace each.

    Places and conditions are given in ``workspace.batch``; the target's chain is its ``j``. Drafts are left in
    ``workspace.batch.drafted``.
    """
    rule, target, draft = problem.rule, problem.target, problem.draft
    batch, _, verdicts, scratch = workspace
    places, ratio, density = batch.places, batch.ratio, batch.density
    if rule.kind == ONE_PATH:
        trajectory_under_both(
            draft, OWN, batch.c_draft, target, j, batch.c_target, count, places, DRAFT, batch.x, density, ratio, scratch
        )
        for w in range(count):
            ratio[w] -= density[w]
    else:
        with_start = rule.kind == TWO_PATH
        if rule.compared != MARGINAL:
            purpose = DRAFT if rule.aligned else TARGET
            trajectory(
                target, j, batch.c_target, count, places, purpose, with_start, batch.x, batch.x_target, ratio, scratch
            )
        trajectory(
            draft, OWN, batch.c_draft, count, places, DRAFT, with_start, batch.x, batch.x_draft, density, scratch
        )
        for w in range(count):
            more = 0.0 if rule.kind == LAST_STEP else density[w] - ratio[w]
            batch.other[w] = -more if rule.kind == INVERSE_PRODUCT else more
        _compare(problem, j, count, batch, rule.sharpness, scratch)

    fill_coins(batch.coins, places, count, ACCEPT)
    left = count * 0  # a plain 0 would compile what it is handed to once more
    for w in range(count):
        verdicts.trials[w] = 0
        if not isnan(ratio[w]) and batch.coins[w] < exp(min(ratio[w], 0.0)):
            verdicts.outcome[w] = ACCEPTED
            for i in range(batch.x.shape[0]):
                verdicts.token[i, w] = batch.x[i, w]
        else:
            verdicts.waiting[left] = w
            left += 1
    if left > 0 and rule.reflects:
        reflect(
            target,
            j,
            draft,
            left,
            count,
            verdicts.waiting,
            batch.x,
            (batch.x_target, batch.x_draft),
            (batch.c_target, batch.c_draft),
            scratch,
            verdicts.token,
        )
        for k in range(left):
            verdicts.outcome[verdicts.waiting[k]], verdicts.trials[verdicts.waiting[k]] = REPLACED, 1
    elif left > 0:
        _resample(problem, j, left, workspace)
    copy(batch.x, count, batch.drafted)
    if rule.ends:
        end_tokens(draft, OWN, batch.c_draft, count, batch.drafted, scratch)
        end_tokens(target, j, batch.c_target, count, verdicts.token, scratch)


@njit(nogil=True, cache=True, error_model="numpy")
def end_tokens(model: CompiledModel, j: int, c: np.ndarray, count: int, x: np.ndarray, scratch: Scratch) -> None:
    """``x`` takes the steps behind the last noise."""
    advance(model, j, END, c, scratch.noise, 0.0, count, x, scratch.row, scratch.spare)


@njit(nogil=True, cache=True, error_model="numpy")
def _compare(problem: Problem, j: int, count: int, batch: Batch, sharpness: float, scratch: Scratch) -> None:
    """The log ratio of what stands in ``batch.x``: of the densities of one step, and the rest."""
    rule, target, draft = problem.rule, problem.target, problem.draft
    ratio, density = batch.ratio, batch.density
    for w in range(count):
        ratio[w] = 0.0
        density[w] = 0.0
    compared, spare, row = rule.compared, scratch.spare, scratch.row
    add_density(target, j, compared, batch.x, batch.x_target, batch.c_target, count, sharpness, ratio, spare, row)
    add_density(draft, OWN, compared, batch.x, batch.x_draft, batch.c_draft, count, sharpness, density, spare, row)
    for w in range(count):
        ratio[w] += batch.other[w] - density[w]


@njit(nogil=True, cache=True, error_model="numpy")
def _resample(problem: Problem, j: int, left: int, workspace: Workspace) -> None:
    """Propose until one is taken, at most ``problem.limit`` times, for the ``left`` tokens that wait.

    Several proposals for a token are made side by side, as many as were made before; the first that is taken counts.
    """
    batch, proposals, verdicts, scratch = workspace
    limit, done, waiting = problem.limit, 0, verdicts.waiting
    left_before = each_before = 0
    while left > 0 and done < limit:
        each = min(limit - done, max(1, min(len(waiting) // left, done)))
        count = left * each
        if left != left_before or each != each_before:
            _gather(batch, waiting, each, count, proposals)
            left_before, each_before = left, each
        for k in range(count):
            trial = done + 1 + k % each
            proposals.places.place[k] = batch.places.place[proposals.owner[k]] | (trial << 16)
        _propose(problem, j, count, proposals, scratch)
        fill_coins(proposals.coins, proposals.places, count, TRIAL)
        remaining = 0
        for first in range(0, count, each):
            w, k = proposals.owner[first], first
            while k < first + each and not proposals.coins[k] < _proposal_acceptance(proposals.ratio[k]):
                k += 1
            if k == first + each:
                waiting[remaining] = w
                remaining += 1
                continue
            verdicts.outcome[w], verdicts.trials[w] = REPLACED, done + 1 + k - first
            for i in range(batch.x.shape[0]):
                verdicts.token[i, w] = proposals.x[i, k]
        left = remaining
        done += each
    for k in range(left):
        w = waiting[k]
        verdicts.outcome[w], verdicts.trials[w] = EXHAUSTED, limit
        for i in range(batch.x.shape[0]):
            verdicts.token[i, w] = problem.rule.fill_value


@njit(nogil=True, cache=True, error_model="numpy")
def _gather(batch: Batch, waiting: np.ndarray, each: int, count: int, proposals: Batch) -> None:
    """What ``each`` proposals for every token that waits are made from."""
    own, places, owner = batch.places, proposals.places, proposals.owner
    for k in range(count):
        owner[k] = waiting[k // each]
        places.replicate[k] = own.replicate[owner[k]]
        places.iteration[k] = own.iteration[owner[k]]
        proposals.other[k] = batch.other[owner[k]]
    for i in range(batch.x.shape[0]):
        for k in range(count):
            proposals.c_target[i, k] = batch.c_target[i, owner[k]]
            proposals.c_draft[i, k] = batch.c_draft[i, owner[k]]
            proposals.x_target[i, k] = batch.x_target[i, owner[k]]
            proposals.x_draft[i, k] = batch.x_draft[i, owner[k]]


@njit(nogil=True, cache=True, error_model="numpy")
def _propose(problem: Problem, j: int, count: int, batch: Batch, scratch: Scratch) -> None:
    """A proposal of the target into ``batch.x``, and its log ratio."""
    rule, target, draft = problem.rule, problem.target, problem.draft
    places, ratio, density = batch.places, batch.ratio, batch.density
    if rule.kind == ONE_PATH:
        trajectory_under_both(
            target,
            j,
            batch.c_target,
            draft,
            OWN,
            batch.c_draft,
            count,
            places,
            PROPOSAL,
            batch.x,
            ratio,
            density,
            scratch,
        )
        for w in range(count):
            ratio[w] -= density[w]
        return
    fill_normals(scratch.noise, places, count, PROPOSAL, LAST_NOISE + target.shift[j])
    copy(batch.x_target, count, batch.x)
    advance(target, j, rule.compared, batch.c_target, scratch.noise, 1.0, count, batch.x, scratch.row, scratch.spare)
    _compare(problem, j, count, batch, 1.0, scratch)


@njit(nogil=True, cache=True)
def is_draft(batch: Batch, verdicts: Verdicts, w: int) -> bool:
    """Whether token w was accepted and is the draft itself."""
    for i in range(batch.drafted.shape[0]):
        if verdicts.token[i, w] != batch.drafted[i, w]:
            return False
    return verdicts.outcome[w] == ACCEPTED


@njit(inline="always", error_model="numpy")
def _proposal_acceptance(log_ratio: float) -> float:
    """max(0, 1 - 1 / rho), as :func:`simlab.continuous.rules.base.proposal_acceptance`."""
    return -expm1(-log_ratio) if log_ratio > 0.0 else 0.0
