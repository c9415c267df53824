"""The processes that images are decoded with: the target, and what drafts for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from simlab.decoders.run import check_draft
from simlab.models.architectures.eagle import EagleDraft, Head
from simlab.models.engine.requests import Request, conditions, visible_of
from simlab.models.process.cached import Cached
from simlab.models.process.clock import UNTIMED, Clock, Drafting
from simlab.models.process.sampling import Sampling


def process_pair(
    model: Any,
    drafter: Any,
    given: Tensor,
    sampling: Sampling,
    form: type[Cached] = Cached,
    visible: Sequence[Tensor | None] = (None, None),
    clock: Clock = UNTIMED,
) -> tuple[Cached, Cached | EagleDraft | None]:
    """The target, a sequence for each condition, and what drafts for it: a smaller model, a head, or nothing.

    Both are in a ``form`` of the cache; ``visible``: of the conditions of each, what is not padding.
    """
    target = form(model, given, sampling, visible=visible[0], clock=clock)
    if drafter is None:
        return target, None
    if isinstance(drafter, Head):
        return target, EagleDraft(drafter, target)
    return target, form(drafter, given, sampling, lag=1, visible=visible[1], clock=Drafting(clock))


def processes_for(
    model: Any, drafter: Any, requests: Sequence[Request], padded: bool, clock: Clock, form: type[Cached] = Cached
) -> tuple[Cached, Cached | EagleDraft | None]:
    """Those of requests of one decoder and one sampling; ``padded``: whether conditions may have padding.

    Raises ``ValueError`` for a decoder that needs a drafter where there is none, and for one of another vocabulary or
    length.
    """
    decoder = requests[0].decoder
    if decoder.needs_draft and drafter is None:
        raise ValueError(f"drafter is None; expected a smaller model or a head: {type(decoder).__name__} needs one")
    drafts = drafter if decoder.needs_draft else None
    visible = [None if each is None else visible_of(each, requests, padded) for each in (model, drafts)]
    found = process_pair(model, drafts, conditions(model, requests), requests[0].sampling, form, visible, clock)
    check_draft(decoder, *found)
    return found
