"""A space of numbers that are not known: its variables, and the polynomials that programs ask the sign of.

Polynomials that differ by a constant factor are one, an *atom*, by its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from theory.symbolic.signs import POSITIVE, RELATIONS, ZERO, negated, sign_of, times
from theory.symbolic.unknown import Refused, Unknown, reduced

Point = list[fmpq]  # a value for each variable

__all__ = ["Literal", "Point", "Product", "Solution", "Space"]


class Literal(NamedTuple):
    """A polynomial has one of some signs."""

    atom: int
    signs: int


class Product(NamedTuple):
    """A rational function by the signs it is made of."""

    sign: int  # of its constant
    factors: tuple[tuple[int, bool], ...]  # atoms, each with whether its power is odd


class Solution(NamedTuple):
    """A variable as a quotient of polynomials in the others: what a polynomial says where it is 0."""

    variable: int
    num: fmpq_mpoly
    den: fmpq_mpoly  # positive everywhere

    def put_into(self, polynomial: fmpq_mpoly) -> tuple[fmpq_mpoly, fmpq_mpoly]:
        """A polynomial with the quotient for the variable: two polynomials whose quotient that is."""
        by_power: dict[int, dict[tuple[int, ...], fmpq]] = {}
        for powers, coefficient in polynomial.terms():
            rest = tuple(0 if k == self.variable else int(power) for k, power in enumerate(powers))
            by_power.setdefault(int(powers[self.variable]), {})[rest] = coefficient
        degree, ring = max(by_power, default=0), polynomial.context()
        found = ring.constant(0)
        for power, terms in by_power.items():
            found = found + ring.from_dict(terms) * self.num**power * self.den ** (degree - power)
        return found, self.den**degree


class Space:
    """Rational functions of variables ``names``."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.ring = fmpq_mpoly_ctx.get(list(names), Ordering.degrevlex)
        self.polynomials: list[fmpq_mpoly] = []  # by their numbers
        self._numbers: dict[str, int] = {}
        self._constants: dict[Any, fmpq_mpoly] = {}
        self._products: dict[tuple[str, ...], Product] = {}

    def constant(self, value: Any) -> fmpq_mpoly:
        """A polynomial that is a rational number."""
        if value not in self._constants:
            if isinstance(value, float | np.floating) and not float(value).is_integer():
                raise Refused(f"it mixes {value!r}, a float, with exact numbers; write a Fraction")
            exact = Fraction(value) if isinstance(value, Rational) else Fraction(int(value))
            self._constants[value] = self.ring.constant(fmpq(exact.numerator, exact.denominator))
        return self._constants[value]

    def atom(self, polynomial: fmpq_mpoly) -> tuple[int, bool]:
        """The number of a polynomial, and whether the constant that it differs by is negative."""
        lead = polynomial.leading_coefficient()
        monic = polynomial if lead == 1 else polynomial / lead
        key = str(monic)
        if key not in self._numbers:
            self._numbers[key] = len(self.polynomials)
            self.polynomials.append(monic)
        return self._numbers[key], lead < 0

    def literal(self, polynomial: fmpq_mpoly, signs: int) -> Literal:
        """That a polynomial has one of ``signs``."""
        atom, negative = self.atom(polynomial)
        return Literal(atom, negated(signs) if negative else signs)

    def product(self, number: Unknown) -> Product:
        """A number, taken apart."""
        if number.key not in self._products:
            self._products[number.key] = self._taken_apart(number.num, number.den)
        return self._products[number.key]

    def factors(self, polynomial: fmpq_mpoly) -> Product:
        """A polynomial, taken apart."""
        key = (str(polynomial),)
        if key not in self._products:
            self._products[key] = self._taken_apart(polynomial, None)
        return self._products[key]

    def _taken_apart(self, num: fmpq_mpoly, den: fmpq_mpoly | None) -> Product:
        sign, odd = POSITIVE, dict[int, bool]()
        for part in (num, den):
            if part is None:
                continue
            if part.is_zero():
                return Product(ZERO, ())
            constant, factors = part.factor() if part.total_degree() > 1 else (fmpq(1), [(part, 1)])
            sign = times(sign, sign_of(constant))
            for factor, power in factors:
                if factor.is_constant():
                    sign = times(sign, sign_of(factor.leading_coefficient()))
                    continue
                atom, negative = self.atom(factor)
                sign = negated(sign) if negative and power % 2 else sign
                odd[atom] = odd.get(atom, False) ^ bool(power % 2)
        return Product(sign, tuple(odd.items()))

    def solved(self, number: Unknown, solution: Solution) -> Unknown | None:
        """A number with a variable that is said by others; None where its denominator becomes 0."""
        num, more = solution.put_into(number.num)
        if number.den is None:
            return reduced(number.cells, num, more)
        den, less = solution.put_into(number.den)
        return None if den.is_zero() else reduced(number.cells, num * less, den * more)

    def is_linear(self, literal: Literal) -> bool:
        """Whether a literal is about a polynomial of degree 1."""
        return self.polynomials[literal.atom].total_degree() <= 1

    def has(self, literal: Literal, point: Point) -> bool:
        """Whether a literal is true at a point."""
        return bool(literal.signs & sign_of(self.polynomials[literal.atom](*point)))

    def told(self, literal: Literal) -> str:
        """A literal for people."""
        return f"{self.polynomials[literal.atom]} {RELATIONS[literal.signs]} 0"
