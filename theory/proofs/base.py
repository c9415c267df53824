"""What a proof is, and statements about rows that are not about a rule alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations
from operator import eq, ge, gt, le, lt
from types import MappingProxyType
from typing import Any

from theory.symbolic import Answer, Limits
from theory.symbolic.answers import ProofAttempt, arrays, rows_in_words
from theory.symbolic.cells import Cells
from theory.symbolic.rows import Rows, rows_at, unknown_masses, unknown_rows
from theory.symbolic.small_rows import Fails, Row, simple_rows
from theory.symbolic.space import Point

Question = Callable[[], Answer]
Comparison = tuple[Any, Callable[[Any, Any], bool], Any]  # a number, how it compares, another
Numbers = Mapping[str, Any]  # rows and other numbers, by name
Stated = Iterable[Comparison]
States = Callable[[Numbers], Stated]

__all__ = [
    "Comparison",
    "Numbers",
    "Proof",
    "Question",
    "Stated",
    "States",
    "asks",
    "eq",
    "equal",
    "for_all_masses",
    "for_all_rows",
    "ge",
    "gt",
    "le",
    "lt",
    "proof_of_rows",
    "subsets",
]


@dataclass(frozen=True)
class Proof:
    """One entry of the catalogue.

    Attributes
    ----------
    name
        What it is called.
    claims
        The ids of the claims that it serves.
    statement
        What is proven, in words.
    questions
        Each returns an answer, which has to be ``proven``.
    wrong
        Wrong variants by name, put to the same question: each has to come back with a counterexample.
    lemma
        Where what is proven is pointwise: the lemma that makes a statement for every V, or for densities, of it.
    """

    name: str
    claims: tuple[str, ...]
    statement: str
    questions: tuple[Question, ...]
    wrong: Mapping[str, Question] = field(default_factory=dict)
    lemma: str = ""


def for_all_rows(
    states: States,
    sizes: Mapping[str, int],
    subject: str,
    statement: str,
    zeros: bool = True,
    shares: Sequence[str] = (),
    beside: Mapping[str, int] = MappingProxyType({}),
    **limits: Any,
) -> Answer:
    """Prove comparisons of numbers that are computed from rows, for all rows.

    Parameters
    ----------
    states
        Takes rows by name and gives comparisons, each of which has to be true; none where the rows are not what the
        statement assumes.
    sizes
        How many tokens each row is over, by its name.
    subject, statement
        What is asked, in words.
    zeros
        Whether masses may be 0.
    shares
        Names of numbers from 0 to 1 besides, such as the threshold of a rule, which are unknown as well.
    beside
        Of how many outcomes other laws are, such as those of sets of candidates, by name.
    **limits
        When to give up, as :class:`~theory.symbolic.Limits` has them.

    Returns
    -------
    Answer
        Proven, a counterexample, or unknown.
    """

    def states_of(rows: Mapping[str, Any]) -> Iterable[Comparison]:
        return states({name: row[0] if name in shares else row for name, row in rows.items()})

    cells, rows = unknown_rows({**sizes, **beside, **dict.fromkeys(shares, 2)}, zeros, Limits(**limits))
    size = "V = " + " and ".join(map(str, sorted(set(sizes.values()))))
    attempt = ProofAttempt(subject, statement, rows_in_words(zeros))
    return _answered(attempt, size, states_of, cells, rows, partial(simple_rows, rows=rows, positive=not zeros))


def equal(one: Iterable[Any], other: Iterable[Any]) -> list[Comparison]:
    """That numbers are equal, one by one."""
    return [(a, eq, b) for a, b in zip(one, other, strict=True)]


def asks(
    states: Callable[..., Stated],
    statement: str,
    *settings: Mapping[str, Any],
    sizes: Iterable[int] = (2, 3),
    rows: Iterable[str] = "pq",
    shares: Sequence[str] = (),
    zeros: bool = True,
) -> tuple[Question, ...]:
    """A statement about rows over V tokens and ``shares``, numbers from 0 to 1, for each V and each of ``settings``."""
    return tuple(
        partial(
            for_all_rows, partial(states, **given), dict.fromkeys(rows, size), _told(given), statement, zeros, shares
        )
        for size in sizes
        for given in settings or ({},)
    )


def _told(given: Mapping[str, Any]) -> str:
    """The settings that are numbers or names, in words; ``rows`` without any."""
    return ", ".join(f"{name} = {value}" for name, value in given.items() if not callable(value)) or "rows"


def proof_of_rows(
    name: str,
    claims: tuple[str, ...],
    statement: str,
    states: Callable[..., Stated],
    *settings: Mapping[str, Any],
    wrong: Mapping[str, Mapping[str, Any]],
    wrong_size: int = 2,
    sizes: Iterable[int] = (2, 3),
    **about: Any,
) -> Proof:
    """A proof that what a function of rows states is true for each V and each of its settings.

    Parameters
    ----------
    name, claims, statement
        As of a :class:`Proof`.
    states, settings, sizes, about
        As :func:`asks` has them.
    wrong
        Settings with which it is false, by what is wrong.
    wrong_size
        The V at which they are refuted.
    """
    others = {told: asks(states, told, given, sizes=(wrong_size,), **about)[0] for told, given in wrong.items()}
    return Proof(name, claims, statement, asks(states, statement, *settings, sizes=sizes, **about), others)


def subsets(size: int) -> Iterator[tuple[int, ...]]:
    """All sets of tokens, as tuples."""
    yield from chain.from_iterable(combinations(range(size), count) for count in range(size + 1))


def for_all_masses(states: States, names: tuple[str, ...], statement: str, **limits: Any) -> Answer:
    """Prove comparisons of numbers that are computed from real numbers >= 0, which need not sum to anything.

    Parameters
    ----------
    states
        Takes numbers by name and gives comparisons, as for :func:`for_all_rows`.
    names
        Of the numbers.
    statement
        What is asked, in words.
    **limits
        When to give up.

    Returns
    -------
    Answer
        Proven, a counterexample, or unknown.
    """

    def states_of(rows: Mapping[str, Any]) -> Iterable[Comparison]:
        return states({name: row[0] for name, row in rows.items()})

    def near(fails: Fails, point: Point | None) -> dict[str, Row] | None:
        at = None if point is None else rows_at(rows, point)
        return at if at and fails(at) else None

    cells, rows = unknown_masses(names, Limits(**limits))
    return _answered(ProofAttempt("numbers", statement, "real numbers >= 0"), "pointwise", states_of, cells, rows, near)


def _answered(
    attempt: ProofAttempt,
    size: str,
    states: States,
    cells: Cells,
    rows: Rows,
    simple: Callable[..., dict[str, Row] | None],
) -> Answer:
    def program() -> bool:
        compared = list(states(rows))
        with cells.stating():
            return all(holds(one, other) for one, holds, other in compared)

    def fails(named: Mapping[str, Row]) -> bool:
        return not all(holds(one, other) for one, holds, other in states(arrays(named)))

    attempt.spaces.append(cells)
    found = attempt.settled(size, lambda: attempt.first_false(cells, program), lambda point: simple(fails, point=point))
    return found or attempt.answer("proven", size)
