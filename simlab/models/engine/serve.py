"""Serve requests: the one function that users of an engine need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from simlab.checks import check_at_least, check_choice
from simlab.decoders.compiled import has_kernel
from simlab.decoders.triton import unsupported
from simlab.models.architectures.backbone import place_of
from simlab.models.engine.reference import decode_batches
from simlab.models.engine.requests import (
    CANCELLED,
    Cancelled,
    Notify,
    Numbered,
    Request,
    Result,
    failed,
    grouped,
    method_of,
    never,
)
from simlab.models.engine.running import decode_continuously
from simlab.models.process.clock import UNTIMED, Clock


def serve(
    model: Any,
    requests: Iterable[Request],
    batch: int,
    drafter: Any = None,
    cancelled: Cancelled = never,
    notify: Notify = lambda tokens: None,
    clock: Clock = UNTIMED,
    device: str | None = None,
) -> Iterator[Result]:
    """Decode requests, at most ``batch`` at a time.

    Parameters
    ----------
    model
        The target, a backbone.
    requests
        What is asked; those of another decoder or rule wait for each other.
    batch
        How many sequences are decoded at once, >= 1.
    drafter
        What drafts for decoders that need it: a smaller backbone, or a head of the target.
    cancelled
        Asked with the index of a request before each step; true ends it.
    notify
        Told how many tokens have been committed so far.
    clock
        Takes the time of the target's ``model`` and ``sampling``; none, unless given.
    device
        The kind of device whose form of the decoders is taken: "cpu", compiled kernels; "cuda", fused ones. That of the
        model, unless given; fused kernels run on a CPU where Triton interprets them. Decoders and rules that have
        neither are run in their reference form.

    Yields
    ------
    Result
        Of each request, as soon as it is over, by its ``index``.

    Raises
    ------
    ValueError
        For a batch below 1, a device that is neither, or a request that does not fit the model.
    """
    check_at_least("batch", batch, 1)
    if device is not None:
        check_choice("device", device, ("cpu", "cuda"))
    before = 0

    def tell(tokens: int) -> None:
        nonlocal before
        before += tokens
        notify(before)

    kind = device or place_of(model).type
    groups = grouped((Numbered(index, request) for index, request in enumerate(requests)), method_of)
    while groups:
        group = groups.pop(0)
        decode = form(group[0].request, kind)
        for result in decode(group, model, batch, drafter, cancelled, tell, clock):
            yield result
            for later in groups:  # they are told now, not when it is their turn
                for each in [each for each in later if cancelled(each.number)]:
                    later.remove(each)
                    yield failed(each.number, CANCELLED)
        groups = [later for later in groups if later]


def form(request: Request, kind: str) -> Callable[..., Iterator[Result]]:
    """What decodes requests of one decoder and rule on a kind of device: a function that yields their results."""
    if kind == "cpu" and has_kernel(request.decoder, request.rule):
        from simlab.models.engine.compiled import CompiledRows  # loads Numba

        return partial(decode_continuously, form=CompiledRows)
    if kind == "cuda" and unsupported(request.decoder, request.rule) is None:
        from simlab.models.engine.fused import FusedRows  # loads Triton

        return partial(decode_continuously, form=FusedRows)
    return decode_batches
