"""The page of a certificate, made from the file of ``simlab certify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.certification.certificate_format import (
    clauses,
    edge_line,
    format_value,
    left_out,
    maps,
    most_off,
    outcome,
    reason,
    seen,
    sizes,
)
from reports.data.documents import CERTIFICATE
from reports.figures.certificate import SIDES, detectable, outcomes, precision
from reports.figures.plot_style import use_style
from reports.site.html import save, svg, template

FILE = "certificate.html"
TONES = {"ok": "passes", "fails": "fails"}
LEVELS = 0.1, 0.2, 0.3  # TV up to which cells of a map have a colour each
BARS = 12  # outcomes that are drawn and listed at once; the rest unfolds


def build(out: Path) -> Path:
    """Write ``certificate.html`` beside ``certificate.json``; raises as :meth:`~reports.data.files.Document.read`."""
    return save(out / FILE, page(CERTIFICATE.read(out)))


def page(certificate: dict[str, Any]) -> str:
    """The page as HTML."""
    use_style()
    failure = certificate["failure"]
    known = {"principal": True, "tv_exact": None}  # an earlier simlab did not tell
    lines = [known | line | {"outcome": outcome(line, certificate["epsilon"])} for line in certificate["lines"]]
    called = [line for line in lines if line["calls"]]
    rows = failure["outcomes"] if failure else []
    drawn = most_off(rows, BARS)
    shapes, edge = certificate.get("shapes"), certificate.get("edge")
    return template("certificate.html").render(
        certificate=certificate,
        summary="; ".join(clauses(certificate)),
        shapes=shapes,
        own=shapes["own"] if shapes else [],
        maps=maps(shapes) if shapes and any(cell["outcomes"] for cell in shapes["cells"]) else [],
        left_out=left_out(shapes) if shapes else [],
        cell=_cell,
        sizes=sizes,
        reason=reason,
        edge=edge if edge != failure else None,  # which it is if it was asked to fail
        edge_line=edge_line(edge) if edge else "",
        edge_arguments=_arguments(edge),
        failure=failure,
        smallest=bool(failure) and _made_smaller(failure),
        acceptance=certificate.get("acceptance"),
        lines=lines,
        tones=TONES,
        called=called,
        drawn=drawn,
        rows=rows,
        needs_simlab=bool(failure and failure["script"] and "from simlab" in failure["script"]),
        sides=[name for name in SIDES if rows and rows[0][name] is not None],
        arguments=_arguments(failure),
        outcomes_figure=svg(outcomes(drawn), "what comes out against the target") if drawn else None,
        lines_figure=svg(precision(called, certificate["epsilon"]), "precision of every case") if called else None,
        first=max((line["tv_at_most"] for line in lines if line["principal"]), default=None),
        worst=max((line["tv_at_most"] for line in lines), default=1.0),
        detects=max((detectable(line) for line in lines), default=1.0),
    )


def _made_smaller(failure: dict[str, Any]) -> bool:
    """Whether a case was looked for that is smaller than that in which it was found, and one fails."""
    return failure["case"] != failure["found_in"] or "in the smallest case that fails" in failure["told"]


def _arguments(failure: dict[str, Any] | None) -> list[tuple[str, str]]:
    return [(name, format_value(value)) for name, value in failure["arguments"].items()] if failure else []


def _cell(looked: dict[str, Any] | None) -> tuple[str, str, str]:
    """What stands in a cell of a map, its class, and what is told of it where a pointer rests on it."""
    text = seen(looked).strip()
    if looked is None:
        return text, "none", "no shape, or none that fits memory"
    counted = f"{sizes(looked)}: {looked['shapes']:,} shapes, {looked['outcomes']:,} outcomes"
    if not looked["seen"] or looked["detectable"] is None:
        return text, "few" if looked["outcomes"] else "none", counted + (f"; {looked['why']}" if looked["why"] else "")
    level = next((k for k, most in enumerate(LEVELS, 1) if looked["detectable"] <= most), len(LEVELS))
    return text, f"tv{level}", f"{counted}, TV at most {looked['tv_at_most']:.3f}"
