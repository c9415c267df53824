"""The space of unknown numbers, cut into cells by the comparisons that a program makes.

A program runs on numbers that are not known. Where it compares two, both ways are looked at: one that contradicts what
is assumed, or what was decided before, is refuted by the solver; the others are taken one after the other, and the
program is run again for each. A *cell* is the part of the space that takes one way through the whole program; in it
everything that the program computes is a rational function.

A comparison is about the sign of a polynomial, which is taken apart into factors first: p(x) q(y) > 0 is known once the
two are, and most of what is left is linear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

from flint import fmpq, fmpq_mpoly

from theory.symbolic.signs import ANY, NEGATIVE, POSITIVE, SIGNS, ZERO, negated, of_powers, sign_of
from theory.symbolic.solver import Solver
from theory.symbolic.space import Literal, Point, Product, Solution, Space
from theory.symbolic.unknown import Refused, Unknown

Result = TypeVar("Result")

__all__ = ["Cell", "Cells", "Identity", "Lemma", "Limit", "Limits", "Unsound"]


class Limit(Exception):
    """A limit was reached before all cells were visited."""


class Unsound(Exception):
    """The cells that were visited do not cover the space: an error of the instrument, or of a program that does not
    do the same when it is run again."""


class Limits(NamedTuple):
    """When to give up.

    Attributes
    ----------
    cells
        The most cells.
    seconds
        The longest time for all of them.
    query
        Milliseconds for one question to the solver; a branch that is not decided by then is followed.
    """

    cells: int = 500_000
    seconds: float = 600.0
    query: int = 2_000


class Identity(NamedTuple):
    """Two numbers that are the same function, as the statement wants it, where some literals are true."""

    literals: tuple[Literal, ...]
    one: Unknown
    other: Unknown


class Lemma(NamedTuple):
    """Numbers and their sum, everywhere or where a polynomial is 0: a step of a proof that adds probabilities up."""

    parts: list[Unknown]
    whole: Unknown
    zero: int | None


class Decision(NamedTuple):
    """A way that was taken where a program compared or chose."""

    literal: Literal  # of a choice among n, -n and which
    forced: bool  # the other way is impossible


Way = tuple[Decision, ...]


class Cell(NamedTuple, Generic[Result]):
    """A part of the space, and what a program comes to in it.

    Attributes
    ----------
    literals
        What makes it: the signs that were decided.
    result
        What the program returned.
    point
        A point of it, where one is known.
    """

    literals: tuple[Literal, ...]
    result: Result
    point: Point | None


class Cells(Space):
    """A space, and the decisions of the program that runs in it.

    Parameters
    ----------
    names
        Of the variables.
    limits
        When to give up.

    Attributes
    ----------
    refuted
        What the solver said cannot be true together, in the order in which it was asked.
    identities
        The equalities that a statement came down to.
    lemmas
        The sums of probabilities that it came down to.
    visited
        How many cells.

    Notes
    -----
    Points at which a way is taken are kept: what is true at one of them is possible, and the solver is asked about the
    rest alone.
    """

    def __init__(self, names: Sequence[str], limits: Limits | None = None) -> None:
        super().__init__(names)
        self.limits = limits or Limits()
        self.solver = Solver(self, self.limits.query)
        self.refuted: dict[frozenset[Literal], None] = {}  # a set that keeps its order
        self.identities: list[Identity] = []
        self.lemmas: list[Lemma] = []
        self.visited = 0
        self._assumed: dict[int, int] = {}
        self._points: list[Point] = []
        self._solutions: dict[int, Solution | None] = {}
        self._at: dict[int, tuple[int, dict[int, int]]] = {}
        self._stating = False
        self._stop: Exception | None = None
        self._impossible = set[tuple[Literal, ...]]()
        self._possible: dict[tuple[Literal, ...], bool] = {}
        self._deadline = perf_counter() + self.limits.seconds
        self._begin(())

    def variables(self) -> list[Unknown]:
        """A number for each name."""
        return [Unknown(self, each) for each in self.ring.gens()]

    def number(self, value: Any) -> Unknown:
        """A rational number as one of these."""
        return value if isinstance(value, Unknown) else Unknown(self, self.constant(value))

    # What is assumed -------------------------------------------------------------------------------------------

    def assume(self, number: Unknown, signs: int) -> None:
        """Look only where ``number``, a polynomial, has one of ``signs``."""
        literal = self.literal(number.num, signs)
        self._assumed[literal.atom] = self._assumed.get(literal.atom, ANY) & literal.signs
        self.solver.assume(literal)
        self._begin(())

    def keep_point(self, point: Sequence[Fraction] | Point) -> int:
        """Remember a point that has what is assumed: what is true there needs no solver to be possible. Its number."""
        self._points.append([fmpq(value.numerator, value.denominator) for value in point])
        return len(self._points) - 1

    @property
    def assumed(self) -> list[Literal]:
        """What is assumed."""
        return [Literal(atom, signs) for atom, signs in self._assumed.items()]

    def may_be(self, atom: int) -> int:
        """The signs that a polynomial has where everything is assumed."""
        return self._assumed.get(atom, ANY)

    # Cells -----------------------------------------------------------------------------------------------------

    def explore(self, program: Callable[[], Result]) -> Iterator[Cell[Result]]:
        """All cells of a program, one after the other.

        Parameters
        ----------
        program
            Without arguments; it has to make the same comparisons when it is run again.

        Yields
        ------
        Cell
            Cells that are disjoint and cover all that is assumed.

        Raises
        ------
        Limit
            If there are too many, or it takes too long.
        Unsound
            If the cells do not cover the space.
        """
        waiting: list[Way] = [()]
        ways: list[Way] = []
        self._impossible = set()
        while waiting:
            self._begin(waiting.pop())
            try:
                result = program()
            except Empty:  # nobody could tell that in time before
                ways.append(tuple(self._path))
                waiting += self._others
                continue
            except TypeError as error:  # such as a table of numbers by their value, or exponentials
                raise Refused(f"it does what a number that is not known cannot: {error}") from error
            if self._stop:  # whatever the program has made of it
                raise self._stop
            self.visited += 1
            ways.append(tuple(self._path))
            waiting += self._others
            yield Cell(self.literals, result, self._point())
            if self.visited >= self.limits.cells and waiting:
                raise Limit(f"it visited {self.visited:,} cells, the most that it may; the last was {self._here()}")
        check_cover(ways, self._impossible, self._assumed)

    @property
    def literals(self) -> tuple[Literal, ...]:
        """What was decided on the way so far."""
        return tuple(decision.literal for decision in self._path if not decision.forced)

    def stopped(self, reason: Exception) -> Exception:
        """``reason``, to be raised: the exploration ends with it even if the program goes on."""
        self._stop = reason
        return reason

    def _here(self) -> str:
        """Where the program is, by the last things that were decided."""
        return f"where {' and '.join(map(self.told, self.literals[-3:]))}" if self.literals else "at the beginning"

    def _begin(self, given: Way) -> None:
        self._given, self._path, self._others = given, list[Decision](), list[Way]()
        self._known, self._stop = dict(self._assumed), None
        self._alive = -1  # the points that take the way so far, a bit each

    def _point(self) -> Point | None:
        alive = self._alive & (1 << len(self._points)) - 1
        return self._points[alive.bit_length() - 1] if alive else None

    def _where(self, literal: Literal) -> int:
        """The points at which a literal is true, a bit each."""
        done, masks = self._at.get(literal.atom, (0, dict.fromkeys(SIGNS, 0)))
        if done < len(self._points):
            polynomial = self.polynomials[literal.atom]
            for k in range(done, len(self._points)):
                masks[sign_of(polynomial(*self._points[k]))] |= 1 << k
            self._at[literal.atom] = len(self._points), masks
        return sum(masks[sign] for sign in SIGNS if literal.signs & sign)

    @contextmanager
    def stating(self) -> Iterator[None]:
        """What is asked inside is about the statement, and no longer about the program's branches."""
        self._stating = True
        try:
            yield
        finally:
            self._stating = False

    # Decisions -------------------------------------------------------------------------------------------------

    def holds(self, number: Unknown, signs: int) -> bool:
        """Whether ``number`` has one of ``signs``: on this way through the program, one way or the other."""
        product = self.product(number)
        if len(product.factors) == 1 and product.factors[0][1]:  # most are about one polynomial
            atom = product.factors[0][0]
            return self.decide(Literal(atom, signs if product.sign == POSITIVE else negated(signs)))
        while True:
            masks = [self._known.get(atom, ANY) for atom, _ in product.factors]
            possible = _signs(product, masks)
            if not possible & ~signs:
                return True
            if not possible & signs:
                return False
            self._split(product, masks, signs)

    def check_divisor(self, number: Unknown) -> None:
        """Raise :class:`Unsound` unless ``number`` is known not to be 0 on this way: who divides has asked before."""
        product = self.product(number)
        if product.sign == ZERO or any(self._known.get(atom, ANY) & ZERO for atom, _ in product.factors):
            told = f"it was divided by {number}, which may be 0; expected a number that is known not to be"
            raise self.stopped(Unsound(told))

    def same(self, one: Unknown, other: Unknown) -> bool:
        """Whether two numbers are equal, on this way."""
        if self._stating and one.key == other.key:
            self.identities.append(Identity(self.literals, one, other))
        return self.holds(one - other, ZERO)

    def decide(self, literal: Literal) -> bool:
        """Whether a polynomial has one of some signs, on this way."""
        known = self._known.get(literal.atom, ANY)
        if known & literal.signs and known & ~literal.signs:
            self._decide(literal.atom, known & literal.signs, known & ~literal.signs)
        return bool(self._known.get(literal.atom, ANY) & literal.signs)

    def choose(self, count: int) -> int:
        """One of ``count`` ways that are all possible, such as the outcomes of a draw: each is taken once."""
        if len(self._path) < len(self._given):
            decision = self._given[len(self._path)]
            if decision.literal.atom != -count:
                raise self.stopped(Unsound("the program made other choices when it was run again; expected the same"))
        else:
            decision, *others = (Decision(Literal(-count, k), True) for k in range(count))
            self._others += [(*self._path, other) for other in reversed(others)]
        self._path.append(decision)
        return decision.literal.signs

    def _split(self, product: Product, masks: list[int], signs: int) -> None:
        """Learn more about one factor of a product whose sign is not known."""
        several = [k for k, mask in enumerate(masks) if mask not in SIGNS]
        (atom, odd), mask = product.factors[several[0]], masks[several[0]]
        if len(several) == 1 and odd:  # its sign is what is asked for, up to that of the others

            def fits(sign: int) -> bool:
                return bool(_signs(product, [*masks[: several[0]], sign, *masks[several[0] + 1 :]]) & signs)

            wanted = sum(sign for sign in SIGNS if mask & sign and fits(sign))
        else:
            wanted = mask & (ZERO if mask & ZERO else POSITIVE)
        self._decide(atom, wanted, mask & ~wanted)

    def _decide(self, atom: int, one: int, other: int) -> None:
        """Take one of two ways, and remember the other if it is possible."""
        if perf_counter() > self._deadline:
            limit = f"it took {self.limits.seconds:g} s, the longest that it may, for {self.visited:,} cells"
            raise self.stopped(Limit(f"{limit}, and was {self._here()}"))
        if len(self._path) < len(self._given):
            decision = self._given[len(self._path)]
            if decision.literal not in (Literal(atom, one), Literal(atom, other)):
                told = "the program made other comparisons when it was run again; expected the same"
                raise self.stopped(Unsound(told))
            self._take(decision)
            return
        first, second = Literal(atom, one), Literal(atom, other)
        if not self._may_be(first):
            first, second = second, first
            if not self._may_be(first):
                raise Empty
            self._take(Decision(first, True))
            return
        forced = not self._may_be(second)
        if not forced:
            self._others.append((*self._path, Decision(second, False)))
        self._take(Decision(first, forced))

    def _take(self, decision: Decision) -> None:
        self._path.append(decision)
        self._known[decision.literal.atom] = decision.literal.signs
        self._alive &= self._where(decision.literal)

    def _may_be(self, literal: Literal) -> bool:
        """Whether a literal is possible on this way, or nobody can tell in time."""
        if self._alive & self._where(literal):
            return True
        answer = self.solver.ask(self.literals, literal)
        if answer.possible is False:
            self.refuted[answer.contradiction] = None
            self._impossible.add((*self.literals, literal))
            return False
        if answer.point is not None:
            kept = self.keep_point(answer.point)
            if self._alive < 0 or all(self.has(each, answer.point) for each in self.literals):
                self._alive |= 1 << kept
        return True

    # Questions about the space as such -------------------------------------------------------------------------

    def possible(self, literals: tuple[Literal, ...]) -> bool:
        """Whether these signs may be possible together, whatever way is explored."""
        if literals not in self._possible:
            alive = (1 << len(self._points)) - 1
            for literal in literals:
                alive &= self._where(literal)
            self._possible[literals] = bool(alive) or self._asked(literals)
        return self._possible[literals]

    def solution(self, atom: int) -> Solution | None:
        """A variable as a polynomial says it where it is 0: one by whose positive factor it can be divided."""
        if atom not in self._solutions:
            polynomial = self.polynomials[atom]
            linear = [k for k, degree in enumerate(polynomial.degrees()) if degree == 1]
            candidates = (self._solution(polynomial, variable) for variable in linear)
            self._solutions[atom] = next((each for each in candidates if each), None)
        return self._solutions[atom]

    def _solution(self, polynomial: fmpq_mpoly, variable: int) -> Solution | None:
        factor = polynomial.derivative(variable)
        rest = polynomial - factor * self.ring.gens()[variable]
        product = self.factors(factor)
        sign = of_powers(product.sign, [(self.may_be(atom), odd) for atom, odd in product.factors])
        if sign not in (NEGATIVE, POSITIVE):
            return None
        return Solution(variable, -rest, factor) if sign == POSITIVE else Solution(variable, rest, -factor)

    def solved_sign(self, atom: int, solution: Solution) -> Product:
        """The sign of a polynomial, taken apart, once a variable is said by others."""
        return self.factors(solution.put_into(self.polynomials[atom])[0])

    def _asked(self, literals: tuple[Literal, ...]) -> bool:
        answer = self.solver.ask(literals[:-1], literals[-1])
        if answer.possible is False:
            self.refuted[answer.contradiction] = None
        elif answer.point is not None:
            self.keep_point(answer.point)
        return answer.possible is not False

    def lemma(self, parts: list[Unknown], whole: Unknown, zero: int | None = None) -> None:
        """Keep a step of a proof for whoever wants to check it."""
        self.lemmas.append(Lemma(parts, whole, zero))

    def never_zero(self, polynomial: fmpq_mpoly | None, given: tuple[Literal, ...]) -> bool:
        """Whether a polynomial is nowhere 0 where some literals are true; None stands for 1."""
        if polynomial is None:
            return True
        product = self.factors(polynomial)
        return product.sign != ZERO and not any(
            self.possible((*given, Literal(atom, ZERO))) for atom, _ in product.factors
        )


