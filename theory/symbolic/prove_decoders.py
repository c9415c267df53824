"""Statements about a decoder: that its sequences follow the target, or how many drafts a step of it accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from simlab.decoders import DECODERS, Decoder, make_decoder
from simlab.rules import Rule, Speculative
from theory.exact import sequence_law, target_law
from theory.symbolic.answers import Answer, Asked, Heard, arrays, told_rows
from theory.symbolic.cells import Cell, Limits
from theory.symbolic.decoders import Step, accepted, first_failure, one_step, steps
from theory.symbolic.piecewise import value_of
from theory.symbolic.rows import Table, contexts, row_name, rows_at, unknown_rows
from theory.symbolic.small_rows import Row, simple_tables
from theory.symbolic.space import Point
from theory.symbolic.statements import LOSSLESS, Statement, read_statement
from theory.symbolic.unknown import Refused

__all__ = ["prove_decoder", "prove_steps", "wrong_tables"]


def prove_decoder(
    decoder: Decoder,
    that: str = LOSSLESS,
    rule: Rule | None = None,
    size: int = 2,
    length: int = 3,
    zeros: bool = True,
    limits: Limits | None = None,
    heard: Heard | None = None,
) -> Answer:
    """Prove that sequences of a decoder follow the target, or compare how many drafts its first step accepts.

    Parameters
    ----------
    decoder
        The decoder.
    that
        The statement; other decoders are named as :func:`simlab.decoders.make_decoder` knows them, and are made with
        the same draft length.
    rule
        The verification rule; speculative sampling if it is not said.
    size, length
        V, and N, the tokens of a sequence.
    zeros
        Whether rows may hold zeros.
    limits
        When to give up, for each space.
    heard
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
    statement, rule = read_statement(that, tuple(DECODERS)), rule or Speculative()
    asked, told = _asked(decoder, rule, statement.text, zeros, heard), f"V = {size}, sequences of {length}"
    if statement.text != LOSSLESS:
        return _compared(decoder, rule, statement, size, length, zeros, limits, asked) or asked.answer("proven", told)

    def look() -> Cell[bool] | None:
        try:
            for step in steps(decoder, rule, size, length, zeros, limits, heard):
                asked.spaces.append(step.cells)
                if cell := first_failure(step):
                    return cell
            return None
        except Refused:  # its state holds more than steps are proven of
            return _whole_sequences(decoder, rule, size, length, zeros, limits, asked)

    found = asked.settled(told, look, lambda point: wrong_tables(decoder, rule, size, length, zeros))
    if found is None:
        return asked.answer("proven", told)
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
    asked, made = _asked(decoder, rule or Speculative(), statement, zeros, None), list[Step]()

    def look() -> Cell[bool] | None:
        for step in steps(decoder, rule or Speculative(), size, length, zeros, limits):
            asked.spaces.append(step.cells)
            made.append(step)
            if cell := fails(step):
                return cell
        return None

    def simple(point: Point | None) -> dict[str, Row] | None:
        return None if point is None else rows_at(made[-1].rows, point)

    told = f"V = {size}, sequences of {length}"
    return asked.settled(told, look, simple) or asked.answer("proven", told)


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

    return simple_tables(fails, _names(decoder, size, length), not zeros)


def _asked(decoder: Decoder, rule: Rule, statement: str, zeros: bool, heard: Heard | None) -> Asked:
    verified = "" if isinstance(rule, Speculative) else f" with {rule!r}"
    return Asked(f"{decoder!r}{verified}", statement, told_rows(zeros), heard)


def _whole_sequences(
    decoder: Decoder, rule: Rule, size: int, length: int, zeros: bool, limits: Limits | None, asked: Asked
) -> Cell[bool] | None:
    """Where whole sequences do not follow the target, in one run for each cell of all tables."""
    cells, rows = unknown_rows(_names(decoder, size, length), zeros, limits)
    asked.spaces[:] = [cells]
    given = _given(decoder, rule, size, length, rows)

    def program() -> bool:
        law, wanted = sequence_law(decoder, *given)[0], target_law(given[0])
        with cells.stating():
            return all(law.get(sequence, 0) == chance for sequence, chance in wanted.items())

    return asked.first_false(cells, program)


def _compared(
    decoder: Decoder,
    rule: Rule,
    statement: Statement,
    size: int,
    length: int,
    zeros: bool,
    limits: Limits | None,
    asked: Asked,
) -> Answer | None:
    """Where a statement about the drafts that a first step accepts is false."""
    if of_rows := {"tv", "alpha"} & {*statement.names}:
        raise ValueError(
            f"that is {statement.text!r}: {min(of_rows)} is of one pair of rows; expected accepts and decoders"
        )

    def look() -> Cell[bool] | None:
        first = one_step(decoder, rule, size, length, zeros=zeros, limits=limits, heard=asked.heard)
        asked.spaces.append(first.cells)
        known = {"accepts": accepted(first)}
        for name in {*statement.names} - {"accepts"}:
            other = make_decoder(name, gamma=getattr(decoder, "gamma", 1))
            known[name] = accepted(one_step(other, rule, size, length, beside=first, heard=asked.heard))
        rows.update(first.rows)

        def program() -> bool:
            with first.cells.stating():
                return statement.holds(lambda name: value_of(known[name], first.cells))

        return asked.first_false(first.cells, program)

    def simple(point: Point | None) -> dict[str, Row] | None:
        return None if point is None else rows_at(rows, point)

    rows: dict[str, Any] = {}
    return asked.settled(f"V = {size}, sequences of {length}", look, simple)


def _names(decoder: Decoder, size: int, length: int) -> dict[str, int]:
    models = "pq" if decoder.needs_draft else "p"
    return {row_name(model, each): size for model in models for each in contexts(size, length)}


def _given(decoder: Decoder, rule: Rule, size: int, length: int, rows: Mapping[str, Iterable[Any]]) -> tuple[Any, ...]:
    """A target, the rule, and a draft model where one is needed, as :func:`sequence_law` takes them."""
    known = arrays(rows)

    def table(model: str) -> Table:
        return Table(size, length, {each: known[row_name(model, each)] for each in contexts(size, length)})

    return (table("p"), rule, *([table("q")] if decoder.needs_draft else []))
