"""Requests decoded by fused kernels in one batch: what :mod:`simlab.models.engine.continuous` runs on a CUDA device.

The host reads the device once a step, all that it wants to know at once, and once more when a sequence is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from simlab.decoders.compiled.run import staying
from simlab.decoders.triton import Fused
from simlab.decoders.triton.loop import NO_MASS
from simlab.models.engine.continuous import Row, result_of
from simlab.models.engine.processes import processes_for
from simlab.models.engine.requests import Asked, Result, conditions, ended, visible_of
from simlab.models.process.cached import Cached, fault
from simlab.models.process.clock import Clock


class FusedRows:
    """A running batch: sequence b of the target, of what drafts, and of the fused state is one request's."""

    def __init__(self, model: Any, drafter: Any, asked: Sequence[Asked], room: int, clock: Clock) -> None:
        requests = [each.request for each in asked]
        self.model, self.room, self.clock = model, room, clock
        self.running: list[Row] = []
        self.padded = visible_of(model, requests) is not None
        own = (requests * room)[:room]  # to make room; all of them leave at once
        self.target, self.draft = processes_for(model, drafter, own, self.padded, clock)
        for process in (self.target, self.draft):
            if process is not None:
                process.keep([])
        self.fused = Fused(requests[0].decoder, self.target, requests[0].rule, room, self.draft)
        self.state = self.fused.empty()
        self.listens = any(request.written is not None for request in requests)
        self.over: list[int] = []  # what the host has read of the last step
        self.faults: dict[int, str] = {}

    def enter(self, asked: Sequence[Asked]) -> None:
        """Take requests behind those that run."""
        if not asked:
            return
        requests = [each.request for each in asked]
        visible = visible_of(self.model, requests, always=self.padded)
        for process in (self.target, self.draft):
            if isinstance(process, Cached):
                process.enter(conditions(self.model, requests), [request.sampling for request in requests], visible)
        places = range(len(self.running), len(self.running) + len(asked))
        self.running += [Row(each) for each in asked]
        seeds, replicates = zip(*((request.seed, request.replicate) for request in requests), strict=True)
        self.fused.restart(self.state, places, seeds, replicates)

    def step(self) -> int:
        """One call of the target for all; returns how many tokens were committed."""
        self.state = self.fused.step(self.state, len(self.running))
        accepted, committed = self._read()
        for row, of_draft, of_all in zip(self.running, accepted, committed, strict=True):
            row.accepted.append(of_draft)
            row.committed.append(of_all)
        return sum(committed)

    def leave(self, why: Mapping[int, str]) -> list[Result]:
        """Results of all that are over, of those that cannot go on, and of those that shall not, ``why`` by row."""
        faults = {**why, **self.faults}
        over = np.array(self.over, dtype=bool)
        if self.listens:
            own, count = [row.asked.request for row in self.running], len(self.running)
            tokens, length = (part[:count].cpu() for part in (self.state.tokens, self.state.length))
            over |= ended(own, tokens[:, : self.target.length].numpy(), length.tolist())
        over[list(faults)] = True
        if not over.any():
            return []
        gone, stay = np.flatnonzero(over).tolist(), staying(over).tolist()
        tokens = self.target.closed(self.state.tokens[gone, : self.target.length]).cpu().numpy()
        found = [result_of(self.running[b], own, faults.get(b)) for b, own in zip(gone, tokens, strict=True)]
        self.state = self.fused.keep(self.state, stay)
        for process in (self.target, self.draft):
            if process is not None:
                process.keep(stay)
        self.running = [self.running[b] for b in stay]
        return found

    def _read(self) -> tuple[list[int], list[int]]:
        """The one read of a step: the drafts accepted, the tokens committed, who is over, and what went wrong."""
        count, state = len(self.running), self.state
        _, accepted, committed, empty = state.report[:, :count]
        over = self.target.over(state.tokens[:count], state.length[:count])
        statuses = [process.status for process in (self.target, self.draft) if isinstance(process, Cached)]
        first, second, without, self.over, *marks = torch.stack([accepted, committed, empty, over, *statuses]).tolist()
        self.faults = {b: NO_MASS for b, flag in enumerate(without) if flag}
        for status in marks:
            self.faults |= {b: fault(mark) for b, mark in enumerate(status) if mark}
        return first, second
