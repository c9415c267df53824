"""Decoders of continuous tokens compiled: many sequences from start to end in one call.

Tokens that nobody will see, those behind a rejection or the end of a sequence, are not made. Every random number stands
at its own place of the tape, so that the others do not depend on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.continuous.compiled.batched_ops import condition_part
from simlab.continuous.compiled.constants import CONDITION, DRAFT, OWN, TARGET
from simlab.continuous.compiled.draws import TapePlaces
from simlab.continuous.compiled.rules import TWO_PATH
from simlab.continuous.compiled.trajectories import Scratch, copy, trajectory
from simlab.continuous.compiled.verify import (
    MISSING,
    Batch,
    Problem,
    Verdicts,
    Workspace,
    end_tokens,
    is_draft,
    verify,
)
from simlab.randomness.philox import MASK


class Sequences(NamedTuple):
    """B sequences, as :class:`~simlab.continuous.decoders.Decoded`, and the replicate of each."""

    replicate: np.ndarray
    tokens: np.ndarray
    outcome: np.ndarray
    trials: np.ndarray
    calls: np.ndarray


def make_workspace(size: int, batch: int, seed: int) -> Workspace:
    """Room for ``batch`` tokens of ``size`` numbers."""

    def vectors() -> np.ndarray:
        return np.zeros((size, batch))

    def numbers() -> np.ndarray:
        return np.zeros(batch)

    def counts() -> np.ndarray:
        return np.zeros(batch, np.int64)

    def empty_batch() -> Batch:
        places = TapePlaces(counts(), counts(), counts(), np.zeros((2, batch), np.int64), seed & MASK, seed >> 32)
        ratios = numbers(), numbers(), numbers(), numbers()
        six = vectors(), vectors(), vectors(), vectors(), vectors(), vectors()
        return Batch(places, *six, *ratios, counts())

    scratch = Scratch(np.zeros((size + size % 2, batch)), vectors(), vectors(), numbers())
    return Workspace(empty_batch(), empty_batch(), Verdicts(vectors(), counts(), counts(), counts()), scratch)


@njit(nogil=True, cache=True, error_model="numpy")
def truncating(problem: Problem, sequences: Sequences, workspace: Workspace) -> None:
    """:class:`simlab.continuous.decoders.Truncating`."""
    rule, target, draft, gamma, prefill, _ = problem
    tokens, batch = sequences.tokens, workspace.batch
    total, end, width = tokens.shape[0], tokens.shape[1], batch.x.shape[1]
    length, at = np.zeros(total, np.int64), np.zeros(total, np.int64)
    active = np.zeros(total, np.int64)  # the sequences that go on: whose drafts were all accepted so far
    iteration = 0
    while True:
        iteration += 1
        alive = total * 0  # a plain 0 would compile what it is handed to once more
        for b in range(total):
            if length[b] < end:
                active[alive], at[b] = b, length[b]
                sequences.calls[b] += 1
                alive += 1
        if alive == 0:
            return
        if iteration <= prefill:
            _draw(problem, TARGET, sequences, active, at, alive, iteration, workspace)
            for k in range(alive):
                length[active[k]] += 1
            continue
        for _ in range(gamma):
            remaining = 0
            for start in range(0, alive, width):
                count = min(width, alive - start)
                for w in range(count):
                    _load(problem, sequences, active[start + w], at[active[start + w]], iteration, batch, w)
                condition_part(target, OWN, CONDITION, batch.x_target, count, batch.c_target)
                condition_part(draft, OWN, CONDITION, batch.x_draft, count, batch.c_draft)
                verify(problem, OWN, count, workspace)
                for w in range(count):
                    b = active[start + w]
                    _store(sequences, b, at[b], workspace.verdicts, w)
                    at[b] += 1
                    if not is_draft(batch, workspace.verdicts, w):
                        length[b] = _length_after(sequences, b, at[b])
                    elif at[b] == end:
                        length[b] = end
                    else:
                        active[remaining] = b
                        remaining += 1
            alive = remaining
        _draw(problem, DRAFT if rule.aligned else TARGET, sequences, active, at, alive, iteration, workspace)
        for k in range(alive):
            length[active[k]] = _length_after(sequences, active[k], at[active[k]] + 1)


@njit(nogil=True, cache=True, error_model="numpy")
def in_place(problem: Problem, sequences: Sequences, workspace: Workspace) -> None:
    """:class:`simlab.continuous.decoders.InPlace`; chain j + 1 of the target is that of the token j places on."""
    _, target, draft, gamma, prefill, _ = problem
    tokens, batch = sequences.tokens, workspace.batch
    total, end, width = tokens.shape[0], tokens.shape[1], batch.x.shape[1]
    active, at, alive = np.arange(total), np.zeros(total, np.int64), total
    known, before = np.zeros_like(batch.x), np.zeros_like(batch.x)
    first = iteration = 0
    while first < end and alive > 0:
        iteration += 1
        for k in range(alive):
            sequences.calls[active[k]], at[active[k]] = iteration, first
        if first < prefill:
            _draw(problem, TARGET, sequences, active, at, alive, iteration, workspace)
            first += 1
            continue
        block = min(gamma, end - first)
        for start in range(0, alive, width):
            count = min(width, alive - start)
            for w in range(count):
                _load(problem, sequences, active[start + w], first, iteration, batch, w)
            copy(batch.x_target, count, known)
            copy(batch.x_draft, count, before)
            for j in range(block):
                condition_part(target, j + 1, CONDITION, known, count, batch.c_target)
                condition_part(draft, OWN, CONDITION, before, count, batch.c_draft)
                verify(problem, j + 1, count, workspace)
                copy(batch.drafted, count, before)  # drafts follow drafts
                for w in range(count):
                    _store(sequences, active[start + w], first + j, workspace.verdicts, w)
                    batch.places.place[w] += 1
        first += block
        remaining = total * 0
        for k in range(alive):
            if _length_after(sequences, active[k], first) < end:
                active[remaining] = active[k]
                remaining += 1
        alive = remaining


@njit(nogil=True, cache=True, error_model="numpy")
def _load(problem: Problem, sequences: Sequences, b: int, at: int, iteration: int, batch: Batch, w: int) -> None:
    """Token w of the batch is position ``at`` of sequence b: load its counter and the token before it."""
    batch.places.replicate[w] = sequences.replicate[b]
    batch.places.iteration[w] = iteration
    batch.places.place[w] = at
    for i in range(batch.x.shape[0]):
        batch.x_target[i, w] = sequences.tokens[b, at - 1, i] if at > 0 else problem.target.first[i]
        batch.x_draft[i, w] = sequences.tokens[b, at - 1, i] if at > 0 else problem.draft.first[i]


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(
    problem: Problem,
    purpose: int,
    sequences: Sequences,
    active: np.ndarray,
    at: np.ndarray,
    alive: int,
    iteration: int,
    workspace: Workspace,
) -> None:
    """A token of the target at ``at`` for each of the sequences ``active[:alive]``."""
    batch, target, with_start = workspace.batch, problem.target, problem.rule.kind == TWO_PATH
    for start in range(0, alive, batch.x.shape[1]):
        count = min(batch.x.shape[1], alive - start)
        for w in range(count):
            _load(problem, sequences, active[start + w], at[active[start + w]], iteration, batch, w)
        condition_part(target, OWN, CONDITION, batch.x_target, count, batch.c_target)
        x, before, upper = batch.x, batch.x_target, batch.ratio
        trajectory(
            target, OWN, batch.c_target, count, batch.places, purpose, with_start, x, before, upper, workspace.scratch
        )
        if problem.rule.ends:
            end_tokens(target, OWN, batch.c_target, count, x, workspace.scratch)
        for w in range(count):
            b = active[start + w]
            for i in range(batch.x.shape[0]):
                sequences.tokens[b, at[b], i] = batch.x[i, w]


@njit(nogil=True, cache=True, error_model="numpy")
def _store(sequences: Sequences, b: int, at: int, verdicts: Verdicts, w: int) -> None:
    """Store the outcome of token w of the batch at position ``at`` of sequence b."""
    sequences.outcome[b, at] = verdicts.outcome[w]
    sequences.trials[b, at] = verdicts.trials[w]
    for i in range(verdicts.token.shape[0]):
        sequences.tokens[b, at, i] = verdicts.token[i, w]


@njit(nogil=True, cache=True, error_model="numpy")
def _length_after(sequences: Sequences, b: int, length: int) -> int:
    """The length of sequence b after a call that left ``length`` tokens.

    It is over where the last of them is NaN, and so is the rest of it.
    """
    tokens = sequences.tokens
    if not np.isnan(tokens[b, length - 1, 0]):
        return length
    for k in range(length, tokens.shape[1]):
        sequences.outcome[b, k] = MISSING
        for i in range(tokens.shape[2]):
            tokens[b, k, i] = np.nan
    return tokens.shape[1]
