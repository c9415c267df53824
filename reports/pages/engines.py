"""The page on engines of others: what each emits, as certified on a CPU, and which could not be tried."""

from __future__ import annotations

from typing import Any

from experiments.certification.certificate_format import format_value, most_off
from reports.data.engines import BESIDE, COMMAND, Engines, in_order, row
from reports.site.html import Entries, template

FILE, TITLE = "engines.html", "Engines"
OUTCOMES = 6  # of a failing case that are listed, those off by most


def page(found: Engines, entries: Entries) -> str:
    """The page as HTML."""
    return template("engines.html").render(
        rows=[told(one) for one in in_order(found)],
        tried=found.tried,
        command=COMMAND,
        entries=entries,
        here=FILE,
    )


def told(certificate: dict[str, Any]) -> dict[str, Any]:
    """What the page says of one engine."""
    failure, acceptance = certificate["failure"], certificate["acceptance"]
    return {
        "certificate": certificate,
        "row": row(certificate),
        "beside": ", ".join(f"{name} {version}" for name, version in certificate["engine"].items() if name in BESIDE),
        "share": None if not acceptance else acceptance["kept"] / acceptance["most"],
        "arguments": [(name, format_value(value)) for name, value in failure["arguments"].items()] if failure else [],
        "outcomes": most_off(failure["outcomes"], OUTCOMES) if failure else [],
    }
