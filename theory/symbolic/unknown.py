"""Numbers that are not known: rational functions of variables, to stand in exact arrays where a ``Fraction`` would.

Arithmetic builds the function; whoever compares two numbers, or divides by one, has the :class:`~.cells.Cells` that is
being explored decide which way it goes, and goes on in the part of the space where it does. So a program of this house
runs on them as it is. A float never enters: whatever asks for one is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from numbers import Rational
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq, fmpq_mpoly

from theory.symbolic.signs import NEGATIVE, POSITIVE, ZERO

if TYPE_CHECKING:
    from theory.symbolic.cells import Cells

Term = tuple[str, "Unknown", "Unknown"]

__all__ = ["Refused", "Unknown", "reduced"]


class Refused(Exception):
    """What a program asked of an unknown number that no unknown number can answer."""


class Unknown:
    """A rational function ``num / den`` of the variables of a space.

    Parameters
    ----------
    cells
        What decides comparisons.
    num, den
        Polynomials; ``den`` is None where it is 1, and elsewhere has no factor in common with ``num`` and a first
        coefficient of 1. It is nowhere 0 in the cell where the number was made.
    term
        How the program made it: an operation and two numbers.
    """

    exact = True  # no approximation, though it is no Fraction
    __slots__ = ("_key", "cells", "den", "num", "term")

    def __init__(self, cells: Cells, num: fmpq_mpoly, den: fmpq_mpoly | None = None, term: Term | None = None) -> None:
        self.cells, self.num, self.den, self.term = cells, num, den, term
        self._key: tuple[str, ...] | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What is the same of two numbers just where they are the same function."""
        if self._key is None:  # terms are in one order; hashing them one by one takes ten times as long
            self._key = (str(self.num),) if self.den is None else (str(self.num), str(self.den))
        return self._key

    def _lifted(self, other: Any) -> Unknown | None:
        if isinstance(other, Unknown):
            return other
        if isinstance(other, Rational | np.integer | np.bool):
            return Unknown(self.cells, self.cells.constant(other))
        if isinstance(other, float | np.floating) and float(other).is_integer():  # a written 1.0 says what it means
            return Unknown(self.cells, self.cells.constant(int(other)))
        if isinstance(other, float | np.floating):
            raise self.cells.stopped(Refused(f"it mixes {other!r}, a float, with exact numbers; write a Fraction"))
        return None

    def __add__(self, other: Any) -> Any:
        if (other := self._lifted(other)) is None:
            return NotImplemented
        term = "+", self, other
        one, two = self.den, other.den
        if one is None:
            return Unknown(self.cells, (self.num if two is None else self.num * two) + other.num, two, term)
        if two is None:  # no factor in common, still
            return Unknown(self.cells, self.num + other.num * one, one, term)
        if one == two:
            return reduced(self.cells, self.num + other.num, one, term)
        return reduced(self.cells, self.num * two + other.num * one, one * two, term)

    __radd__ = __add__

    def __neg__(self) -> Unknown:
        return Unknown(self.cells, -self.num, self.den, ("*", self, Unknown(self.cells, self.cells.constant(-1))))

    def __pos__(self) -> Unknown:
        return self

    def __sub__(self, other: Any) -> Any:
        if (other := self._lifted(other)) is None:
            return NotImplemented
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if (other := self._lifted(other)) is None:
            return NotImplemented
        term = "*", self, other
        if self.den is None and other.den is None:
            return Unknown(self.cells, self.num * other.num, None, term)
        dens = [den for den in (self.den, other.den) if den is not None]
        return reduced(self.cells, self.num * other.num, prod(dens[1:], start=dens[0]), term)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if (other := self._lifted(other)) is None:
            return NotImplemented
        if self.cells.holds(other, ZERO):
            raise ZeroDivisionError("division by 0")
        num = self.num if other.den is None else self.num * other.den
        den = other.num if self.den is None else self.den * other.num
        return reduced(self.cells, num, den, ("/", self, other))

    def __rtruediv__(self, other: Any) -> Any:
        if (other := self._lifted(other)) is None:
            return NotImplemented
        return other / self

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, int) or exponent < 0:
            told = f"it raises a number to the power {exponent!r}; only whole powers are rational"
            raise self.cells.stopped(Refused(told))
        return prod([self] * exponent, start=self.cells.number(1))

    def __abs__(self) -> Unknown:
        return -self if self.cells.holds(self, NEGATIVE) else self

    def _compares(self, other: Any, signs: int) -> Any:
        if (other := self._lifted(other)) is None:
            return NotImplemented
        return self.cells.holds(self - other, signs)

    def __lt__(self, other: Any) -> Any:
        return self._compares(other, NEGATIVE)

    def __le__(self, other: Any) -> Any:
        return self._compares(other, NEGATIVE | ZERO)

    def __gt__(self, other: Any) -> Any:
        return self._compares(other, POSITIVE)

    def __ge__(self, other: Any) -> Any:
        return self._compares(other, POSITIVE | ZERO)

    def __eq__(self, other: Any) -> Any:
        if (other := self._lifted(other)) is None:
            return NotImplemented
        return self.cells.same(self, other)

    def __ne__(self, other: Any) -> Any:
        return NotImplemented if (same := self.__eq__(other)) is NotImplemented else not same

    def __bool__(self) -> bool:
        return self.cells.holds(self, NEGATIVE | POSITIVE)

    # What is kept by value would be brought back in another cell. What is kept by the text of a number still is.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return str(self.num) if self.den is None else f"({self.num})/({self.den})"

    def at(self, point: list[fmpq]) -> Fraction:
        """The value where the variables have the values ``point``."""
        value = self.num(*point) if self.den is None else self.num(*point) / self.den(*point)
        return Fraction(int(value.p), int(value.q))


