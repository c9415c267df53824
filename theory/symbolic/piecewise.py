"""Sums of rational functions, each of which counts in a part of the space only.

The probability that a program emits something is such a sum: over the outcomes of its coins, and over the cells that
its comparisons make. Most of the comparisons do not matter to the sum, as in min(p, q) + [p - q]+ = p: a polynomial's
sign does not matter where the sum is the same function for each of its signs. So signs are taken away one after the
other, and what is left depends on no cell at all where the program is lossless. Only functions that are the same are
called the same, and the solver says which signs are impossible together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from theory.symbolic.cells import Cell, Cells
from theory.symbolic.signs import ANY, POSITIVE, ZERO, negated
from theory.symbolic.space import Literal, Solution
from theory.symbolic.unknown import Unknown

Where = frozenset[Literal]  # signs of polynomials, which are all to be had; empty: everywhere
Terms = Mapping[Where, Unknown]

__all__ = ["Terms", "Where", "added", "simplified", "value_of", "vanishes", "without_edges"]


def added(parts: Iterable[tuple[Where, Any]], cells: Cells) -> Terms:
    """The sum of ``parts``: functions that count in the same part of the space are added up."""
    groups: defaultdict[Where, list[Unknown]] = defaultdict(list)
    for where, value in parts:
        groups[where].append(cells.number(value))
    found = {}
    for where, values in groups.items():
        whole = sum(values[1:], values[0])
        if len(values) > 1:
            cells.lemma(values, whole)
        if not whole.num.is_zero():
            found[where] = whole
    return found


def without_edges(parts: Iterable[tuple[Where, Any]], cells: Cells) -> Iterator[tuple[Where, Any]]:
    """``parts`` without the signs that only leave out where a function is 0 anyway, or where others are not true.

    For x, y >= 0, [x > 0] x is x, and [x > 0] [x > y] is [x > y].
    """
    for where, value in parts:
        for literal in sorted(where):
            if _is_edge(literal, where - {literal}, cells.number(value), cells):
                where = where - {literal}
        yield where, value


def _is_edge(literal: Literal, others: Where, value: Unknown, cells: Cells) -> bool:
    if cells.may_be(literal.atom) & ~literal.signs != ZERO:
        return False
    polynomial, edge = cells.polynomials[literal.atom], (*sorted(others), Literal(literal.atom, ZERO))
    vanishes_there = value.num.gcd(polynomial) == polynomial and cells.never_zero(value.den, edge)
    return vanishes_there or not cells.possible(edge)


def simplified(terms: Terms, cells: Cells, given: tuple[Literal, ...] = ()) -> Terms:
    """The same sum without the signs that do not matter.

    Parameters
    ----------
    terms
        What counts where.
    cells
        The space.
    given
        Where the sum is looked at: what is impossible there does not matter.

    Returns
    -------
    Terms
        The same function there; with a single entry, for everywhere, or none, 0, if it is one rational function.
    """
    parts: list[tuple[Where, Any]] = []
    for component in _components(terms):
        parts += _simplified(component, cells, given).items()
    return added(parts, cells)


def _simplified(terms: Terms, cells: Cells, given: tuple[Literal, ...]) -> Terms:
    """The same of terms that hang together."""
    atoms: defaultdict[int, int] = defaultdict(int)
    for where in terms:
        for literal in where:
            atoms[literal.atom] += 1
    if not atoms:
        return terms
    atom = max(atoms, key=lambda each: (atoms[each], -each))
    found = {}
    for signs in _classes(atom, terms):
        here = *given, Literal(atom, signs)
        if not cells.possible(here):
            continue
        inside = added(
            (
                (frozenset(each for each in where if each.atom != atom), value)
                for where, value in terms.items()
                if all(each.signs & signs for each in where if each.atom == atom)
            ),
            cells,
        )
        found[signs] = simplified(_at_zero(inside, cells, here) if signs == ZERO else inside, cells, here)
    if len(found) <= 1:
        return next(iter(found.values()), {})
    one, *others = [part for signs, part in found.items() if signs != ZERO]
    if all(_same(one, other) for other in others) and _reaches(one, atom, found.get(ZERO, one), cells, given):
        return one
    return {where | {Literal(atom, signs)}: value for signs, part in found.items() for where, value in part.items()}


def _same(one: Terms, other: Terms) -> bool:
    return one.keys() == other.keys() and all(value.key == other[where].key for where, value in one.items())


def _reaches(one: Terms, atom: int, other: Terms, cells: Cells, given: tuple[Literal, ...]) -> bool:
    """Whether a sum is the same as another wherever a polynomial is 0 as well."""
    here = *given, Literal(atom, ZERO)
    if _same(one, other):
        return True
    if not all(cells.never_zero(value.den, here) for value in one.values()):
        return False
    return _same(simplified(_at_zero(one, cells, here), cells, here), other)


def _at_zero(terms: Terms, cells: Cells, given: tuple[Literal, ...]) -> Terms:
    """The same where the last of ``given``, a polynomial, is 0, which says one of its variables."""
    solution = cells.solution(given[-1].atom)
    if solution is None:
        return terms
    parts: list[tuple[Where, Any]] = []
    for where, value in terms.items():
        literals, changed = _solved(where, solution, cells), cells.solved(value, solution)
        # a number is nowhere divided by 0 where it counts, so one that would be does not count here
        if literals is not None and changed is not None:
            cells.lemma([value], changed, given[-1].atom)
            parts.append((frozenset(literals), changed))
    return added(parts, cells)


def _solved(where: Where, solution: Solution, cells: Cells) -> list[Literal] | None:
    """Literals with a variable that is said by others; None where they contradict each other."""
    known: dict[int, int] = {}
    for literal in where:
        sign, factors = cells.solved_sign(literal.atom, solution)
        if not factors:
            if not sign & literal.signs:
                return None
            continue
        (atom, odd), *others = factors
        if others or not odd:
            atom, signs = literal
        else:
            signs = literal.signs if sign == POSITIVE else negated(literal.signs)
        known[atom] = known.get(atom, ANY) & signs
        if not known[atom]:
            return None
    return [Literal(atom, signs) for atom, signs in known.items() if signs != ANY]


def _classes(atom: int, terms: Terms) -> list[int]:
    """Disjoint sets of signs of one polynomial that no term tells apart further."""
    classes = [ANY]
    for signs in {literal.signs for where in terms for literal in where if literal.atom == atom}:
        classes = [part for each in classes for part in (each & signs, each & ~signs) if part]
    return classes


def _components(terms: Terms) -> list[Terms]:
    """Terms by the polynomials they have in common, those of none by themselves."""
    groups: list[tuple[set[int], dict[Where, Unknown]]] = []
    for where, value in terms.items():
        atoms, members = {literal.atom for literal in where}, {where: value}
        apart = []
        for group in groups:
            if group[0] & atoms:
                atoms |= group[0]
                members |= group[1]
            else:
                apart.append(group)
        groups = [*apart, (atoms, members)]
    return [members for _, members in groups]


def value_of(terms: Terms, cells: Cells) -> Unknown:
    """A sum in the cell that is explored, whose signs are decided one by one."""
    ordered = sorted(terms.items(), key=lambda each: sorted(each[0]))
    parts = [value for where, value in ordered if all(cells.decide(literal) for literal in sorted(where))]
    whole = sum(parts, cells.number(0))
    found = Unknown(cells, whole.num, whole.den)  # without how it was made, which the lemma says
    if parts:
        cells.lemma(parts, found)
    return found


def vanishes(terms: Terms, cells: Cells) -> Cell[bool] | None:
    """A cell in which a sum is not 0; None if it is 0 everywhere.

    Raises
    ------
    Limit
        If there are too many cells, or it takes too long.
    """
    left = simplified(terms, cells)
    if not left:
        return None

    def is_zero() -> bool:
        with cells.stating():
            return value_of(left, cells) == 0

    return next((cell for cell in cells.explore(is_zero) if not cell.result), None)