class Empty(Exception):
    """A branch that could not be decided in time turned out to be empty."""


def _signs(product: Product, masks: list[int]) -> int:
    factors = zip(masks, (odd for _, odd in product.factors), strict=True)
    return of_powers(product.sign, factors)


def check_cover(ways: list[Way], impossible: set[tuple[Literal, ...]], assumed: dict[int, int]) -> None:
    """Raise :class:`Unsound` unless each way that was not taken somewhere has been refuted there.

    Parameters
    ----------
    ways
        All ways that were taken to their end.
    impossible
        What was refuted, as the literals of the way up to there and the one that contradicts them.
    assumed
        The signs of polynomials that are looked at.
    """
    waiting: list[tuple[list[Way], int, tuple[Literal, ...], dict[int, int]]] = [(ways, 0, (), assumed)]
    while waiting:
        here, depth, literals, known = waiting.pop()
        taken: defaultdict[Decision, list[Way]] = defaultdict(list)
        for way in here:
            if len(way) > depth:
                taken[way[depth]].append(way)
            elif len(here) > 1:
                raise Unsound("two runs of the program took the same way; expected each to be taken once")
        if not taken:
            continue
        atoms = {decision.literal.atom for decision in taken}
        if len(atoms) > 1:
            raise Unsound("the program compared different numbers on the same way; expected the same")
        atom = atoms.pop()
        if atom < 0:
            missing = set(range(-atom)) - {decision.literal.signs for decision in taken}
            if missing:
                raise Unsound(f"{len(missing)} of {-atom} outcomes were forgotten; expected all")
        else:
            left = known.get(atom, ANY) & ~sum(decision.literal.signs for decision in taken)
            if left and (*literals, Literal(atom, left)) not in impossible:
                raise Unsound("a branch was forgotten that nobody has refuted")
        for decision, ways_below in taken.items():
            below = known if atom < 0 else known | {atom: decision.literal.signs}
            path = literals if decision.forced else (*literals, decision.literal)
            waiting.append((ways_below, depth + 1, path, below))
