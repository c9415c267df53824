"""Format a saved certificate for the terminal and for pages: cases, outcomes, arguments.

It needs nothing that certifies: pages are drawn from the file alone.
"""

from __future__ import annotations

from typing import Any

LOOSE = 0.4  # TV that a pass excludes in cases that are not principal


def named(line: dict[str, Any]) -> str:
    """A line by its case; by what is counted as well where that is not all there is."""
    whole = line["events"].startswith(("all tokens", "two tokens, by class"))
    return str(line["case"]) if whole else f"{line['case']}: {line['events']}"


def outcome(line: dict[str, Any], epsilon: float) -> str:
    """What a line says: ``fails``, ``ok``, which is as much as a pass needs, or that it was called too rarely."""
    if line["fails"]:
        return "fails"
    needed = epsilon if line.get("principal", True) else max(LOOSE, epsilon)
    if line["tv_at_most"] <= needed:
        return "ok"
    return "too few calls" if line["calls"] else "not called"


def most_off(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most so many of the outcomes of a failing case, those farthest from the target, in their order."""

    def off(k: int) -> float:
        row = rows[k]
        found = row["exact"] if row["exact"] is not None else row["measured"]
        return 0.0 if found is None else -abs(found - row["target"])

    return [rows[k] for k in sorted(sorted(range(len(rows)), key=off)[:most])]


def format_value(value: Any) -> str:
    """An argument for people: six digits, unless these would make a 1 of what is less."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{format_value(key)}: {format_value(one)}' for key, one in value.items())}}}"
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.6g}"
    return repr(value) if text == "1" and value != 1 else text
