"""Requests decoded in one batch, by compiled kernels on a CPU: who is over leaves it, and who waits enters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numba import njit

from simlab.decoders.compiled.kernels import KERNELS
from simlab.decoders.compiled.run import first, kept
from simlab.decoders.compiled.tensors import Tensors
from simlab.models.engine.requests import (
    CANCELLED,
    Asked,
    Cancelled,
    Notify,
    Request,
    Result,
    failed,
    never,
    out_of_memory,
)
from simlab.models.engine.running import Row, Running
from simlab.models.process.cached_compiled import CachedOnHost, Shown
from simlab.models.process.clock import Clock
from simlab.processes import Process
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.dispatch import compiled


def decode_continuously(
    asked: list[Asked],
    model: Any,
    batch: int,
    drafter: Any,
    cancelled: Cancelled,
    notify: Notify,
    clock: Clock,
    form: Callable[..., Running] | None = None,
) -> Iterator[Result]:
    """Results of requests of one decoder and one rule, all guided or none; a running batch is a ``form``, of compiled
    kernels unless given.

    Where memory does not suffice, half as many go on, from their beginnings: their tokens are the same.
    """
    waiting, room = deque(asked), batch
    rows: Running | None = None
    while waiting or rows is not None:
        if cancelled is not never:
            for each in [each for each in waiting if cancelled(each.number)]:
                waiting.remove(each)
                yield failed(each.number, CANCELLED)
            if not waiting and not (rows and rows.rows):
                return  # all that were left were cancelled before their first call
        entering: list[Asked] = []
        try:
            if rows is None:
                rows = (form or Rows)(model, drafter, asked, min(room, max(1, len(waiting))), clock)
            if waiting and len(rows.rows) < rows.room:
                entering = [waiting.popleft() for _ in range(min(len(waiting), rows.room - len(rows.rows)))]
                rows.enter(entering)
            notify(rows.step())
            told = () if cancelled is never else enumerate(rows.rows)
            found = rows.leave({b: CANCELLED for b, row in told if cancelled(row.asked.number)})
        except Exception as error:
            if (reason := out_of_memory(error)) is None:
                raise
            inside = ([row.asked for row in rows.rows] if rows else []) or entering
            waiting.extendleft(reversed(inside))
            found = [failed(waiting.popleft().number, reason)] if room == 1 else []
            rows, room = None, max(1, min(room, len(inside) or room) // 2)
        yield from found
        if rows is not None and not rows.rows and not waiting:
            rows = None


class Rows(Running):
    """A running batch of compiled kernels."""

    cache = CachedOnHost

    def prepare(self, request: Request) -> None:
        target, draft = shown(self.target), None if self.draft is None else shown(self.draft)
        self.kernel = KERNELS[type(request.decoder)](request.decoder, target, compiled(request.rule), draft)
        marks = [process.status_bits for process in (self.target, self.draft) if isinstance(process, CachedOnHost)]
        self.marks = marks[0], marks[-1]  # of the target, and of a draft model if there is one
        self.state: Any = None  # of all rows there is room for
        self.shown: Any = None  # of those that run
        self.length = np.zeros(self.room, np.int64)  # of each before the step that is next
        self.counts = np.zeros((2, self.room), np.int64)
        self._over = False

    @property
    def some_over(self) -> bool:
        return self._over

    def begin(self, requests: Sequence[Request]) -> None:
        count = len(self.rows)
        before = count - len(requests)
        state = self.kernel.start(uniforms(self.rows[before:]), len(requests))
        if len(requests) == self.room:
            self.state = state
        else:
            if self.state is None:
                self.state = type(state)(*(np.empty((self.room, *array.shape[1:]), array.dtype) for array in state))
            for whole, own in zip(self.state, state, strict=True):
                whole[before:count] = own
        self.length[before:count] = state.length
        self._show()

    def step(self) -> int:
        self.uniforms.advance()
        found = self.kernel.step(self.shown, self.uniforms)
        total, self._over = note(self.shown.length, self.length, found, self.kernel.end, *self.marks, self.counts)
        for row, accepted, committed in zip(self.rows, *self.counts.tolist(), strict=False):
            row.accepted.append(accepted)
            row.committed.append(committed)
        return total

    def stopped(self) -> tuple[np.ndarray, dict[int, str]]:
        over = self.kernel.process.over(self.shown.tokens, self.shown.length)
        return over, {**(self.draft.faults() if self.draft is not None else {}), **self.target.faults()}

    def written(self) -> tuple[np.ndarray, list[int]]:
        return self.shown.tokens[:, : self.kernel.end], self.shown.length.tolist()

    def closed(self, rows: list[int]) -> np.ndarray:
        return np.asarray(self.kernel.process.closed(self.shown.tokens[rows, : self.kernel.end]))

    def keep(self, stay: np.ndarray) -> None:
        kept(self.shown, stay)
        self._show()
        self.length[: len(stay)] = self.shown.length

    def _show(self) -> None:
        """Those that run now are others than before."""
        self.shown, self.uniforms = first(self.state, len(self.rows)), uniforms(self.rows)


def shown(process: Process) -> Tensors:
    """A process of torch with arrays in place of tensors."""
    return Shown(process) if isinstance(process, CachedOnHost) else Tensors(process)


@njit(cache=True)  # holds the interpreter's lock: releasing it takes longer than this does
def note(
    length: np.ndarray,
    before: np.ndarray,
    found: np.ndarray,
    end: int,
    status: np.ndarray,
    of_draft: np.ndarray,
    counts: np.ndarray,
) -> tuple[int, bool]:
    """Write the drafts accepted and the tokens committed to ``counts[2, B]`` after a step, and its ``length[B]`` to
    ``before``; returns how many tokens all have, and whether a sequence is over or marked."""
    total, over = 0, False
    for b in range(len(length)):
        added = length[b] - before[b]
        before[b] = length[b]
        counts[0, b], counts[1, b] = min(found[b], added), added
        total += added
        over |= length[b] >= end or status[b] != 0 or of_draft[b] != 0
    return total, over


def uniforms(rows: Sequence[Row]) -> Uniforms:
    """The random numbers of the last step that each of the rows has had, or of its start."""
    seeds = np.array([row.asked.request.seed for row in rows], dtype=np.uint64)
    replicates = np.array([row.asked.request.replicate for row in rows], dtype=np.int64)
    return Uniforms(seeds, replicates, np.array([len(row.committed) for row in rows], dtype=np.int64))
