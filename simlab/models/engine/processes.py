"""The processes that requests of one decoder and one sampling are decoded with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simlab.models.architectures.eagle import EagleDraft, Head
from simlab.models.engine.requests import Request, conditions, visible_of
from simlab.models.process.cached import Cached
from simlab.models.process.clock import Clock, Drafting


def processes_for(
    model: Any, drafter: Any, requests: Sequence[Request], padded: bool, clock: Clock, form: type[Cached] = Cached
) -> tuple[Cached, Cached | EagleDraft | None]:
    """The target, a sequence a request, and what drafts for it, in a ``form`` of the cache; ``padded``: whether
    conditions may have padding."""
    given, sampling = conditions(model, requests), requests[0].sampling
    target = form(model, given, sampling, visible=visible_of(model, requests, padded), clock=clock)
    if drafter is None or not requests[0].decoder.needs_draft:
        return target, None
    if isinstance(drafter, Head):
        return target, EagleDraft(drafter, target)
    visible = visible_of(drafter, requests, padded)
    return target, form(drafter, given, sampling, lag=1, visible=visible, clock=Drafting(clock))
