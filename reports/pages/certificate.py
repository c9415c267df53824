"""The page of a certificate, made from the file of ``simlab certify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.certification.certificate_format import format_value, most_off, outcome
from reports.data.documents import CERTIFICATE, read_certificate
from reports.figures.certificate import SIDES, detectable, outcomes, precision
from reports.figures.plot_style import use_style
from reports.site.html import save, svg, template

SOURCE, FILE = CERTIFICATE, "certificate.html"
TONES = {"ok": "passes", "fails": "fails"}
BARS = 12  # outcomes that are drawn and listed at once; the rest unfolds


def build(out: Path) -> Path:
    """Write ``certificate.html`` beside ``certificate.json``; raises as
    :func:`~reports.data.documents.read_certificate`.
    """
    return save(out / FILE, page(read_certificate(out)))


def page(certificate: dict[str, Any]) -> str:
    """The page as HTML."""
    use_style()
    failure = certificate["failure"]
    known = {"principal": True, "tv_exact": None}  # an earlier simlab did not tell
    lines = [known | line | {"outcome": outcome(line, certificate["epsilon"])} for line in certificate["lines"]]
    called = [line for line in lines if line["calls"]]
    rows = failure["outcomes"] if failure else []
    drawn = most_off(rows, BARS)
    return template("certificate.html").render(
        certificate=certificate,
        failure=failure,
        acceptance=certificate.get("acceptance"),
        lines=lines,
        tones=TONES,
        called=called,
        drawn=drawn,
        rows=rows,
        needs_simlab=bool(failure and failure["script"] and "from simlab" in failure["script"]),
        sides=[name for name in SIDES if rows and rows[0][name] is not None],
        arguments=[(name, format_value(value)) for name, value in failure["arguments"].items()] if failure else [],
        outcomes_figure=svg(outcomes(drawn), "what comes out against the target") if drawn else None,
        lines_figure=svg(precision(called, certificate["epsilon"]), "precision of every case") if called else None,
        first=max((line["tv_at_most"] for line in lines if line["principal"]), default=None),
        worst=max((line["tv_at_most"] for line in lines), default=1.0),
        detects=max((detectable(line) for line in lines), default=1.0),
    )
