"""Serve requests: the one function that users of an engine need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from simlab.checks import check_at_least
from simlab.models.engine.reference import decode_batches
from simlab.models.engine.requests import Asked, Cancelled, Notify, Request, Result, grouped, method_of, place_of
from simlab.models.process.clock import UNTIMED, Clock


def serve(
    model: Any,
    requests: Iterable[Request],
    batch: int,
    drafter: Any = None,
    cancelled: Cancelled = lambda index: False,
    notify: Notify = lambda tokens: None,
    clock: Clock = UNTIMED,
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

    Yields
    ------
    Result
        Of each request, as soon as it is over, by its ``index``.

    Raises
    ------
    ValueError
        For a batch below 1, or a request that does not fit the model.
    """
    check_at_least("batch", batch, 1)
    before = 0

    def tell(tokens: int) -> None:
        nonlocal before
        before += tokens
        notify(before)

    for group in grouped((Asked(index, request) for index, request in enumerate(requests)), method_of):
        from simlab.models.engine.continuous import decode_continuously, has_kernels  # loads Numba

        on_host = place_of(model).type == "cpu" and has_kernels(group[0].request)
        decode = decode_continuously if on_host else decode_batches
        yield from decode(group, model, batch, drafter, cancelled, tell, clock)
