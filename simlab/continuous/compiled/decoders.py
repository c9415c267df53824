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
from simlab.continuous.compiled.draws import Places
from simlab.continuous.compiled.models import CompiledModel
from simlab.continuous.compiled.rules import TWO_PATH, CompiledRule
from simlab.continuous.compiled.trajectories import Work, copy, trajectory
from simlab.continuous.compiled.verify import ACCEPTED, MISSING, Lanes, Verdicts, verify
from simlab.randomness.philox import MASK


class Problem(NamedTuple):
    """What is decoded, and how."""

    rule: CompiledRule
    target: CompiledModel
    draft: CompiledModel
    gamma: int
    prefill: int
    limit: int


class Room(NamedTuple):
    """What a block of W lanes needs."""

    lanes: Lanes
    proposals: Lanes
    verdicts: Verdicts
    work: Work


class Sequences(NamedTuple):
    """B sequences, as :class:`~simlab.continuous.decoders.Decoded`, and the replicate of each."""

    replicate: np.ndarray
    tokens: np.ndarray
    outcome: np.ndarray
    trials: np.ndarray
    calls: np.ndarray


def make_room(size: int, lanes: int, seed: int) -> Room:
    """Room for ``lanes`` tokens of ``size`` numbers."""

    def vectors() -> np.ndarray:
        return np.zeros((size, lanes))

    def numbers() -> np.ndarray:
        return np.zeros(lanes)

    def counts() -> np.ndarray:
        return np.zeros(lanes, np.int64)

    def some() -> Lanes:
        places = Places(counts(), counts(), counts(), np.zeros((2, lanes), np.int64), seed & MASK, seed >> 32)
        ratios = numbers(), numbers(), numbers(), numbers()
        return Lanes(places, vectors(), vectors(), vectors(), vectors(), vectors(), *ratios, counts())

    work = Work(np.zeros((size + size % 2, lanes)), vectors(), vectors(), numbers())
    return Room(some(), some(), Verdicts(vectors(), counts(), counts(), counts()), work)


@njit(nogil=True, cache=True, error_model="numpy")
def truncating(problem: Problem, sequences: Sequences, room: Room) -> None:
    """:class:`simlab.continuous.decoders.Truncating`."""
    rule, target, draft, gamma, prefill, limit = problem
    tokens, lanes = sequences.tokens, room.lanes
    total, end, width = tokens.shape[0], tokens.shape[1], lanes.x.shape[1]
    length, at = np.zeros(total, np.int64), np.zeros(total, np.int64)
    among = np.zeros(total, np.int64)  # the sequences that go on: whose drafts were all kept so far
    iteration = 0
    while True:
        iteration += 1
        alive = total * 0  # a plain 0 would compile what it is handed to once more
        for b in range(total):
            if length[b] < end:
                among[alive], at[b] = b, length[b]
                sequences.calls[b] += 1
                alive += 1
        if alive == 0:
            return
        if iteration <= prefill:
            _draw(problem, TARGET, sequences, among, at, alive, iteration, room)
            for k in range(alive):
                length[among[k]] += 1
            continue
        for _ in range(gamma):
            still = 0
            for start in range(0, alive, width):
                count = min(width, alive - start)
                for w in range(count):
                    _place(problem, sequences, among[start + w], at[among[start + w]], iteration, lanes, w)
                condition_part(target, OWN, CONDITION, lanes.x_target, count, lanes.c_target)
                condition_part(draft, OWN, CONDITION, lanes.x_draft, count, lanes.c_draft)
                verify(rule, target, OWN, draft, limit, count, lanes, room.verdicts, room.proposals, room.work)
                for w in range(count):
                    b = among[start + w]
                    _write(sequences, b, at[b], room.verdicts, w)
                    at[b] += 1
                    if room.verdicts.outcome[w] != ACCEPTED:
                        length[b] = _ended(sequences, b, at[b])
                    elif at[b] == end:
                        length[b] = end
                    else:
                        among[still] = b
                        still += 1
            alive = still
        _draw(problem, DRAFT if rule.aligned else TARGET, sequences, among, at, alive, iteration, room)
        for k in range(alive):
            length[among[k]] = _ended(sequences, among[k], at[among[k]] + 1)


