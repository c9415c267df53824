"""The certifier as a test of pytest: a certificate that passes, or an error that says what is wrong."""

from __future__ import annotations

from typing import Any

from simlab.certify.api import certify, rounded
from simlab.certify.certificate import Certificate
from simlab.certify.contracts.base import Function
from simlab.certify.engine.planning import calls_for
from simlab.certify.engine.search import FIRST_CALLS
from simlab.certify.registry import contract_named

LISTED = 12  # outcomes that are listed in text: those off by most
USEFUL = 0.1  # TV that a test excludes in the principal cases, if it asks for nothing else


def assert_lossless(function: Function, contract: str = "verify", **options: Any) -> Certificate:
    """The certificate of ``function``, or an error that says what is wrong; for pytest.

    Parameters
    ----------
    function, contract
        As for :func:`~simlab.certify.certify`.
    **options
        Those of :func:`~simlab.certify.certify`; with ``calls`` the same calls are made on every machine.

    Returns
    -------
    Certificate
        A ``lossless`` one, or, unless ``epsilon`` is given, an ``inconclusive`` one that excludes a TV of 0.1 in the
        principal cases, if every case was called 64 times and all shapes that were asked for were seen: no deviation
        was found then either.

    Raises
    ------
    AssertionError
        Unless it passes; the message is that of :func:`format_certificate`.
    ValueError
        As :func:`~simlab.certify.certify` does.
    """
    certificate = certify(function, contract, **options)
    principal = [line for line in certificate.lines if line.principal]
    worst = max((line.tv_at_most for line in principal), default=1.0)
    if certificate.verdict == "lossless":
        return certificate
    asked_for = all(one.seen for one in certificate.shapes.own) if certificate.shapes else True
    if certificate.verdict == "inconclusive" and "epsilon" not in options and not certificate.unsure and asked_for:
        never = sum(not line.calls for line in principal)
        if never:
            raise AssertionError(
                f"{certificate.subject}: nothing was found, but {never} of {len(principal)} lines of principal cases "
                f"had no call: a larger budget is needed\n{format_certificate(certificate)}"
            )
        calls = _enough(certificate, options.get("arrays"))
        if worst <= USEFUL:
            _check_called(certificate, calls)
            return certificate
        raise AssertionError(
            f"{certificate.subject}: nothing was found, but no TV below {worst:.2g} is excluded; "
            f"calls={rounded(calls)} may exclude {USEFUL:g}\n{format_certificate(certificate)}"
        )
    raise AssertionError(format_certificate(certificate))


def _enough(certificate: Certificate, arrays: str | None) -> int:
    """About how many calls of each case exclude ``USEFUL`` in the principal ones, by what those that were made do."""
    cases = {case.name: case for case in contract_named(certificate.contract, arrays).cases()}
    each = (
        calls_for(cases[line.case], USEFUL, line.calls, line.tv_at_most) for line in certificate.lines if line.principal
    )
    return max(FIRST_CALLS, *each)


def _check_called(certificate: Certificate, calls: int) -> None:
    """Raise ``AssertionError``, which says that so many ``calls`` would do, unless every case was called 64 times."""
    called = {line.case: line.calls for line in certificate.lines}
    rare = [name for name, times in called.items() if times < FIRST_CALLS]
    if rare:
        raise AssertionError(
            f"{certificate.subject}: nothing was found, but {len(rare)} of {len(called)} cases were called fewer than "
            f"{FIRST_CALLS} times, such as {rare[0]} ({called[rare[0]]}); a larger budget would do, or "
            f"calls={rounded(calls)}\n{format_certificate(certificate)}"
        )


def format_certificate(certificate: Certificate) -> str:
    """A certificate in a few lines of text: what fails, what comes out of it, and how to see it.

    ``certificate``: what :func:`~simlab.certify.certify` returned. Returns lines joined by newlines; at most 12
    outcomes, those off by most.
    """
    lines = [f"{certificate.subject} is {certificate.verdict}: {certificate.summary}"]
    failure = certificate.failure
    if failure:
        lines += [f"  {name} = {value}" for name, value in failure.arguments.items()]
        off = sorted(failure.outcomes, key=_off)[:LISTED]
        for row in (row for row in failure.outcomes if row in off):
            numbers = (f"{name} {row[name]:.6g}" for name in ("target", "measured", "exact") if row[name] is not None)
            lines.append(f"  tokens {row['outcome']}: {', '.join(numbers)}")
    lines += [f"  {certificate.acceptance.told}"] if certificate.acceptance else []
    lines += [f"  note: {note}" for note in certificate.notes]
    if failure and failure.script:
        lines += ["  to see it, run:", *(f"    {line}" for line in failure.script.splitlines())]
    return "\n".join(lines)


def _off(row: dict[str, Any]) -> float:
    found = row["measured"] if row["exact"] is None else row["exact"]
    return 0.0 if found is None else -abs(found - row["target"])
