"""What a proof is, and statements about rows that are not about a rule alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import eq, ge, le, lt
from time import perf_counter
from typing import Any

import numpy as np

from theory.symbolic import Answer, Limit, Limits
from theory.symbolic.cells import Cells
from theory.symbolic.rows import Rows, rows_at, unknown_masses, unknown_rows
from theory.symbolic.small_rows import Row, coarsest, smallest

Question = Callable[[], Answer]
Comparison = tuple[Any, Callable[[Any, Any], bool], Any]  # a number, how it compares, another
States = Callable[[Mapping[str, Any]], Iterable[Comparison]]
SEARCH = 5.0  # seconds in which simple rows are looked for once a statement is known to fail

__all__ = ["Comparison", "Proof", "Question", "States", "eq", "for_all_masses", "for_all_rows", "ge", "le", "lt"]


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
    states: States, sizes: Mapping[str, int], subject: str, statement: str, zeros: bool = True, **limits: Any
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
    **limits
        When to give up, as :class:`~theory.symbolic.Limits` has them.

    Returns
    -------
    Answer
        Proven, a counterexample, or unknown.
    """
    made = unknown_rows(sizes, zeros, Limits(**limits))
    size = "V = " + " and ".join(map(str, sorted(set(sizes.values()))))
    assumed = "real rows" if zeros else "real rows without zeros"
    simple = partial(smallest, sizes=sizes, seconds=SEARCH, positive=not zeros)
    return _answered(states, made, simple, subject, statement, size, assumed)


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

    made = unknown_masses(names, Limits(**limits))
    return _answered(states_of, made, lambda fails: None, "numbers", statement, "pointwise", "real numbers >= 0")


def _answered(
    states: States,
    made: tuple[Cells, Rows],
    simple: Callable[[Any], dict[str, Row] | None],
    subject: str,
    statement: str,
    size: str,
    assumed: str,
) -> Answer:
    begin, (cells, rows) = perf_counter(), made

    def program() -> bool:
        compared = list(states(rows))
        with cells.stating():
            return all(holds(one, other) for one, holds, other in compared)

    def fails(named: Mapping[str, Row]) -> bool:
        arrays = {name: np.array(list(row), dtype=object) for name, row in named.items()}
        return not all(holds(one, other) for one, holds, other in states(arrays))

    def answer(outcome: Any, **more: Any) -> Answer:
        seconds = perf_counter() - begin
        return Answer(outcome, subject, statement, size, assumed, cells.visited, seconds, spaces=(cells,), **more)

    try:
        failing = next((cell for cell in cells.explore(program) if not cell.result), None)
    except Limit as limit:
        return answer("unknown", why=str(limit))
    if failing is None:
        return answer("proven")
    found = simple(fails)
    if found is None and failing.point is not None:
        at = rows_at(rows, failing.point)
        found = coarsest(fails, at, SEARCH) if assumed.startswith("real rows") else at if fails(at) else None
    if found is None:
        return answer("unknown", why="it may fail in a cell, but no rational numbers of it are known")
    return answer("counterexample", rows=found)
