"""Statements about a decoder: that its sequences follow the target, how far they are from it, how many drafts its first
step accepts, and how many steps they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from itertools import product
from typing import Any

import numpy as np

from simlab.arrays import total_variation
from simlab.decoders import DECODERS, Decoder, make_decoder
from simlab.rules import Rule, Speculative
from theory.exact import block_acceptance, deviation, mean, sequence_law, target_law
from theory.symbolic.answers import Answer, Progress, ProofAttempt, arrays, rows_in_words
from theory.symbolic.cells import Cell, Cells, Limits
from theory.symbolic.decoders import Run, Step, first_failure, probability, runs, steps
from theory.symbolic.piecewise import Terms, added, simplified, value_of, without_edges
from theory.symbolic.rows import Table, contexts, row_name, rows_at, unknown_rows
from theory.symbolic.small_rows import SEARCH, Row, coarsest, simple_tables, smallest_near
from theory.symbolic.space import Point
from theory.symbolic.statements import LOSSLESS, OF_SEQUENCES, Statement, read_statement
from theory.symbolic.unknown import Refused

EXACT: dict[str, Callable[..., Any]] = {  # numbers that statements are about, in fractions
    "accepts": block_acceptance,
    "calls": lambda *given: mean(sequence_law(*given)[1]),
    "tv": deviation,
}

__all__ = ["prove_decoder", "prove_steps", "wrong_tables"]


def prove_decoder(
    decoder: Decoder,
    that: str = LOSSLESS,
    rule: Rule | None = None,
    size: int = 2,
    length: int = 3,
    zeros: bool = True,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Prove that sequences of a decoder follow the target, or a comparison of its numbers.

    Parameters
    ----------
    decoder
        The decoder.
    that
        The statement; other decoders are named as :func:`simlab.decoders.make_decoder` knows them, and are made with
        the same window or draft length, and defaults else.
    rule
        The verification rule; speculative sampling if it is not said.
    size, length
        V, and N, the tokens of a sequence.
    zeros
        Whether rows may hold zeros.
    limits
        When to give up, for each space.
    progress
        Is told how many cells have been visited.

    Returns
    -------
    Answer
        For every target over V tokens, and every draft model.

    Raises
    ------
    ValueError, Refused
        As :func:`theory.symbolic.prove` does.
    """
    statement, rule = read_statement(that, tuple(DECODERS), OF_SEQUENCES), rule or Speculative()
    attempt, told = _attempt(decoder, rule, statement.text, zeros, progress), f"V = {size}, sequences of {length}"
    if statement.text != LOSSLESS:
        found = _compared(decoder, rule, statement, size, length, zeros, limits, attempt)
        return found or attempt.answer("proven", told)

    def look() -> Cell[bool] | None:
        try:
            for step in steps(decoder, rule, size, length, zeros, limits, progress):
                attempt.spaces.append(step.cells)
                if cell := first_failure(step):
                    return cell
            return None
        except Refused:  # its state holds more than steps are proven of
            return _whole_sequences(decoder, rule, size, length, zeros, limits, attempt)

    found = attempt.settled(told, look, lambda point: wrong_tables(decoder, rule, size, length, zeros))
    if found is None:
        return attempt.answer("proven", told)
    if not found.rows:
        return found
    law, _ = sequence_law(decoder, *_given(decoder, rule, size, length, found.rows))
    return replace(found, values={"law": law})


def prove_steps(
    decoder: Decoder,
    statement: str,
    fails: Callable[[Step], Cell[bool] | None],
    rule: Rule | None = None,
    size: int = 2,
    length: int = 3,
    zeros: bool = True,
    limits: Limits | None = None,
) -> Answer:
    """Prove a statement about every step of a decoder, from all states that it may be in.

    Parameters
    ----------
    decoder, rule, size, length, zeros, limits
        As for :func:`prove_decoder`.
    statement
        In words.
    fails
        Finds a cell in which a step, or the start, is not as stated; None if there is none.

    Returns
    -------
    Answer
        A counterexample is the rows of one step.
    """
    attempt, made = _attempt(decoder, rule or Speculative(), statement, zeros, None), list[Step]()

    def look() -> Cell[bool] | None:
        for step in steps(decoder, rule or Speculative(), size, length, zeros, limits):
            attempt.spaces.append(step.cells)
            made.append(step)
            if cell := fails(step):
                return cell
        return None

    def simple(point: Point | None) -> dict[str, Row] | None:
        return None if point is None else rows_at(made[-1].rows, point)

    told = f"V = {size}, sequences of {length}"
    return attempt.settled(told, look, simple) or attempt.answer("proven", told)


def wrong_tables(decoder: Decoder, rule: Rule, size: int, length: int, zeros: bool = True) -> dict[str, Row] | None:
    """Simple rational tables at which the sequences of a decoder do not follow the target; None if none are found.

    Parameters
    ----------
    decoder, rule
        Whose sequences they are.
    size, length
        V, and N, the tokens of a sequence.
    zeros
        Whether rows may hold zeros.

    Returns
    -------
    dict or None
        The row after each prefix, by name.
    """

    def fails(named: Mapping[str, Row]) -> bool:
        given = _given(decoder, rule, size, length, named)
        law, wanted = sequence_law(decoder, *given)[0], target_law(given[0])
        return any(law.get(sequence, 0) != wanted.get(sequence, 0) for sequence in {*law, *wanted})

    return simple_tables(fails, _names(decoder.needs_draft, size, length), not zeros)


