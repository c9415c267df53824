"""A certificate of what a request names, made in a process that may be lost: always a document, whatever is certified.

Nothing of somebody else is imported or called in the process that waits: one that ends, hangs or splits the process it
is in gets the verdict ``breaks``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.apart import Link, Lost, Unfit, answer_apart
from experiments.certification.pair import with_pair
from experiments.certification.request import Request, Subject, certificate_document, find_subject
from simlab.certify import Certificate, certify
from simlab.certify.adapters import NAMED
from simlab.certify.certificate import Failure
from simlab.certify.engine.workers import FIRST
from simlab.messages import tampered

Progress = Callable[[str, float], None]


def certified(request: Request, out: Path, found: Callable[[], None], progress: Progress) -> dict[str, Any]:
    """The content of certificate.json for the folder ``out``.

    ``found`` is called once what is to be certified is there; ``progress`` with each step and the share of the budget
    that is spent. Raises :class:`~experiments.apart.Unfit` where the request names nothing that can be certified.
    """
    start = time.monotonic()
    answer, called = answer_apart(lambda link: _work(request, out, link), found, progress)
    if isinstance(answer, Lost):
        answer = _lost(request, answer, "when it is called" if called else "when it is imported", start)
        return certificate_document(request, _named(request), answer, out)
    return dict(answer)


def _work(request: Request, out: Path, link: Link) -> dict[str, Any]:
    try:
        with link.importing():
            subject = find_subject(request)
    except ValueError as error:
        raise Unfit(str(error)) from None
    changed = tampered()
    if changed:
        lost = _lost(request, Lost("broken", changed), "when it is imported", time.monotonic())
        return certificate_document(request, subject, lost, out)
    called = list[str]()

    def tell(what: str, share: float) -> None:
        called.append(what)
        link.tell(what, share)

    watched = link.within(FIRST * request.limit, subject.function)
    try:
        certificate = certify(
            # in this very process, which is lost if it hangs, where there are no others
            subject.function if subject.processes else watched,
            subject.contract,
            arrays=request.arrays,
            **request.effort,
            calls=request.calls,
            processes=subject.processes,
            shapes=request.shapes,
            at_most=request.at_most or subject.at_most,
            strict=request.strict,
            subject=f"{subject.module}:{subject.name}",
            progress=tell,
        )
    except ValueError as error:
        if called:
            raise
        raise Unfit(str(error)) from None  # a shape that there is not, which is refused before anything is called
    document = certificate_document(request, subject, replace(certificate, subject=request.spec), out)
    undecided = document["verdict"] in ("lossless", "inconclusive")
    on_pair = subject.published and subject.contract == "verify" and undecided
    return with_pair(document, watched, request.seed) if on_pair else document


def _named(request: Request) -> Subject:
    """What can be said of what is certified without importing it."""
    adapter = NAMED.get(request.spec)
    contract = request.contract or (adapter.contract if adapter else "verify")
    return Subject(None, contract, request.spec, "", request.called_by, about=adapter.about if adapter else "")


def _lost(request: Request, lost: Lost, when: str, start: float) -> Certificate:
    """The certificate of what was lost with its process."""
    told = f"it {lost.message}, {when}"
    seconds = time.monotonic() - start
    return Certificate(
        subject=request.spec,
        contract=_named(request).contract,
        verdict="breaks",
        summary=told,
        epsilon=request.epsilon,
        confidence=request.confidence,
        false_alarms=0.0,
        seed=request.seed,
        seconds=seconds,
        calls=0,
        seconds_to_finding=seconds,
        calls_to_finding=0,
        lines=(),
        failure=Failure(lost.kind, told, when, found_in=when),
        notes=tuple(filter(None, [lost.details])),
        exact="not reached",
        forced="not reached",
    )
