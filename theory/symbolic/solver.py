"""What z3 is asked: whether signs of polynomials are possible together.

One linear solver knows each literal by a name, and is asked about sets of names; where they contradict each other it
says which of them do, and what implies that contradiction is not asked for again. To it a product of variables is a
variable of its own, of which it knows the sign, and what follows from an assumption that is multiplied by others. What
that does not decide is asked anew each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import z3
from flint import fmpq, fmpq_mpoly

from theory.symbolic.signs import ANY, NEGATIVE, POSITIVE, ZERO, of_powers, times
from theory.symbolic.space import Literal, Point, Space

FLAT = 4  # the highest degree that the linear solver hears of: products of more variables are many

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
        self._products: dict[tuple[int, ...], z3.ArithRef] = {}  # by their powers
        self._formulas: dict[Literal, z3.BoolRef] = {}
        self._names: dict[Literal, z3.BoolRef] = {}
        self._named: dict[str, Literal] = {}
        self._assumed: list[Literal] = []
        self._signs = [ANY] * len(space.names)  # that each variable is assumed to have
        self._contradictions: defaultdict[int, list[frozenset[Literal]]] = defaultdict(list)

    def assume(self, literal: Literal) -> None:
        """Of everything that is asked from now on."""
        polynomial = self.space.polynomials[literal.atom]
        for k, variable in enumerate(self.space.ring.gens()):
            if polynomial == variable:
                self._signs[k] &= literal.signs
        self._assumed.append(literal)
        if self._is_flat(literal.atom):
            self._linear.add(self._flat(polynomial, literal.signs))

    def ask(self, path: Sequence[Literal], literal: Literal) -> Answer:
        """Whether some point has all these signs."""
        everything, masks = {*path, literal}, defaultdict[int, int](lambda: ANY)
        for each in everything:
            masks[each.atom] &= each.signs
        for known in self._contradictions[literal.atom]:
            if not any(masks[each.atom] & ~each.signs for each in known):
                return Answer(False, None, known)
        answer = self._linear.check(*(self._name(each) for each in everything if self._is_flat(each.atom)))
        if answer == z3.unsat:
            return self._contradicted(frozenset(self._named[str(name)] for name in self._linear.unsat_core()))
        point = self._point(self._linear.model()) if answer == z3.sat else None
        curved = [each for each in (*self._assumed, *everything) if not self.space.is_linear(each)]
        if point is not None and all(self.space.has(each, point) for each in curved):
            return Answer(True, point)
        return self.ask_anew((*path, literal), self.timeout) if curved else Answer(None)

    def _contradicted(self, literals: frozenset[Literal]) -> Answer:
        for atom in {literal.atom for literal in literals}:
            self._contradictions[atom].append(literals)
        return Answer(False, None, literals)

    def _name(self, literal: Literal) -> z3.BoolRef:
        if literal not in self._names:
            name = z3.Bool(f"l{len(self._names)}", self.context)
            self._names[literal], self._named[str(name)] = name, literal
            self._linear.add(z3.Implies(name, self._flat(self.space.polynomials[literal.atom], literal.signs)))
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
            self._formulas[literal] = _has(self._term(self.space.polynomials[literal.atom], self._power), literal.signs)
        return self._formulas[literal]

    def _is_flat(self, atom: int) -> bool:
        return self.space.polynomials[atom].total_degree() <= FLAT

    def _flat(self, polynomial: fmpq_mpoly, signs: int) -> z3.BoolRef:
        """That a polynomial has one of some signs, linear in products of variables."""
        return _has(self._term(polynomial, self._product), signs)

    def _term(self, polynomial: fmpq_mpoly, product: Callable[[tuple[int, ...]], z3.ArithRef]) -> z3.ArithRef:
        parts = [z3.RealVal(str(c), self.context) * product(tuple(map(int, e))) for e, c in polynomial.terms()]
        return z3.Sum(parts) if parts else z3.RealVal(0, self.context)

    def _power(self, powers: tuple[int, ...]) -> z3.ArithRef:
        factors = (each for each, power in zip(self.variables, powers, strict=True) for _ in range(power))
        return prod(factors, start=z3.RealVal(1, self.context))

    def _product(self, powers: tuple[int, ...]) -> z3.ArithRef:
        """A product of variables; where it is new the linear solver is told what is known of it."""
        if sum(powers) <= 1:
            return self._power(powers)
        if powers not in self._products:
            self._products[powers] = z3.FreshReal("product", self.context)
            for variable, power in enumerate(powers):
                if power:
                    self._learn(variable, tuple(each - (k == variable) for k, each in enumerate(powers)))
        return self._products[powers]

    def _learn(self, variable: int, rest: tuple[int, ...]) -> None:
        """Tell the linear solver the signs of what is assumed about one variable, times a product of others."""
        sign = of_powers(POSITIVE, ((self._signs[k], power % 2 == 1) for k, power in enumerate(rest) if power))
        if sign & NEGATIVE:
            return
        times_rest = self.space.ring.from_dict({rest: 1})
        for literal in self._assumed:
            polynomial = self.space.polynomials[literal.atom]
            if polynomial.degrees()[variable] and polynomial.total_degree() == 1:
                self._linear.add(self._flat(polynomial * times_rest, times(literal.signs, sign)))

    def _point(self, model: z3.ModelRef) -> Point | None:
        values = [model.eval(variable, model_completion=True) for variable in self.variables]
        if not all(z3.is_rational_value(value) for value in values):
            return None
        return [fmpq(value.numerator_as_long(), value.denominator_as_long()) for value in values]


def _has(term: z3.ArithRef, signs: int) -> z3.BoolRef:
    return {
        NEGATIVE: term < 0,
        ZERO: term == 0,
        POSITIVE: term > 0,
        NEGATIVE | ZERO: term <= 0,
        ZERO | POSITIVE: term >= 0,
        NEGATIVE | POSITIVE: term != 0,
    }[signs]