@njit(nogil=True, cache=True, error_model="numpy")
def in_place(problem: Problem, sequences: Sequences, room: Room) -> None:
    """:class:`simlab.continuous.decoders.InPlace`; chain j + 1 of the target is that of the token j places on."""
    rule, target, draft, gamma, prefill, limit = problem
    tokens, lanes = sequences.tokens, room.lanes
    total, end, width = tokens.shape[0], tokens.shape[1], lanes.x.shape[1]
    among, at, alive = np.arange(total), np.zeros(total, np.int64), total
    known, before = np.zeros_like(lanes.x), np.zeros_like(lanes.x)
    first = iteration = 0
    while first < end and alive > 0:
        iteration += 1
        for k in range(alive):
            sequences.calls[among[k]], at[among[k]] = iteration, first
        if first < prefill:
            _draw(problem, TARGET, sequences, among, at, alive, iteration, room)
            first += 1
            continue
        block = min(gamma, end - first)
        for start in range(0, alive, width):
            count = min(width, alive - start)
            for w in range(count):
                _place(problem, sequences, among[start + w], first, iteration, lanes, w)
            copy(lanes.x_target, count, known)
            copy(lanes.x_draft, count, before)
            for j in range(block):
                condition_part(target, j + 1, CONDITION, known, count, lanes.c_target)
                condition_part(draft, OWN, CONDITION, before, count, lanes.c_draft)
                verify(rule, target, j + 1, draft, limit, count, lanes, room.verdicts, room.proposals, room.work)
                copy(lanes.x, count, before)  # drafts follow drafts
                for w in range(count):
                    _write(sequences, among[start + w], first + j, room.verdicts, w)
                    lanes.places.place[w] += 1
        first += block
        still = total * 0
        for k in range(alive):
            if _ended(sequences, among[k], first) < end:
                among[still] = among[k]
                still += 1
        alive = still


@njit(nogil=True, cache=True, error_model="numpy")
def _place(problem: Problem, sequences: Sequences, b: int, at: int, iteration: int, lanes: Lanes, w: int) -> None:
    """Lane w is for position ``at`` of sequence b: what stands before it goes to ``x_target`` and ``x_draft``."""
    lanes.places.replicate[w] = sequences.replicate[b]
    lanes.places.iteration[w] = iteration
    lanes.places.place[w] = at
    for i in range(lanes.x.shape[0]):
        lanes.x_target[i, w] = sequences.tokens[b, at - 1, i] if at > 0 else problem.target.first[i]
        lanes.x_draft[i, w] = sequences.tokens[b, at - 1, i] if at > 0 else problem.draft.first[i]


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(
    problem: Problem,
    purpose: int,
    sequences: Sequences,
    among: np.ndarray,
    at: np.ndarray,
    alive: int,
    iteration: int,
    room: Room,
) -> None:
    """A token of the target at ``at`` for each of the sequences ``among[:alive]``."""
    lanes, target, with_start = room.lanes, problem.target, problem.rule.kind == TWO_PATH
    for start in range(0, alive, lanes.x.shape[1]):
        count = min(lanes.x.shape[1], alive - start)
        for w in range(count):
            _place(problem, sequences, among[start + w], at[among[start + w]], iteration, lanes, w)
        condition_part(target, OWN, CONDITION, lanes.x_target, count, lanes.c_target)
        x, before, upper = lanes.x, lanes.x_target, lanes.ratio
        trajectory(target, OWN, lanes.c_target, count, lanes.places, purpose, with_start, x, before, upper, room.work)
        for w in range(count):
            b = among[start + w]
            for i in range(lanes.x.shape[0]):
                sequences.tokens[b, at[b], i] = lanes.x[i, w]


@njit(nogil=True, cache=True, error_model="numpy")
def _write(sequences: Sequences, b: int, at: int, verdicts: Verdicts, w: int) -> None:
    """What became of the token in lane w, to position ``at`` of sequence b."""
    sequences.outcome[b, at] = verdicts.outcome[w]
    sequences.trials[b, at] = verdicts.trials[w]
    for i in range(verdicts.token.shape[0]):
        sequences.tokens[b, at, i] = verdicts.token[i, w]


@njit(nogil=True, cache=True, error_model="numpy")
def _ended(sequences: Sequences, b: int, length: int) -> int:
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