def _attempt(decoder: Decoder, rule: Rule, statement: str, zeros: bool, progress: Progress | None) -> ProofAttempt:
    verified = "" if isinstance(rule, Speculative) else f" with {rule!r}"
    return ProofAttempt(f"{decoder!r}{verified}", statement, rows_in_words(zeros), progress)


def _whole_sequences(
    decoder: Decoder, rule: Rule, size: int, length: int, zeros: bool, limits: Limits | None, attempt: ProofAttempt
) -> Cell[bool] | None:
    """Where whole sequences do not follow the target, in one run for each cell of all tables."""
    cells, rows = unknown_rows(_names(decoder.needs_draft, size, length), zeros, limits)
    attempt.spaces[:] = [cells]
    given = _given(decoder, rule, size, length, rows)

    def program() -> bool:
        law, wanted = sequence_law(decoder, *given)[0], target_law(given[0])
        with cells.stating():
            return all(law.get(sequence, 0) == chance for sequence, chance in wanted.items())

    return attempt.first_false(cells, program)


def _compared(
    decoder: Decoder,
    rule: Rule,
    statement: Statement,
    size: int,
    length: int,
    zeros: bool,
    limits: Limits | None,
    attempt: ProofAttempt,
) -> Answer | None:
    """Where a statement about numbers of drafts, of calls, or about TV of whole sequences, is false."""
    own = [name for name in OF_SEQUENCES if name in statement.names]
    counted = [name for name in own if name != "tv"] or ["accepts"]
    others = {name: _alike(name, decoder, statement) for name in statement.names if name not in OF_SEQUENCES}
    if others and len(counted) > 1:
        raise ValueError(f"that is {statement.text!r}; expected one of accepts and calls beside {min(others)}")
    numbers = [*((name, name, decoder) for name in own), *((name, counted[0], each) for name, each in others.items())]
    whole = bool({"calls", "tv"} & {*own})
    sizes = _names(any(each.needs_draft for each in (decoder, *others.values())), size, length)
    cells, rows = unknown_rows(sizes, zeros, limits)
    attempt.spaces.append(cells)

    def look() -> Cell[bool] | None:
        made = {}
        for name, kind, each in numbers:
            target, _, *drafts = _given(each, rule, size, length, rows)
            found = runs(each, rule, (target, *drafts), cells, whole, attempt.progress)
            made[name] = _number(kind, found, target, cells)

        def program() -> bool:
            values = {name: number() for name, number in made.items()}
            with cells.stating():
                return statement.holds(values.__getitem__)

        return attempt.first_false(cells, program)

    def exact(named: Mapping[str, Row]) -> dict[str, Any]:
        return {name: EXACT[kind](each, *_given(each, rule, size, length, named)) for name, kind, each in numbers}

    def fails(named: Mapping[str, Row]) -> bool:
        return not statement.holds(exact(named).__getitem__)

    def simple(point: Point | None) -> dict[str, Row] | None:
        if point is None:
            near = simple_tables(fails, sizes, not zeros)
        else:
            near = coarsest(fails, rows_at(rows, point), SEARCH, not zeros)
        return smallest_near(fails, near, SEARCH, not zeros) if near else None

    found = attempt.settled(f"V = {size}, sequences of {length}", look, simple)
    return replace(found, values=exact(found.rows)) if found and found.rows else found


def _alike(name: str, decoder: Decoder, statement: Statement) -> Decoder:
    """The decoder of a name, with what it has to be told as another has it: the window or the draft length."""
    parameters = signature(DECODERS[name]).parameters.values()
    needed = [each.name for each in parameters if each.default is each.empty]
    if lacking := [each for each in needed if not hasattr(decoder, each)]:
        raise ValueError(f"that is {statement.text!r}: {name} needs {' and '.join(lacking)}; {decoder!r} has none")
    return make_decoder(name, **{each: getattr(decoder, each) for each in needed})


def _number(kind: str, found: Mapping[Run, Terms], target: Table, cells: Cells) -> Callable[[], Any]:
    """What a number that statements are about is in the cell that is explored."""

    def averaged(weight: Callable[[Run], int]) -> Terms:
        parts = [(where, value * weight(run)) for run, terms in found.items() for where, value in terms.items()]
        return simplified(added(without_edges(parts, cells), cells), cells)

    match kind:
        case "accepts":
            return partial(value_of, averaged(lambda run: run.accepted), cells)
        case "calls":
            return partial(value_of, averaged(lambda run: run.steps), cells)
    sequences = [*product(range(target.vocabulary), repeat=target.length)]
    wanted = np.array([probability(target, each, 0) for each in sequences], dtype=object)
    laws = [averaged(lambda run, each=each: int(run.tokens == each)) for each in sequences]  # type: ignore[misc]
    return lambda: total_variation(np.array([value_of(law, cells) for law in laws], dtype=object), wanted)


def _names(drafted: bool, size: int, length: int) -> dict[str, int]:
    return {row_name(model, each): size for model in ("pq" if drafted else "p") for each in contexts(size, length)}


def _given(decoder: Decoder, rule: Rule, size: int, length: int, rows: Mapping[str, Iterable[Any]]) -> tuple[Any, ...]:
    """A target, the rule, and a draft model where one is needed, as :func:`sequence_law` takes them."""
    known = arrays(rows)

    def table(model: str) -> Table:
        return Table(size, length, {each: known[row_name(model, each)] for each in contexts(size, length)})

    return (table("p"), rule, *([table("q")] if decoder.needs_draft else []))
