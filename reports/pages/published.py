"""The page that compares published numbers with each other, as tables.

A pure function of the verdicts that ``simlab verify`` leaves and of the ledger the claims are about.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.site.html import remove, save, template
from theory.published.ledger import Ledger, Row, published

PAPER, FILE = "published", "published.html"
LINES = "lines"  # under this name a comparison gives the lines of the ledger it is about


@dataclass(frozen=True)
class Piece:
    """A piece of evidence; comparisons become a table: a name, cells and lines of the ledger for each."""

    kind: str
    summary: str
    columns: list[str]
    rows: list[tuple[str, list[str], list[int]]]


@dataclass(frozen=True)
class Printed:
    """One table of a paper: its settings, and for each metric the row of the ledger, if there is one."""

    place: str
    metrics: list[str]
    settings: list[tuple[str, list[Row | None]]]


def build(out: Path, verdicts: dict[str, Any]) -> None:
    """Write ``published.html`` to ``out``; where no such claims were decided, one of an earlier run goes away."""
    if any(claim["paper"] == PAPER for claim in verdicts["claims"]):
        save(out / FILE, page(verdicts, published()))
    else:
        remove(out / FILE)


def page(verdicts: dict[str, Any], ledger: Ledger) -> str:
    """The page as HTML."""
    claims = [claim for claim in verdicts["claims"] if claim["paper"] == PAPER]
    return template("published.html").render(
        claims=claims,
        evidence={claim["id"]: pieces(claim) for claim in claims},
        printed=printed(ledger),
        disputed=disputed(claims),
        seed=verdicts["seed"],
    )


def pieces(claim: dict[str, Any]) -> list[Piece]:
    """The evidence of a claim, comparisons as tables."""
    return [_piece(piece) for piece in claim["evidence"]]


def _piece(piece: dict[str, Any]) -> Piece:
    numbers = piece.get("counterexample") or piece.get("example") or {}
    if not all(isinstance(value, dict) and LINES in value for value in numbers.values()):
        return Piece(piece["kind"], piece["summary"], [], [])
    columns = list(dict.fromkeys(name for row in numbers.values() for name in row if name != LINES))
    rows = [(label, [row.get(name, "–") for name in columns], row[LINES]) for label, row in numbers.items()]
    return Piece(piece["kind"], piece["summary"], columns, rows)


def disputed(claims: list[dict[str, Any]]) -> dict[int, str]:
    """The lines of the ledger that a counterexample is about, and the first claim that has one for each."""
    found: dict[int, str] = {}
    for claim in claims:
        if claim["parts"]:
            continue  # its evidence is that of a part
        for piece in pieces(claim):
            for _, _, lines in piece.rows if piece.kind == "counterexample" else []:
                for line in lines:
                    found.setdefault(line, claim["id"])
    return found


def printed(ledger: Ledger) -> list[Printed]:
    """The ledger, a table for each table of a paper."""
    places: dict[str, dict[str, dict[str, Row]]] = {}
    for row in ledger:
        places.setdefault(row.place, {}).setdefault(row.setting, {})[row.metric] = row
    found = []
    for place, settings in places.items():
        metrics = list(dict.fromkeys(metric for rows in settings.values() for metric in rows))
        found.append(
            Printed(place, metrics, [(name, [rows.get(m) for m in metrics]) for name, rows in settings.items()])
        )
    return found
