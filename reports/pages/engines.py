"""The page on engines of others: what each emits, as certified on a CPU, and which could not be tried."""

from __future__ import annotations

from typing import Any

from experiments.certification.certificate_format import format_value, most_off
from reports.data.engines import COMMAND, Engines
from reports.site.html import Entries, template

FILE, TITLE = "engines.html", "Engines"
OUTCOMES = 6  # of a failing case that are listed, those off by most
OWN = ("numpy", "torch", "triton")  # versions that are told beside that of the engine


def page(found: Engines, entries: Entries) -> str:
    """The page as HTML."""
    return template("engines.html").render(
        rows=[row(one) for one in found.certificates],
        tried=found.tried,
        command=COMMAND,
        entries=entries,
        here=FILE,
    )


def row(certificate: dict[str, Any]) -> dict[str, Any]:
    """What the page says of one engine."""
    failure, acceptance = certificate["failure"], certificate["acceptance"]
    versions = certificate["engine"]
    called = [line for line in certificate["lines"] if line["calls"]]
    principal = [line["tv_at_most"] for line in called if line["principal"]]
    off = None
    if failure:
        off = failure["tv_measured"] if failure["tv_exact"] is None else failure["tv_exact"]
    return {
        "certificate": certificate,
        "engine": ", ".join(f"{name} {version}" for name, version in versions.items() if name not in OWN),
        "beside": ", ".join(f"{name} {version}" for name, version in versions.items() if name in OWN),
        "off": off,
        "principal": max(principal, default=None) if not failure or failure["at_the_ends"] else None,
        "share": None if not acceptance else acceptance["kept"] / acceptance["most"],
        "arguments": [(name, format_value(value)) for name, value in failure["arguments"].items()] if failure else [],
        "outcomes": most_off(failure["outcomes"], OUTCOMES) if failure else [],
    }
