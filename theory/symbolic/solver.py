"""What z3 is asked: whether signs of polynomials are possible together.

One linear solver knows each literal by a name, and is asked about sets of names; where they contradict each other it
says which of them do, and the same contradiction is not asked for twice. What is not linear is asked anew each time,
and only where the linear part does not decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import z3
from flint import fmpq, fmpq_mpoly

from theory.symbolic.signs import NEGATIVE, POSITIVE, ZERO
from theory.symbolic.space import Literal, Point, Space

__all__ = ["Answer", "Solver"]


class Answer(NamedTuple):
    """Whether something is possible; None where the solver could not tell in time."""

    possible: bool | None
    point: Point | None = None  # where it is so, if it is rational
    contradiction: frozenset[Literal] = frozenset()  # the literals that cannot be true together


class Solver:
    """Signs of the polynomials of a space; ``timeout`` is in milliseconds, for one question."""

    def __init__(self, space: Space, timeout: int) -> None:
        self.space, self.timeout = space, timeout
        self.context = z3.Context()
        self.variables = [z3.Real(name, self.context) for name in space.names]
        self._linear = z3.SolverFor("QF_LRA", ctx=self.context)
        self._linear.set("timeout", timeout)
        self._formulas: dict[Literal, z3.BoolRef] = {}
        self._names: dict[Literal, z3.BoolRef] = {}
        self._named: dict[str, Literal] = {}
        self._assumed: list[Literal] = []
        self._contradictions: defaultdict[Literal, list[frozenset[Literal]]] = defaultdict(list)

    def assume(self, literal: Literal) -> None:
        """Of everything that is asked from now on."""
        self._assumed.append(literal)
        if self.space.is_linear(literal):
            self._linear.add(self._formula(literal))

    def ask(self, path: Sequence[Literal], literal: Literal) -> Answer:
        """Whether some point has all these signs."""
        everything = {*path, literal}
        for known in self._contradictions[literal]:
            if known <= everything:
                return Answer(False, None, known)
        names = [self._name(each) for each in everything if self.space.is_linear(each)]
        answer = self._linear.check(*names)
        if answer == z3.unsat:
            return self._contradicted(frozenset(self._named[str(name)] for name in self._linear.unsat_core()))
        point = self._point(self._linear.model()) if answer == z3.sat else None
        curved = [each for each in (*self._assumed, *everything) if not self.space.is_linear(each)]
        if point is not None and all(self.space.has(each, point) for each in curved):
            return Answer(True, point)
        return self.ask_anew((*path, literal), self.timeout) if curved else Answer(None)

    def _contradicted(self, literals: frozenset[Literal]) -> Answer:
        for literal in literals:
            self._contradictions[literal].append(literals)
        return Answer(False, None, literals)

    def _name(self, literal: Literal) -> z3.BoolRef:
        if literal not in self._names:
            name = z3.Bool(f"l{len(self._names)}", self.context)
            self._names[literal], self._named[str(name)] = name, literal
            self._linear.add(z3.Implies(name, self._formula(literal)))
        return self._names[literal]

    def ask_anew(self, literals: Sequence[Literal], timeout: int) -> Answer:
        """The same of any literals, in ``timeout`` milliseconds."""
        solver = z3.SolverFor("QF_NRA", ctx=self.context)
        solver.set("timeout", timeout)
        solver.add(*(self._formula(each) for each in (*self._assumed, *literals)))
        answer = solver.check()
        if answer == z3.sat:
            return Answer(True, self._point(solver.model()))
        return self._contradicted(frozenset(literals)) if answer == z3.unsat else Answer(None)

    def _formula(self, literal: Literal) -> z3.BoolRef:
        if literal not in self._formulas:
            term = self._term(self.space.polynomials[literal.atom])
            self._formulas[literal] = {
                NEGATIVE: term < 0,
                ZERO: term == 0,
                POSITIVE: term > 0,
                NEGATIVE | ZERO: term <= 0,
                ZERO | POSITIVE: term >= 0,
                NEGATIVE | POSITIVE: term != 0,
            }[literal.signs]
        return self._formulas[literal]

    def _term(self, polynomial: fmpq_mpoly) -> z3.ArithRef:
        parts = []
        for powers, coefficient in polynomial.terms():
            part: z3.ArithRef = z3.RealVal(str(coefficient), self.context)
            for variable, power in zip(self.variables, powers, strict=True):
                for _ in range(int(power)):
                    part = part * variable
            parts.append(part)
        return z3.Sum(parts)

    def _point(self, model: z3.ModelRef) -> Point | None:
        values = [model.eval(variable, model_completion=True) for variable in self.variables]
        if not all(z3.is_rational_value(value) for value in values):
            return None
        return [fmpq(value.numerator_as_long(), value.denominator_as_long()) for value in values]
