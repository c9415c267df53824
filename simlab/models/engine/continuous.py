"""Requests decoded in one batch, by compiled kernels on a CPU: who is over leaves it, and who waits enters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from simlab.decoders.compiled.kernels import KERNELS
from simlab.decoders.compiled.run import first, kept, staying
from simlab.decoders.compiled.tensors import Tensors
from simlab.models.engine.processes import processes_for
from simlab.models.engine.requests import (
    CANCELLED,
    Asked,
    Cancelled,
    Notify,
    Result,
    conditions,
    ended,
    failed,
    out_of_memory,
    visible_of,
)
from simlab.models.process.cached import Cached
from simlab.models.process.cached_compiled import CachedOnHost
from simlab.models.process.clock import Clock
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
        for each in [each for each in waiting if cancelled(each.number)]:
            waiting.remove(each)
            yield failed(each.number, CANCELLED)
        if not waiting and not (rows and rows.running):
            return  # all that were left were cancelled before their first call
        entering: list[Asked] = []
        try:
            if rows is None:
                rows = (form or Rows)(model, drafter, asked, min(room, max(1, len(waiting))), clock)
            entering = [waiting.popleft() for _ in range(min(len(waiting), rows.room - len(rows.running)))]
            rows.enter(entering)
            notify(rows.step())
            found = rows.leave({b: CANCELLED for b, row in enumerate(rows.running) if cancelled(row.asked.number)})
        except Exception as error:
            if (reason := out_of_memory(error)) is None:
                raise
            inside = ([row.asked for row in rows.running] if rows else []) or entering
            waiting.extendleft(reversed(inside))
            found = [failed(waiting.popleft().number, reason)] if room == 1 else []
            rows, room = None, max(1, min(room, len(inside) or room) // 2)
        yield from found
        if rows is not None and not rows.running and not waiting:
            rows = None


class Running(Protocol):
    """A running batch of one form of the decoders, made of a model, what drafts, requests, its room and a clock."""

    room: int
    running: list[Row]

    def enter(self, asked: Sequence[Asked]) -> None: ...

    def step(self) -> int: ...

    def leave(self, why: Mapping[int, str]) -> list[Result]: ...


@dataclass
class Row:
    """One running sequence."""

    asked: Asked
    accepted: list[int] = field(default_factory=list)
    committed: list[int] = field(default_factory=list)


def result_of(row: Row, tokens: np.ndarray, error: str | None) -> Result:
    """What became of a row: its ``tokens[N]``, unless there is an ``error``."""
    if error is not None:
        return failed(row.asked.number, error, row.accepted, row.committed)
    accepted, committed = np.array(row.accepted), np.array(row.committed)
    return Result(row.asked.number, tokens.copy(), len(accepted), accepted, committed, None)


class Rows:
    """A running batch: sequence b of the target, of what drafts, and of the kernel's state is one request's."""

    def __init__(self, model: Any, drafter: Any, asked: Sequence[Asked], room: int, clock: Clock) -> None:
        requests = [each.request for each in asked]
        self.model, self.room, self.clock = model, room, clock
        self.running: list[Row] = []
        self.padded = visible_of(model, requests) is not None
        own = (requests * room)[:room]  # to make room; all of them leave at once
        self.target, self.draft = processes_for(model, drafter, own, self.padded, clock, CachedOnHost)
        for process in (self.target, self.draft):
            if process is not None:
                process.keep([])
        shown = Tensors(self.target), None if self.draft is None else Tensors(self.draft)
        decoder, rule = requests[0].decoder, requests[0].rule
        self.kernel = KERNELS[type(decoder)](decoder, shown[0], compiled(rule), shown[1])
        self.state: Any = None  # of all rows there is room for
        self.shown: Any = None  # of those that run
        self.listens = any(request.written is not None for request in requests)

    def enter(self, asked: Sequence[Asked]) -> None:
        """Take requests behind those that run."""
        if not asked:
            return
        requests = [each.request for each in asked]
        visible = visible_of(self.model, requests, always=self.padded)
        for process in (self.target, self.draft):
            if isinstance(process, Cached):
                process.enter(conditions(self.model, requests), [request.sampling for request in requests], visible)
        before = len(self.running)
        self.running += [Row(each) for each in asked]
        state = self.kernel.start(uniforms(self.running[before:]), len(asked))
        if len(asked) == self.room:
            self.state = state
        else:
            if self.state is None:
                self.state = type(state)(*(np.empty((self.room, *array.shape[1:]), array.dtype) for array in state))
            for whole, own in zip(self.state, state, strict=True):
                whole[before : len(self.running)] = own
        self._show()

    def step(self) -> int:
        """One call of the target for all; returns how many tokens were committed."""
        state = self.shown
        before = state.length.copy()
        self.uniforms.advance()
        accepted = self.kernel.step(state, self.uniforms)
        added = (state.length - before).tolist()
        for row, of_draft, of_all in zip(self.running, accepted.tolist(), added, strict=True):
            row.accepted.append(min(of_draft, of_all))
            row.committed.append(of_all)
        return sum(added)

    def leave(self, why: Mapping[int, str]) -> list[Result]:
        """Results of all that are over, of those that cannot go on, and of those that shall not, ``why`` by row."""
        state = self.shown
        over = self.kernel.process.over(state.tokens, state.length)
        if self.listens:
            own = [row.asked.request for row in self.running]
            over |= ended(own, state.tokens[:, : self.kernel.end], state.length.tolist())
        faults = {**why, **(self.draft.faults() if self.draft is not None else {})}
        if not (faults or over.any()):
            return []
        faults |= self.target.faults()
        over[list(faults)] = True
        rows = np.flatnonzero(over)
        tokens = self.kernel.process.closed(state.tokens[rows, : self.kernel.end])
        pairs = zip(rows.tolist(), tokens, strict=True)
        found = [result_of(self.running[b], own, faults.get(b)) for b, own in pairs]
        stay = staying(over)
        kept(state, stay)
        for process in (self.target, self.draft):
            if process is not None:
                process.keep(stay.tolist())
        self.running = [self.running[b] for b in stay]
        self._show()
        return found

    def _show(self) -> None:
        """Those that run now are others than before."""
        self.shown, self.uniforms = first(self.state, len(self.running)), uniforms(self.running)


def uniforms(rows: Sequence[Row]) -> Uniforms:
    """The random numbers of the last step that each of the rows has had, or of its start."""
    seeds = np.array([row.asked.request.seed for row in rows], dtype=np.uint64)
    replicates = np.array([row.asked.request.replicate for row in rows], dtype=np.int64)
    return Uniforms(seeds, replicates, np.array([len(row.committed) for row in rows], dtype=np.int64))
