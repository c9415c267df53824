"""Everything that a proof asked a solver, as SMT-LIB 2: for other solvers to check, without this project.

A file is a list of questions, each of which has to be answered with ``unsat``:

*contradiction*
    signs that cannot be true together. Every branch that was left out is one, and every inequality of a statement; of
    linear literals only those are kept that contradict each other.
*equality*
    two numbers are equal that the statement wants equal in a cell: each as the program made it there, over everything
    that it divided by. That none of this is 0 there is among the contradictions.
*sum*
    probabilities add up to what the proof says they do, over their least common denominator, everywhere or up to a
    multiple of a polynomial that is 0 where the sum is looked at.

What the files do not show is how the questions make a proof: that all branches are visited
(:func:`theory.symbolic.cells.check_cover`), and which sums are those of one outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from flint import fmpq, fmpq_mpoly

from theory.symbolic.cells import Cells, Identity, Lemma
from theory.symbolic.signs import RELATIONS
from theory.symbolic.space import Literal

CHECKER = Path(__file__).with_name("check.py")

__all__ = ["CHECKER", "questions", "written"]


def written(spaces: Iterable[Cells], title: str) -> Iterator[str]:
    """The files of a proof, one for each space.

    Parameters
    ----------
    spaces
        Spaces that were explored to their end.
    title
        What is proven, in words.

    Yields
    ------
    str
        The text of a file.
    """
    for cells in spaces:
        lines = [f"; {title}", f"; {cells.visited} cells", "(set-logic QF_NRA)"]
        lines += [f"(declare-const {name} Real)" for name in cells.names]
        for k, (kind, assertions) in enumerate(questions(cells)):
            lines += [f"; question {k + 1}: {kind}", "(push 1)", *(f"(assert {each})" for each in assertions)]
            lines += ["(check-sat)", "(pop 1)"]
        yield "\n".join([*lines, "(exit)", ""])


def questions(cells: Cells) -> Iterator[tuple[str, list[str]]]:
    """Of each question its kind, and what cannot be true together."""
    assumed = {literal.atom: literal for literal in cells.assumed}
    for literals in cells.refuted:
        everything = [*(each for each in assumed.values()), *literals]
        yield "contradiction", [_literal(cells, each) for each in everything]
    for identity in _once(cells.identities):
        yield "equality", [_unequal(identity)]
    for lemma in cells.lemmas:
        if wrong := _sum(cells, lemma):
            yield "sum", [wrong]


def _once(identities: Iterable[Identity]) -> Iterator[Identity]:
    """Identities between numbers that the program made; a number that is equal to itself is none."""
    for identity in identities:
        if identity.one.term is not None and identity.one is not identity.other:
            yield identity


def _literal(cells: Cells, literal: Literal) -> str:
    relation, term = RELATIONS[literal.signs], _polynomial(cells, cells.polynomials[literal.atom])
    return f"(not (= {term} 0))" if relation == "!=" else f"({relation} {term} 0)"


def _unequal(identity: Identity) -> str:
    """That two numbers differ, each over the denominators that the program divided by; parts used twice have a name."""
    parts: dict[int, tuple[str, str]] = {}  # of each number its numerator and denominator
    lets: list[tuple[str, str]] = []

    def named(term: str) -> str:
        if not term.startswith("("):
            return term
        lets.append((f"t{len(lets)}", term))
        return lets[-1][0]

    waiting = [identity.one, identity.other]
    while waiting:
        number = waiting[-1]
        if id(number) in parts:
            waiting.pop()
        elif number.term is None:
            den = "1" if number.den is None else _polynomial(number.cells, number.den)
            parts[id(number)] = _polynomial(number.cells, number.num), den
        elif missing := [each for each in number.term[1:] if id(each) not in parts]:
            waiting += missing
        else:
            operation, one, other = number.term
            found = _FRACTIONS[operation](parts[id(one)], parts[id(other)])
            parts[id(number)] = named(found[0]), named(found[1])
    (num, den), (other_num, other_den) = parts[id(identity.one)], parts[id(identity.other)]
    text = f"(not (= {_times(num, other_den)} {_times(other_num, den)}))"
    for name, term in reversed(lets):
        text = f"(let (({name} {term})) {text})"
    return text


Fraction = tuple[str, str]  # the terms of a numerator and a denominator


def _times(*factors: str) -> str:
    factors = tuple(each for each in factors if each != "1")
    return "1" if not factors else factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})"


def _plus(one: Fraction, other: Fraction) -> Fraction:
    if one[1] == other[1]:
        return f"(+ {one[0]} {other[0]})", one[1]
    return f"(+ {_times(one[0], other[1])} {_times(other[0], one[1])})", _times(one[1], other[1])


_FRACTIONS = {
    "+": _plus,
    "*": lambda one, other: (_times(one[0], other[0]), _times(one[1], other[1])),
    "/": lambda one, other: (_times(one[0], other[1]), _times(one[1], other[0])),
}


def _sum(cells: Cells, lemma: Lemma) -> str | None:
    """That parts do not add up to a whole over their least common denominator: each part is over it, and what the
    numerators leave is a multiple of the polynomial that is 0. None where the whole is its only part."""
    parts = [(part.num, cells.constant(1) if part.den is None else part.den) for part in (*lemma.parts, -lemma.whole)]
    zero = cells.constant(0) if lemma.zero is None else cells.polynomials[lemma.zero]
    if len(parts) == 2 and lemma.parts[0].key == lemma.whole.key:
        return None
    common = cells.constant(1)
    for _, den in parts:
        common = common * den / common.gcd(den)
    over = [(num, den, common / den) for num, den in parts]
    left = sum((num * factor for num, _, factor in over), cells.constant(0))
    told = partial(_polynomial, cells)
    multiple = "0" if left.is_zero() else f"(* {told(left / zero)} {told(zero)})"
    wrong = [f"(not (= (+ {' '.join(_times(told(num), told(factor)) for num, _, factor in over)}) {multiple}))"]
    wrong += [f"(not (= {_times(told(den), told(factor))} common))" for _, den, factor in over if not den.is_one()]
    return f"(let ((common {told(common)})) (or false {' '.join(dict.fromkeys(wrong))}))"


def _polynomial(cells: Cells, polynomial: fmpq_mpoly) -> str:
    terms = []
    for powers, coefficient in polynomial.terms():
        factors = [name for name, power in zip(cells.names, powers, strict=True) for _ in range(int(power))]
        if coefficient != 1 or not factors:
            factors.insert(0, _constant(coefficient))
        terms.append(factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})")
    if not terms:
        return "0"
    return terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"


def _constant(value: fmpq) -> str:
    whole = f"{abs(int(value.p))}.0"
    text = whole if value.q == 1 else f"(/ {whole} {int(value.q)}.0)"
    return f"(- {text})" if value < 0 else text
