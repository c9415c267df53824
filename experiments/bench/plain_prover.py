"""The plainest way to prove something for all rows: what :mod:`theory.symbolic` is measured against.

A number is a term of z3. Where two are compared a fresh solver is asked which way it can go, and the program is run
again for every way; the statement is one question a way. No polynomials are compared, nothing is kept from one way to
the next, and a program with coins is followed whole.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import process_time
from typing import Any

import z3

Path = list[list[bool]]  # of each comparison which way, and whether the other is possible too


class PlainProver:
    """Visits every way through a program."""

    def __init__(self, assumed: list[Any]) -> None:
        self.assumed, self.trace, self.given, self.at = assumed, list[list[bool]](), 0, 0
        self.solver = z3.Solver()

    def decide(self, condition: Any) -> bool:
        """Which way a comparison goes on this way."""
        condition = z3.simplify(condition)
        if z3.is_true(condition) or z3.is_false(condition):
            return bool(z3.is_true(condition))
        if self.at == len(self.trace):
            yes = self.solver.check(condition) != z3.unsat
            no = self.solver.check(z3.Not(condition)) != z3.unsat
            self.trace.append([yes, yes and no])
        value = self.trace[self.at][0]
        self.at += 1
        self.solver.add(condition if value else z3.Not(condition))
        return value

    def proves(self, program: Callable[[], Any], seconds: float) -> bool:
        """Whether the formula that ``program`` returns is true on every way, as far as it comes in ``seconds``."""
        waiting, end = [list[bool]()], process_time() + seconds
        while waiting and process_time() < end:
            given = waiting.pop()
            self.solver = z3.Solver()
            self.solver.add(*self.assumed)
            self.trace, self.given, self.at = [[value, False] for value in given], len(given), 0
            claim = program()
            for k in range(len(given), len(self.trace)):
                if self.trace[k][1]:
                    waiting.append([value for value, _ in self.trace[:k]] + [not self.trace[k][0]])
            last = z3.Solver()  # one that has kept nothing: for what is not linear it takes another way
            last.add(*self.solver.assertions(), z3.Not(claim))
            if last.check() != z3.unsat:
                return False
        return True


class Term:
    """A number that is not known, as a term of z3."""

    exact = True

    def __init__(self, prover: PlainProver, term: Any) -> None:
        self.prover, self.term = prover, term

    @property
    def key(self) -> str:
        """What is the same of two terms that look the same."""
        return str(self.term)

    def _made(self, other: Any, operation: Callable[[Any, Any], Any]) -> Term:
        return Term(self.prover, operation(self.term, lifted(other)))

    def __add__(self, other: Any) -> Term:
        return self._made(other, lambda one, two: one + two)

    def __sub__(self, other: Any) -> Term:
        return self._made(other, lambda one, two: one - two)

    def __rsub__(self, other: Any) -> Term:
        return self._made(other, lambda one, two: two - one)

    def __mul__(self, other: Any) -> Term:
        return self._made(other, lambda one, two: one * two)

    def __truediv__(self, other: Any) -> Term:
        return self._made(other, lambda one, two: one / two)

    def __rtruediv__(self, other: Any) -> Term:
        return self._made(other, lambda one, two: two / one)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> bool:
        return self.prover.decide(self.term < lifted(other))

    def __le__(self, other: Any) -> bool:
        return self.prover.decide(self.term <= lifted(other))

    def __gt__(self, other: Any) -> bool:
        return self.prover.decide(self.term > lifted(other))

    def __ge__(self, other: Any) -> bool:
        return self.prover.decide(self.term >= lifted(other))

    def __eq__(self, other: object) -> bool:
        return self.prover.decide(self.term == lifted(other))

    def __ne__(self, other: object) -> bool:
        return self.prover.decide(self.term != lifted(other))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self.prover.decide(self.term != 0)


def lifted(value: Any) -> Any:
    """A number as z3 writes it."""
    return value.term if isinstance(value, Term) else z3.RealVal(str(Fraction(value)))
