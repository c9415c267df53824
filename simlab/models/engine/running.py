"""A running batch of requests, whatever form of the decoders takes its steps.

Who is over leaves it, and who waits enters: continuous batching.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simlab.decoders.compiled.run import staying
from simlab.models.engine.processes import processes_for
from simlab.models.engine.requests import (
    CANCELLED,
    Cancelled,
    Notify,
    Numbered,
    Request,
    Result,
    conditions,
    ended,
    failed,
    never,
    out_of_memory,
    visible_of,
)
from simlab.models.process.cached import Cached
from simlab.models.process.clock import Clock


@dataclass
class Row:
    """One running sequence."""

    asked: Numbered
    accepted: Any = field(default_factory=list)  # int[steps], as the next
    committed: Any = field(default_factory=list)

    def result(self, tokens: np.ndarray, error: str | None) -> Result:
        """What became of it: its ``tokens[N]``, unless there is an ``error``."""
        if error is not None:
            return failed(self.asked.number, error, self.accepted, self.committed)
        accepted, committed = np.array(self.accepted), np.array(self.committed)
        return Result(self.asked.number, tokens.copy(), len(accepted), accepted, committed, None)


class Running(ABC):
    """Sequence b of the target, of what drafts, and of the state of its form is one request's.

    ``model``, ``drafter``: the target, and what drafts for it. ``asked``: requests of the kind that will be decoded: of
    one decoder and one rule. ``room``: how many run at once. ``clock``: takes the time of the parts of a step.
    """

    cache: type[Cached] = Cached  # the form of the models' memory

    def __init__(self, model: Any, drafter: Any, asked: Sequence[Numbered], room: int, clock: Clock) -> None:
        requests = [each.request for each in asked]
        self.model, self.room = model, room
        self.rows: list[Row] = []
        self.padded = visible_of(model, requests) is not None
        own = (requests * room)[:room]  # to make room; all of them leave at once
        self.target, self.draft = processes_for(model, drafter, own, self.padded, clock, self.cache)
        self._keep_memories([])
        self.listens = any(request.written is not None for request in requests)
        self.prepare(requests[0])

    def enter(self, asked: Sequence[Numbered]) -> None:
        """Take requests behind those that run."""
        if not asked:
            return
        requests = [each.request for each in asked]
        visible = visible_of(self.model, requests, always=self.padded)
        for process in (self.target, self.draft):
            if isinstance(process, Cached):
                process.enter(conditions(self.model, requests), [request.sampling for request in requests], visible)
        self.rows += [Row(each) for each in asked]
        self.begin(requests)

    def leave(self, why: Mapping[int, str]) -> list[Result]:
        """Results of all that are over, of those that cannot go on, and of those that shall not, ``why`` by row."""
        if not (why or self.listens or self.some_over):
            return []
        over, faults = self.stopped()
        if self.listens:
            over |= ended([row.asked.request for row in self.rows], *self.tokens_so_far())
        faults = {**why, **faults}
        over[list(faults)] = True
        if not over.any():
            return []
        gone, stay = np.flatnonzero(over).tolist(), staying(over)
        tokens = self.closed(gone)
        found = [self.rows[b].result(own, faults.get(b)) for b, own in zip(gone, tokens, strict=True)]
        self._keep_memories(stay.tolist())
        self.rows = [self.rows[b] for b in stay]
        self.keep(stay)
        return found

    def _keep_memories(self, rows: list[int]) -> None:
        for process in (self.target, self.draft):
            if process is not None:
                process.keep(rows)

    # what a form of the decoders has to do --------------------------------------------------------------------------

    @abstractmethod
    def prepare(self, request: Request) -> None:
        """Make ready to decode such requests; the models are there."""

    @abstractmethod
    def begin(self, requests: Sequence[Request]) -> None:
        """Begin the last of the rows, which are new."""

    @abstractmethod
    def step(self) -> int:
        """One call of the target for all; returns how many tokens were committed."""

    @property
    @abstractmethod
    def some_over(self) -> bool:
        """Whether the last step has ended a sequence, or found that one cannot go on."""

    @abstractmethod
    def stopped(self) -> tuple[np.ndarray, dict[int, str]]:
        """``bool[B]``, which sequences are over, and why some cannot go on."""

    @abstractmethod
    def tokens_so_far(self) -> tuple[np.ndarray, list[int]]:
        """All tokens ``int[B, T]``, and how many there are of each."""

    @abstractmethod
    def closed(self, rows: list[int]) -> np.ndarray:
        """``int[n, N]``: sequences in their final form."""

    @abstractmethod
    def keep(self, stay: np.ndarray) -> None:
        """Go on with the rows ``stay`` of the state, as :func:`~simlab.decoders.compiled.run.staying` has them."""


def decode_continuously(
    asked: list[Numbered],
    model: Any,
    batch: int,
    drafter: Any,
    cancelled: Cancelled,
    notify: Notify,
    clock: Clock,
    form: Callable[..., Running],
) -> Iterator[Result]:
    """Results of requests of one decoder and one rule, all guided or none; a running batch is a ``form``.

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
        entering: list[Numbered] = []
        try:
            if rows is None:
                rows = form(model, drafter, asked, min(room, max(1, len(waiting))), clock)
            if waiting and len(rows.rows) < rows.room:
                entering = [waiting.popleft() for _ in range(min(len(waiting), rows.room - len(rows.rows)))]
                rows.enter(entering)
            notify(rows.step())
            told = () if cancelled is never else enumerate(rows.rows)
            found = rows.leave({b: CANCELLED for b, row in told if cancelled(row.asked.number)})
        except Exception as error:
            if (reason := out_of_memory(error)) is None:
                raise
            inside = [row.asked for row in rows.rows] if rows else []
            inside += [each for each in entering if all(each is not other for other in inside)]
            waiting.extendleft(reversed(inside))
            found = [failed(waiting.popleft().number, reason)] if room == 1 else []
            rows, room = None, max(1, min(room, len(inside) or room) // 2)
        yield from found
        if rows is not None and not rows.rows and not waiting:
            rows = None
