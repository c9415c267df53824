"""The numbers of an example, laid out to be read: rows over tokens as a table with bars, and the rest by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

SERIES = ("#0b5cad", "#d97706", "#18794e", "#8250df", "#57606a", "#b3261e")  # of p, q, the law and what follows
NOT_ROWS = ("labels", "weights", "draft_weights", "rates", "neighbours")
MOST_BARS, MOST_TOKENS = 4, 16  # rows a picture, columns a table


class Row(NamedTuple):
    """A pmf over the vocabulary: its name, its probabilities as text and as numbers, and its colour."""

    name: str
    texts: list[str]
    masses: list[float]
    colour: str


class Laid(NamedTuple):
    """An example laid out: rows of one length, which of them to draw, and what else there is, by name."""

    rows: list[Row]
    drawn: list[Row]
    fields: list[tuple[str, str]]


def laid_out(example: Mapping[str, Any]) -> Laid:
    """The numbers of an example; rationals where they are known."""
    exact = example.get("exact", {})
    found = [row for name, value in example.items() for row in _rows(name, value, exact.get(name, value))]
    size = max((len(masses) for _, masses, _ in found), default=0)
    alike = [(name, masses, texts) for name, masses, texts in found if len(masses) == size]
    rows = [Row(name, texts, masses, SERIES[k % len(SERIES)]) for k, (name, masses, texts) in enumerate(alike)]
    shown = {name.split(" after ")[0] for name, *_ in alike}
    return Laid(
        rows, rows[:MOST_BARS], [field for field in fields(example) if field[0] not in shown and field[1] != "none"]
    )


def _rows(name: str, value: Any, exact: Any) -> Iterator[tuple[str, list[float], list[str]]]:
    """What under ``name`` is a pmf over at least two tokens, or are such after prefixes."""
    if isinstance(value, Mapping) and value and all(map(_is_pmf, value.values())):
        for prefix, row in value.items():
            yield f"{name} after {prefix or 'the start'}", row, [text(each) for each in exact[prefix]]
    elif name not in NOT_ROWS and _is_pmf(value):
        yield name, value, [text(each) for each in exact]


def _is_pmf(value: Any) -> bool:
    numbers = isinstance(value, list) and len(value) > 1 and all(isinstance(v, int | float) for v in value)
    return numbers and len(value) <= MOST_TOKENS and min(value) >= 0 and abs(sum(value) - 1) < 1e-6


def fields(example: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The numbers of an example by name, rationals where they are known."""
    exact = example.get("exact", {})
    return [(name, text(exact.get(name, value))) for name, value in example.items() if name != "exact"]


def text(value: Any) -> str:
    """A value to read."""
    if isinstance(value, Mapping):
        return "; ".join(f"{key or 'start'}: {text(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "(" + ", ".join(_listed([text(item) for item in value])) + ")"
    return "none" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _listed(texts: list[str]) -> Iterator[str]:
    """The items of a list; in one too long to be read, what is repeated in a row is written once: 1/40 × 40."""
    for item, run in groupby(texts):
        count = len(list(run))
        yield from [f"{item} × {count}"] if count > 2 and len(texts) > MOST_TOKENS else [item] * count
