"""The numbers the papers print, as data: ``theory/published/results.csv``, read strictly, with their rounding.

A printed number stands for an interval. It says how far the number behind it can be from what is printed: half a
unit of the last printed digit either way if it was rounded, up to a unit further from 0 if its digits were cut off
(:meth:`Ledger.cut`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("results.csv")
COLUMNS = ("paper", "table", "dataset", "target", "draft", "method", "params", "metric", "value", "std")
PAPERS = {
    "cspd": "CSpD",
    "gsd": "GSD",
    "lantern": "LANTERN",
    "sjd": "SJD",
    "sjd-pac": "SJD-PAC",
    "hsd": "HSD",  # README of ZhouYuxuanYX/Hierarchical-Speculative-Decoding at b8575e2
}
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?")

# Columns whose entries are printed with different numbers of digits: there each entry counts as it stands in the
# file, which has lost trailing zeros, so that its interval is at least as wide as in print. Everywhere else all
# entries of a column have as many digits as the longest.
UNEVEN = {
    ("cspd", "6", "mean_likelihood_ratio"),
    ("gsd", "1", "nfe"),
    ("gsd", "1", "CLIP"),
    ("gsd", "2", "nfe"),
}


@dataclass(frozen=True)
class Interval:
    """All numbers from ``low`` to ``high``, both included."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __truediv__(self, other: Interval) -> Interval:
        """The quotient of positive numbers; raises ``ValueError`` where either can be 0 or less."""
        if self.low <= 0 or other.low <= 0:
            raise ValueError(f"cannot divide {self} by {other}; expected positive numbers")
        return Interval(self.low / other.high, self.high / other.low)

    def meets(self, other: Interval) -> bool:
        """Whether some number lies in both."""
        return self.low <= other.high and other.low <= self.high

    def exceeds(self, other: Interval) -> bool:
        """Whether every number of this one is above every number of the other."""
        return self.low > other.high

    def __str__(self) -> str:
        low, high = (f"{float(end):.4g}" for end in (self.low, self.high))
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Row:
    """One printed number: what is text are the entries of the columns of these names, some of which may be empty."""

    line: int  # in the file
    paper: str
    table: str
    dataset: str
    target: str
    draft: str
    method: str
    params: Mapping[str, str]  # names and values of the parameters; what has no value has the empty one
    metric: str
    value: Decimal  # as printed
    std: Decimal | None  # the standard deviation printed beside it, if any
    decimals: int  # digits printed after the point
    cut: bool  # whether digits were cut off, not rounded

    @property
    def unit(self) -> Fraction:
        """One unit of the last printed digit."""
        return Fraction(1, 10**self.decimals)

    @property
    def interval(self) -> Interval:
        """What the number behind the printed one can be."""
        value = Fraction(self.value)
        if not self.cut:
            return Interval(value - self.unit / 2, value + self.unit / 2)
        return Interval(value, value + self.unit) if value >= 0 else Interval(value - self.unit, value)

    def prints(self, value: Decimal) -> bool:
        """Whether ``value`` is this number once it is printed with as many digits; true for both ways of a tie."""
        if self.cut:
            return 0 <= (Fraction(value) - Fraction(self.value)) * (-1 if self.value < 0 else 1) < self.unit
        return abs(Fraction(value) - Fraction(self.value)) <= self.unit / 2

    @property
    def printed(self) -> str:
        """The number with the digits it is printed with."""
        return f"{self.value:.{self.decimals}f}" if self.decimals < 10 else str(self.value)

    @property
    def place(self) -> str:
        """Where it is printed."""
        return place(self.paper, self.table)

    @property
    def setting(self) -> str:
        """What was measured: everything but the metric."""
        given = (f"{name}={value}" if value else name for name, value in self.params.items())
        return ", ".join(part for part in (self.dataset, self.target, self.draft, self.method, *given) if part)

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that says which number this is."""
        return (self.paper, self.table, self.setting, self.metric)


def place(paper: str, table: str) -> str:
    """A table of a paper in words, such as "GSD Table 1".

    ``paper``: a key of :data:`PAPERS`. ``table``: its number, or ``text-`` and a section.
    """
    return f"{PAPERS[paper]} " + (f"Table {table}" if table.isdigit() else table.replace("text-", "section "))


class Ledger:
    """Printed numbers, in the order of the file."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._at = {row.key: row for row in self.rows}

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def select(self, params: Mapping[str, str] | None = None, /, **columns: str) -> list[Row]:
        """The rows that have these parameters, maybe others too, and these values in the columns named; maybe none.

        Raises ``ValueError`` if a column is not one of :data:`COLUMNS`.
        """
        unknown = columns.keys() - set(COLUMNS)
        if unknown:
            raise ValueError(f"there is no column {', '.join(sorted(unknown))}; expected some of {', '.join(COLUMNS)}")
        return [
            row
            for row in self.rows
            if all(getattr(row, name) == value for name, value in columns.items())
            and (params or {}).items() <= row.params.items()
        ]

    def one(self, params: Mapping[str, str] | None = None, /, **columns: str) -> Row:
        """The row that :meth:`select` finds; raises ``ValueError`` as it does, and if there is not exactly one."""
        found = self.select(params, **columns)
        if len(found) != 1:
            raise ValueError(f"{len(found)} rows have {columns | dict(params or {})}; expected one")
        return found[0]

    def beside(self, row: Row, metric: str) -> Row | None:
        """Another metric of what a row is about, in the same table; ``None`` if it is not printed."""
        return self._at.get((row.paper, row.table, row.setting, metric))

    def altered(self, changes: Mapping[int, float | Fraction]) -> Ledger:
        """A copy with other values in some lines of the file, rounded to as many digits as are printed there."""
        return Ledger(
            replace(row, value=Decimal(f"{float(changes[row.line]):.{row.decimals}f}")) if row.line in changes else row
            for row in self.rows
        )

    def cut(self) -> Ledger:
        """A copy in which digits were cut off, not rounded: what is printed is too small, never too large."""
        return Ledger(replace(row, cut=True) for row in self.rows)


