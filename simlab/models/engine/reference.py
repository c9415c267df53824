"""Requests decoded by the reference form, a batch after the other: what runs where there is no faster form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from simlab.decoders import Info, run
from simlab.models.architectures.eagle import EagleDraft, Head
from simlab.models.engine.requests import (
    CANCELLED,
    Asked,
    Cancelled,
    Notify,
    Result,
    conditions,
    failed,
    grouped,
    rows_of,
    visible_of,
)
from simlab.models.process.cached import Cached
from simlab.processes import Process
from simlab.randomness import Tape


class _Stopped(Exception):
    """All requests of a batch are cancelled."""


def decode_batches(
    asked: list[Asked], model: Any, batch: int, drafter: Any, cancelled: Cancelled, notify: Notify
) -> Iterator[Result]:
    """Results of requests of one decoder and one rule."""
    for own in grouped(asked, lambda request: (request.seed, rows_of(request.sampling))):
        for first in range(0, len(own), batch):
            yield from _decoded(own[first : first + batch], model, drafter, cancelled, notify)


def _decoded(asked: list[Asked], model: Any, drafter: Any, cancelled: Cancelled, notify: Notify) -> list[Result]:
    """A batch whose sequences have one seed and one sampling."""
    asked, gone = _split(asked, cancelled)
    results = [failed(each.number, CANCELLED) for each in gone]
    if not asked:
        return results
    requests = [each.request for each in asked]
    infos: list[Info] = []

    def watch(before: Any, after: Any, info: Info) -> None:
        infos.append(info)
        if all(cancelled(each.number) for each in asked):
            raise _Stopped

    try:
        target, draft = _processes(model, drafter, asked)
        tape = Tape(requests[0].seed, [request.replicate for request in requests])
        done = run(requests[0].decoder, target, requests[0].rule, tape, draft, watch)
    except _Stopped:
        return results + [failed(each.number, CANCELLED) for each in asked]
    except (RuntimeError, MemoryError) as error:
        return results + [failed(each.number, str(error).partition("\n")[0]) for each in asked]
    tokens, steps = (part.cpu().numpy() for part in done)
    accepted, committed = (torch.stack(values, dim=1).cpu().numpy() for values in zip(*infos, strict=True))
    notify(int(committed.sum()))
    for b, each in enumerate(asked):
        count = int(steps[b])
        if cancelled(each.number):
            results.append(failed(each.number, CANCELLED, accepted[b, :count], committed[b, :count]))
        else:
            results.append(
                Result(each.number, tokens[b], count, accepted[b, :count].copy(), committed[b, :count].copy(), None)
            )
    return results


def _split(asked: list[Asked], cancelled: Cancelled) -> tuple[list[Asked], list[Asked]]:
    """Those that go on, and those that do not."""
    gone = [each for each in asked if cancelled(each.number)]
    return [each for each in asked if each not in gone], gone


def _processes(model: Any, drafter: Any, asked: list[Asked]) -> tuple[Cached, Process | None]:
    """The target, and what drafts for it."""
    requests = [each.request for each in asked]
    given, visible = conditions(model, requests), visible_of(model, requests)
    target = Cached(model, given, requests[0].sampling, visible=visible)
    if drafter is None or not requests[0].decoder.needs_draft:
        return target, None
    if isinstance(drafter, Head):
        return target, EagleDraft(drafter, target)
    return target, Cached(drafter, given, requests[0].sampling, lag=1, visible=visible)
