"""All target rows over three tokens, as a triangle that one rule and one draft row cut into cells.

In each cell the law that the rule emits, and what it accepts, are rational functions of the target's row; they are
computed by running the rule on unknown numbers (:mod:`theory.symbolic`), so nothing here is a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from simlab.rules.base import Rule
from theory.symbolic.cells import Cells
from theory.symbolic.signs import NEGATIVE, POSITIVE, ZERO
from theory.symbolic.space import Literal
from theory.symbolic.unknown import Unknown

Point = tuple[Fraction, Fraction]  # p(0) and p(1)
Row = tuple[Fraction, ...]
CORNERS: tuple[Point, ...] = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)), (Fraction(0), Fraction(0)))
LONG = 50  # letters of a mass
SIMPLEST = 24  # the largest denominator of a point that stands for its cell


class Example(NamedTuple):
    """A target row of a cell, and what the rule emits there."""

    row: Row
    law: Row


class Region(NamedTuple):
    """A cell that has an area."""

    corners: tuple[Point, ...]  # of the polygon, as p(0), p(1), in order
    where: str  # the comparisons that make it, for people
    law: tuple[str, ...]  # what the rule emits, a function of the row for each token, for people
    acceptance: str  # how often a draft is accepted
    lossless: bool  # whether the law is the target's row everywhere in the cell
    example: Example  # the simplest row inside


def cut(rule: Rule, draft: Sequence[Fraction]) -> list[Region]:
    """The cells of the triangle for one rule and one draft row; lines and points between them are left out.

    ``rule``: any rule that does exact arithmetic, and compares nothing but linear functions of the row. ``draft``: the
    row q over three tokens. Returns cells from the corner of token 2 down, and from token 0 to 1; together they are the
    triangle. Raises ``ValueError`` if a border is no straight line.
    """
    cells = Cells(["p0", "p1"])
    first, second = cells.variables()
    p = np.array([first, second, 1 - first - second], dtype=object)
    q = np.array(list(draft), dtype=object)
    for mass in p:
        cells.assume(mass, POSITIVE | ZERO)

    def program() -> tuple[list[Any], Any, bool]:
        step = rule.step_rows(p[None], q[None])
        with cells.stating():
            right = all(mass == wanted for mass, wanted in zip(step.law[0], p, strict=True))
        return list(step.law[0]), step.acceptance[0], right

    found = []
    for cell in cells.explore(program):
        corners = CORNERS
        for literal in cell.literals:
            if not cells.is_linear(literal):
                raise ValueError(f"a border is where {cells.told(literal)}; expected a straight line")
            corners = _clipped(cells, corners, literal)
        if len(corners) > 2:
            law, acceptance, lossless = cell.result
            example = _simplest(cells, cell.literals, rule, q)
            told = _told_law(cells, law, p)
            found.append(
                Region(corners, _where(cells, cell.literals), told, _formula(cells, acceptance), lossless, example)
            )
    return sorted(found, key=lambda region: _middle(region.corners), reverse=True)


def _middle(corners: Sequence[Point]) -> tuple[Fraction, Fraction]:
    """How much of token 2, then of token 0, the corners have in the mean."""
    return sum((1 - one - two for one, two in corners), Fraction(0)) / len(corners), sum(
        (one for one, _ in corners), Fraction(0)
    ) / len(corners)


def _value(cells: Cells, literal: Literal, point: Point) -> Fraction:
    return Unknown(cells, cells.polynomials[literal.atom]).at(_flint(point))


def _flint(point: Point) -> list[Any]:
    from flint import fmpq

    return [fmpq(value.numerator, value.denominator) for value in point]


def _clipped(cells: Cells, corners: tuple[Point, ...], literal: Literal) -> tuple[Point, ...]:
    """The part of a convex polygon where a linear function has some signs; nothing where that is a line at most."""
    if literal.signs == ZERO:
        return ()
    if literal.signs & NEGATIVE and literal.signs & POSITIVE:  # all but a line
        return corners
    side = -1 if literal.signs & NEGATIVE else 1
    values = [side * _value(cells, literal, corner) for corner in corners]
    kept: list[Point] = []
    for k, (corner, value) in enumerate(zip(corners, values, strict=True)):
        after, beyond = corners[(k + 1) % len(corners)], values[(k + 1) % len(corners)]
        if value >= 0:
            kept.append(corner)
        if value * beyond < 0:
            share = value / (value - beyond)
            kept.append((corner[0] + share * (after[0] - corner[0]), corner[1] + share * (after[1] - corner[1])))
    return tuple(kept) if max(values, default=Fraction(0)) > 0 else ()


def _simplest(cells: Cells, literals: Sequence[Literal], rule: Rule, q: np.ndarray) -> Example:
    """The row with the smallest denominator inside a cell, without zeros, and the law there in fractions."""
    for size in range(3, SIMPLEST + 1):
        for one, two in product(range(1, size), repeat=2):
            point = Fraction(one, size), Fraction(two, size)
            row = (*point, 1 - point[0] - point[1])
            if row[2] > 0 and all(cells.has(each, _flint(point)) and _value(cells, each, point) for each in literals):
                law = rule.step_rows(np.array([row], dtype=object), q[None]).law[0]
                return Example(row, tuple(map(Fraction, law)))
    raise ValueError(f"a cell has no row with a denominator up to {SIMPLEST}")


# For people --------------------------------------------------------------------------------------------------------


def _where(cells: Cells, literals: Sequence[Literal]) -> str:
    """The strictest of what is known of each comparison."""
    known: dict[int, int] = {}
    for literal in literals:
        known[literal.atom] = known.get(literal.atom, literal.signs) & literal.signs
    return ", ".join(cells.told(Literal(atom, signs)) for atom, signs in known.items())


def _told_law(cells: Cells, law: Sequence[Any], p: np.ndarray) -> tuple[str, ...]:
    """The law, a mass by how far it is from p where that is shorter; one that is long is what others leave."""
    told = []
    for x, (mass, wanted) in enumerate(zip(law, p, strict=True)):
        off = cells.number(mass) - wanted
        beside = f"p{x} + {_formula(cells, off)}" if not _formula(cells, off).startswith("-") else ""
        beside = beside or f"p{x} - {_formula(cells, -off)}"
        told.append(min(_formula(cells, mass), beside, key=len))
    longest = max(range(len(told)), key=lambda x: len(told[x]))
    if len(told[longest]) > LONG:
        told[longest] = "the rest"
    return tuple(told)


def _formula(cells: Cells, value: Any) -> str:
    """A function of the row, in as few terms as ``p0 + p1 + p2 = 1`` allows; a quotient by its factors."""
    number = cells.number(value)
    if number.den is None and number.num.total_degree() <= 1:
        return _linear(number)
    above, below = number.num.factor(), (number.den.factor() if number.den is not None else (1, []))
    constant = Fraction(str(above[0])) / Fraction(str(below[0]))
    parts = "".join(_power(each) for each in above[1])
    above_text = f"{constant.numerator} {parts}".removeprefix("1 ").replace("-1 ", "-")
    below_text = f"{constant.denominator} ".removeprefix("1 ") + "".join(_power(each) for each in below[1])
    return f"{above_text} / {below_text.strip()}" if below_text.strip() else above_text


def _power(factor: tuple[Any, int]) -> str:
    text = str(factor[0]).replace("*", " ")
    return f"({text})" + (f"^{factor[1]}" if factor[1] > 1 else "")


def _linear(number: Unknown) -> str:
    constant = number.at(_flint((Fraction(0), Fraction(0))))
    slopes = [number.at(_flint(corner)) - constant for corner in CORNERS[:2]]
    weights = [*slopes, Fraction(0)]
    ways = [(constant + shift, *(weight - shift for weight in weights)) for shift in {-constant, *weights, Fraction(0)}]
    best = min(ways, key=lambda way: (sum(map(bool, way)), sum(part < 0 for part in way), bool(way[-1]), way))
    terms = [(part, name) for part, name in zip((*best[1:], best[0]), ("p0", "p1", "p2", ""), strict=True) if part]
    text = ""
    for part, name in sorted(terms, key=lambda term: term[0] < 0):
        size = "" if abs(part) == 1 and name else f"{abs(part)}"
        sign = ("-" if part < 0 else "") if not text else (" - " if part < 0 else " + ")
        text += sign + " ".join(filter(None, (size, name)))
    return text or "0"