def grouped(rows: Iterable[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    """The rows of each name, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(name(row), []).append(row)
    return found


@cache
def published() -> Ledger:
    """The numbers the papers print."""
    return read(FILE)


def read(path: Path) -> Ledger:
    """The ledger in a CSV file with the columns :data:`COLUMNS`.

    Entries of a column have as many digits as the longest, except in :data:`UNEVEN` columns. Raises ``ValueError``,
    naming the line, if the columns differ, a value is no finite decimal number, a paper is unknown, an entry is
    missing, or a number is given twice.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        header, *entries = _entries(lines, path.name)
    if tuple(header) != COLUMNS:
        raise ValueError(f"{path.name} has the columns {', '.join(header)}; expected {', '.join(COLUMNS)}")
    rows = [_row(line, dict(zip(COLUMNS, entry, strict=True))) for line, entry in _whole(entries, path.name)]
    seen: dict[tuple[object, ...], int] = {}
    for row in rows:
        if row.key in seen:
            raise ValueError(f"line {row.line} gives the number of line {seen[row.key]} again; expected it once")
        seen[row.key] = row.line
    return Ledger(_with_column_digits(rows))


def _entries(lines: Iterable[str], name: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, strict=True)) or [[]]
    except csv.Error as error:
        raise ValueError(f"{name} cannot be read: {error}; expected comma-separated values") from None


def _whole(entries: list[list[str]], name: str) -> Iterator[tuple[int, list[str]]]:
    for line, entry in enumerate(entries, start=2):
        if len(entry) != len(COLUMNS):
            raise ValueError(f"line {line} of {name} has {len(entry)} fields; expected {len(COLUMNS)}")
        yield line, entry


def _row(line: int, entry: dict[str, str]) -> Row:
    if entry["paper"] not in PAPERS:
        raise ValueError(f"line {line} names the paper {entry['paper']!r}; expected one of {', '.join(PAPERS)}")
    for name in ("table", "method", "metric"):
        if not entry[name]:
            raise ValueError(f"line {line} has no {name}; expected one")
    value = _number(line, "value", entry["value"])
    std = _number(line, "std", entry["std"]) if entry["std"] else None
    if std is not None and std < 0:
        raise ValueError(f"line {line} has the std {std}; expected a number >= 0")
    decimals = max(0, -int(value.as_tuple().exponent))
    named = {name: entry[name] for name in COLUMNS if name not in ("params", "value", "std")}
    params = _params(entry["params"])
    return Row(line, **named, params=params, value=value, std=std, decimals=decimals, cut=False)


def _number(line: int, name: str, text: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise ValueError(f"line {line} has the {name} {text!r}; expected a finite decimal number")
    return Decimal(text)


def _params(text: str) -> dict[str, str]:
    """``a=1;b`` as names and values; what has no value has the empty one."""
    return {name: value for name, _, value in (item.partition("=") for item in text.split(";") if item)}


def _with_column_digits(rows: list[Row]) -> Iterator[Row]:
    longest: dict[tuple[str, str, str], int] = {}
    for row in rows:
        column = (row.paper, row.table, row.metric)
        longest[column] = max(longest.get(column, 0), row.decimals)
    for row in rows:
        column = (row.paper, row.table, row.metric)
        digits = row.decimals if column in UNEVEN else longest[column]
        yield replace(row, decimals=digits)
