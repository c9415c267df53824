"""The page on what things cost: made from the file that ``simlab bench --json`` leaves, whatever it measured.

Lists of objects become tables, and single values a list of facts. Times are of one machine: ratios within one run are
what can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.parts import template
from reports.study import Sheet

SOURCE, FILE = "bench.json", "bench.html"
COMMAND = "simlab bench --json out/bench.json"
DIGITS = 4  # significant ones of a measured number


def page(document: dict[str, Any], entries: Sequence[tuple[str, str]], mark: str) -> str:
    """The page as HTML."""
    facts, sheets = told(document)
    return template("bench.html").render(facts=facts, sheets=sheets, entries=entries, here=FILE, mark=mark)


def told(value: dict[str, Any], above: str = "") -> tuple[list[tuple[str, str]], list[Sheet]]:
    """The single values of an object by their names, and its lists of objects as tables, at any depth."""
    facts: list[tuple[str, str]] = []
    sheets: list[Sheet] = []
    for key, entry in value.items():
        name = f"{above}{key}".replace("_", " ")
        if isinstance(entry, dict):
            inner = told(entry, f"{name}: ")
            facts, sheets = facts + inner[0], sheets + inner[1]
        elif isinstance(entry, list) and entry and all(isinstance(row, dict) for row in entry):
            sheets.append(table(name, entry))
        else:
            facts.append((name, cell(entry)))
    return facts, sheets


def table(name: str, rows: Sequence[dict[str, Any]]) -> Sheet:
    """A list of objects; words first, then numbers."""
    flat = [_flat(row) for row in rows]
    columns = list(dict.fromkeys(column for row in flat for column in row))
    words = [c for c in columns if any(isinstance(row.get(c), str) for row in flat)]
    ordered = [*words, *(c for c in columns if c not in words)]
    cells = [[cell(row.get(column)) for column in ordered] for row in flat]
    return Sheet(name, [column.replace("_", " ") for column in ordered], cells, words=len(words))


def _flat(row: dict[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        found |= _flat(value, f"{above}{key} ") if isinstance(value, dict) else {f"{above}{key}": value}
    return found


def cell(value: Any) -> str:
    """A value as a reader wants it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10**DIGITS else f"{value:.{DIGITS}g}"
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    return f"{value:,}" if isinstance(value, int) and value >= 10**DIGITS else str(value)
