"""Rows of small denominators at which a statement fails, for a person to check by hand.

They are looked for in order: fewest tokens first, then the smallest denominators. Where that takes too long, a point
that the solver has found is rounded, as coarsely as the failure allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count, product, takewhile
from math import lcm
from random import Random
from time import perf_counter

from theory.example_processes import random_row
from theory.symbolic.rows import Rows, rows_at
from theory.symbolic.space import Point

Row = tuple[Fraction, ...]
Named = Mapping[str, Row]
Fails = Callable[[dict[str, Row]], bool]

SEARCH = 20.0  # seconds

__all__ = ["SEARCH", "Row", "coarsest", "rows_of", "simple_rows", "simple_tables", "smallest", "smallest_near"]


def rows_of(size: int, denominator: int, positive: bool = False) -> Iterator[Row]:
    """All pmfs over ``size`` tokens whose common denominator is just this, the simplest first."""
    for weights in _weights(size, denominator, 1 if positive else 0):
        row = tuple(Fraction(weight, denominator) for weight in weights)
        if lcm(*(mass.denominator for mass in row)) == denominator:
            yield row


def _weights(size: int, total: int, least: int) -> Iterator[tuple[int, ...]]:
    if size == 1:
        yield (total,)
        return
    for first in range(total - least * (size - 1), least - 1, -1):
        for rest in _weights(size - 1, total - first, least):
            yield (first, *rest)


def smallest(fails: Fails, sizes: Mapping[str, int], seconds: float, positive: bool = False) -> dict[str, Row] | None:
    """Rows at which something fails, none of which has a larger denominator than is needed.

    Parameters
    ----------
    fails
        Whether it fails at these rows, by name.
    sizes
        How many tokens each row is over.
    seconds
        How long to look.
    positive
        Whether masses of 0 are left out.

    Returns
    -------
    dict or None
        The first rows found, with the smallest largest denominator.
    """
    until = perf_counter() + seconds
    known: dict[int, list[list[Row]]] = {size: [[]] for size in sizes.values()}
    for largest in range(1, 25):
        for size, by_denominator in known.items():
            by_denominator.append(list(rows_of(size, largest, positive)))
        choices = [[row for rows in known[size] for row in rows] for size in sizes.values()]
        newest = [set(known[size][largest]) for size in sizes.values()]
        for chosen in product(*choices):
            if not any(row in new for row, new in zip(chosen, newest, strict=True)):
                continue  # looked at before
            if perf_counter() > until:
                return None
            named = dict(zip(sizes, chosen, strict=True))
            if fails(named):
                return named
    return None


def coarsest(fails: Fails, rows: Named, seconds: float, positive: bool = False) -> dict[str, Row] | None:
    """``rows``, rounded to the smallest denominators at which something still fails; None if it does not at all.

    Where ``positive``, nothing is rounded to 0.
    """
    until = perf_counter() + seconds
    for denominator in [*range(1, 60), *(10**k for k in range(2, 9))]:
        if perf_counter() > until:
            break
        rounded = {name: _rounded(row, denominator) for name, row in rows.items()}
        if (not positive or all(map(all, rounded.values()))) and fails(rounded):
            return simpler(fails, rounded, until)
    return dict(rows) if fails(dict(rows)) else None


def _rounded(row: Row, denominator: int) -> Row:
    """The nearest row with this denominator, by largest remainders."""
    scaled = [mass * denominator for mass in row]
    weights = [int(mass) for mass in scaled]
    order = sorted(range(len(row)), key=lambda x: scaled[x] - weights[x], reverse=True)
    for x in order[: denominator - sum(weights)]:
        weights[x] += 1
    return tuple(Fraction(weight, denominator) for weight in weights)


def simpler(fails: Fails, rows: Named, until: float) -> dict[str, Row]:
    """The same failure with simpler rows, changed one at a time, while there is time."""
    found, changed = dict(rows), True
    while changed and perf_counter() < until:
        changed = False
        for name, row in found.items():
            positive = all(row)
            for denominator in range(1, lcm(*(mass.denominator for mass in row)) + 1):
                for other in rows_of(len(row), denominator, positive):
                    if _cost(other) < _cost(row) and perf_counter() < until and fails({**found, name: other}):
                        found[name], row, changed = other, other, True
    return found


def smallest_near(fails: Fails, rows: Named, seconds: float, positive: bool = False) -> dict[str, Row]:
    """The same failure with the smallest denominators there are of the rows that matter to it; the others stay.

    ``seconds`` are for finding which matter, and once more for the smallest; where they do not suffice, ``rows`` stay.
    """
    until = perf_counter() + seconds
    most = max(mass.denominator for row in rows.values() for mass in row)
    matter: dict[str, int] = {}
    for name, row in rows.items():
        for other in (other for d in range(1, most + 1) for other in rows_of(len(row), d, positive)):
            if perf_counter() > until:
                return dict(rows)
            if not fails({**rows, name: other}):
                matter[name] = len(row)
                break
    return {**rows, **(smallest(lambda named: fails({**rows, **named}), matter, seconds, positive) or {})}


def _cost(row: Row) -> tuple[int, Sequence[int]]:
    return lcm(*(mass.denominator for mass in row)), sorted(-mass.numerator for mass in row)


def simple_rows(fails: Fails, rows: Rows, point: Point | None, positive: bool) -> dict[str, Row] | None:
    """Simple rows at which something fails: the smallest, or near a point at which it does."""
    found = smallest(fails, {name: len(row) for name, row in rows.items()}, SEARCH, positive)
    return found if found or point is None else coarsest(fails, rows_at(rows, point), SEARCH, positive)


def simple_tables(fails: Fails, sizes: Mapping[str, int], positive: bool) -> dict[str, Row] | None:
    """Simple rows, too many to go through all, at which something fails: with zeros only where none fail without."""
    random, until = Random(0), perf_counter() + SEARCH
    for k in takewhile(lambda k: perf_counter() <= until, count()):
        least = int(positive or k % 4 < 3)
        rows = {name: random_row(random, size, least) for name, size in sizes.items()}
        if fails(rows):
            return simpler(fails, rows, until)
    return None
