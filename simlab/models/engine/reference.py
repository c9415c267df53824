"""Requests decoded by the reference form, a batch after the other: what runs where there is no faster form.

On a CUDA device its step is recorded once and replayed (:mod:`simlab.decoders.graph`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from simlab.decoders import Info, graph, run
from simlab.decoders.run import Faulty
from simlab.models.engine.processes import processes_for
from simlab.models.engine.requests import (
    CANCELLED,
    Cancelled,
    Notify,
    Numbered,
    Request,
    Result,
    ended,
    failed,
    grouped,
    out_of_memory,
)
from simlab.models.engine.running import Row
from simlab.models.process.cached import rows_made
from simlab.models.process.clock import UNTIMED, Clock
from simlab.processes import Process
from simlab.processes.wrapped import Wrapped
from simlab.randomness import Tape


class _Stopped(Exception):
    """All requests of a batch are cancelled."""


def decode_batches(
    asked: list[Numbered], model: Any, batch: int, drafter: Any, cancelled: Cancelled, notify: Notify, clock: Clock
) -> Iterator[Result]:
    """Results of requests of one decoder and one rule."""
    for own in grouped(asked, lambda request: (request.seed, rows_made(request.sampling))):
        for first in range(0, len(own), batch):
            yield from _decoded(own[first : first + batch], model, drafter, cancelled, notify, clock)


def _decoded(
    asked: list[Numbered], model: Any, drafter: Any, cancelled: Cancelled, notify: Notify, clock: Clock
) -> list[Result]:
    """A batch whose sequences have one seed and one sampling."""
    gone = [each for each in asked if cancelled(each.number)]
    asked = [each for each in asked if each not in gone]
    results = [failed(each.number, CANCELLED) for each in gone]
    if not asked:
        return results
    requests = [each.request for each in asked]
    infos: list[Info] = []
    listens = any(request.written is not None for request in requests)

    def watch(before: Any, after: Any, info: Info) -> None:
        if not infos:
            notify(0)  # the first step is over; what all of them commit is told at the end
        infos.append(info)
        if listens:
            target.ask(after.tokens, after.length)
        if all(cancelled(each.number) for each in asked):
            raise _Stopped

    try:
        padded = any(request.visible is not None for request in requests)
        own, draft = processes_for(model, drafter, requests, padded, clock)
        target = EndedByRequests(own, requests)
        tape = Tape(requests[0].seed, [request.replicate for request in requests])
        # who takes the time of parts, or looks at tokens, has to be there at every step
        recorded = target.uniform.device.type == "cuda" and clock is UNTIMED and not listens
        decode = graph.run if recorded else run
        faults: dict[int, str] = {}
        try:
            done = decode(requests[0].decoder, target, requests[0].rule, tape, draft, watch)
        except Faulty as error:
            if error.run is None:
                raise
            done, faults = error.run, error.faults
    except _Stopped:
        return results + [failed(each.number, CANCELLED) for each in asked]
    except (RuntimeError, MemoryError) as error:
        if (reason := out_of_memory(error)) is None:
            raise
        return results + [failed(each.number, reason) for each in asked]
    tokens, steps = done.tokens.cpu().numpy(), done.steps.tolist()
    accepted, committed = (torch.stack(values, dim=1).cpu().numpy() for values in zip(*infos, strict=True))
    notify(int(committed.sum()))
    for b, each in enumerate(asked):
        row = Row(each, accepted[b, : steps[b]], committed[b, : steps[b]])
        results.append(row.result(tokens[b], CANCELLED if cancelled(each.number) else faults.get(b)))
    return results


class EndedByRequests(Wrapped):
    """A process whose sequences also end where their ``requests`` say so: what would follow has no part in what came
    before."""

    def __init__(self, process: Process, requests: Sequence[Request]) -> None:
        super().__init__(process)
        self.requests = requests
        self.ended = torch.zeros(len(requests), dtype=torch.bool, device=self.uniform.device)

    def ask(self, tokens: Tensor, length: Tensor) -> None:
        """Ask the requests that go on."""
        going = (~self.ended).nonzero()[:, 0].tolist()
        written, counts = tokens[going, : self.length].cpu().numpy(), length[going].clamp(max=self.length).tolist()
        own = ended([self.requests[b] for b in going], written, counts)
        self.ended[going] = torch.tensor(own, dtype=torch.bool, device=self.ended.device)

    def over(self, tokens: Tensor, length: Tensor) -> Tensor:
        return super().over(tokens, length) | self.ended