def _refusal(what: str) -> Callable[..., Any]:
    def refuse(self: Unknown, *args: Any, **options: Any) -> Any:
        told = f"it asks for {what}, which a number that is not known does not have"
        raise self.cells.stopped(Refused(told))

    return refuse


for _name, _what in {
    "__float__": "float() of a number",
    "__int__": "int() of a number",
    "__index__": "a number as an index",
    "__complex__": "complex() of a number",
    "__round__": "round() of a number",
    "__floor__": "the floor of a number",
    "__ceil__": "the ceiling of a number",
    "__trunc__": "a truncated number",
    "__mod__": "a remainder",
    "__rmod__": "a remainder",
    "__floordiv__": "a whole quotient",
    "__rfloordiv__": "a whole quotient",
    "__rpow__": "a power with an unknown exponent",
    "exp": "exponentials",
    "log": "logarithms",
    "log2": "logarithms",
    "log1p": "logarithms",
    "expm1": "exponentials",
    "sqrt": "square roots",
}.items():
    setattr(Unknown, _name, _refusal(_what))
for _name in ("numerator", "denominator", "as_integer_ratio", "is_integer", "hex", "real", "imag"):
    setattr(Unknown, _name, property(_refusal(f"the {_name} of a number")))


def reduced(cells: Cells, num: fmpq_mpoly, den: fmpq_mpoly, term: Term | None = None) -> Unknown:
    """``num / den`` in lowest terms; ``Unsound`` where ``term`` divides by what may be 0."""
    if term is not None and term[0] == "/":
        cells.check_divisor(term[2])
    if num.is_zero():
        return Unknown(cells, num, None, term)
    if not den.is_constant():
        common = num.gcd(den)
        if not common.is_constant():
            num, den = num / common, den / common
    lead = den.leading_coefficient()
    num = num if lead == 1 else num / lead
    if den.is_constant():
        return Unknown(cells, num, None, term)
    return Unknown(cells, num, den if lead == 1 else den / lead, term)
