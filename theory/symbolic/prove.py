"""Proofs for all rows: of rules, decoders and verifiers as they are, or rows at which a statement fails.

``prove(rule)`` asks whether a rule is lossless, ``prove(rule, "tv <= 1/10")`` something else
(:mod:`theory.symbolic.statements`). The answer is one of three: it is *proven*, for all rows over so many tokens; here
is a *counterexample*, found by the solver, made as simple as it can be, and computed again in fractions; or it is
*unknown*, with the limit that was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter
from typing import Any, Literal

import numpy as np

from simlab.arrays import total_variation
from simlab.candidates import Candidates, Independent, Verifier
from simlab.candidates.base import NONE
from simlab.decoders import DECODERS, Decoder, make_decoder
from simlab.rules import RULES, Rule, Speculative, make_rule
from theory.exact import sequence_law, target_law
from theory.symbolic.cells import Cell, Cells, Limit, Limits
from theory.symbolic.decoders import accepted, first_failure, one_step, steps
from theory.symbolic.histories import Weighted, laws
from theory.symbolic.piecewise import Terms, added, value_of, vanishes
from theory.symbolic.rows import Rows, Table, contexts, row_name, rows_at, unknown_rows
from theory.symbolic.small_rows import Row, coarsest, random_rows, simpler, smallest
from theory.symbolic.statements import LOSSLESS, Statement, read_statement
from theory.symbolic.unknown import Refused

Outcome = Literal["proven", "counterexample", "unknown"]
Heard = Callable[[int], Any]  # told how many cells are done
SEARCH = 20.0  # seconds in which simple rows are looked for once a statement is known to fail

__all__ = ["Answer", "Outcome", "prove", "prove_decoder", "prove_rule", "prove_verifier"]


@dataclass(frozen=True)
class Answer:
    """What has become of a statement.

    Attributes
    ----------
    outcome
        ``proven``, ``counterexample`` or ``unknown``.
    subject, statement
        What was asked, in words.
    size
        How many tokens, drafts and so on.
    assumed
        Of the rows.
    cells
        How many cells were visited.
    seconds
        How long it took.
    why
        Of a counterexample what is wrong there, of ``unknown`` the cell and the limit that was reached.
    rows
        Of a counterexample the rows, by name.
    values
        What comes out at these rows, by name.
    spaces
        The spaces that were cut into cells, with everything that the solver was asked.
    """

    outcome: Outcome
    subject: str
    statement: str
    size: str
    assumed: str
    cells: int
    seconds: float
    why: str = ""
    rows: Mapping[str, Row] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    spaces: tuple[Cells, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        if self.outcome == "proven":
            return f"proven for all {self.assumed}, {self.size}: {self.statement} ({self.cells:,} cells)"
        if self.outcome == "counterexample":
            rows = ", ".join(f"{name} = ({', '.join(map(str, row))})" for name, row in self.rows.items())
            return f"refuted, {self.size}: {self.statement} fails at {rows}{': ' + self.why if self.why else ''}"
        return f"unknown, {self.size}: {self.statement}; {self.why}"


def prove(subject: Any, that: str = LOSSLESS, **sizes: Any) -> Answer:
    """Prove a statement about a rule, a decoder or a verifier of candidates for all rows, or find rows where it fails.

    Parameters
    ----------
    subject
        A rule, a decoder, a verifier, or a function from V to a rule.
    that
        The statement; see :mod:`theory.symbolic.statements`.
    **sizes
        As :func:`prove_rule`, :func:`prove_decoder` or :func:`prove_verifier` take them.

    Returns
    -------
    Answer
        Proven, a counterexample, or unknown.

    Raises
    ------
    ValueError
        If the statement is none.
    Refused
        If the code asks for something that numbers that are not known do not have, such as ``float()``.
    """
    if isinstance(subject, Decoder):
        return prove_decoder(subject, that, **sizes)
    if isinstance(subject, Verifier):
        return prove_verifier(subject, that, **sizes)
    return prove_rule(subject, that, **sizes)


# Rules -----------------------------------------------------------------------------------------------------------


def prove_rule(
    rule: Any,
    that: str = LOSSLESS,
    sizes: Sequence[int] = (2, 3),
    zeros: bool = True,
    limits: Limits | None = None,
    heard: Heard | None = None,
) -> Answer:
    """Prove a statement about one step of a rule.

    Parameters
    ----------
    rule
        A rule, or a function from V to one.
    that
        The statement; other rules are named as :func:`simlab.rules.make_rule` knows them.
    sizes
        The V for which it is asked, the smallest first.
    zeros
        Whether rows may hold zeros.
    limits
        When to give up, for each V.
    heard
        Is told how many cells have been visited.

    Returns
    -------
    Answer
        For all sizes together.

    Raises
    ------
    ValueError, Refused
        As :func:`prove` does.
    """
    statement = read_statement(that, tuple(name for name in RULES if not _needs(RULES[name])))
    begin, visited, spaces = perf_counter(), 0, list[Cells]()
    assumed = "real rows" if zeros else "real rows without zeros"

    def answer(outcome: Outcome, size: str, **more: Any) -> Answer:
        seconds = perf_counter() - begin
        return Answer(
            outcome, _name(rule), statement.text, size, assumed, visited, seconds, spaces=tuple(spaces), **more
        )

    for size in sizes:
        made = _made(rule, size)
        cells, rows = unknown_rows({"p": size, "q": size}, zeros, limits)
        spaces.append(cells)

        def fails(named: Mapping[str, Row], made: Any = made) -> bool:
            return _fault(made, statement, _arrays(named)) is not None

        def program(made: Any = made, rows: Rows = rows, cells: Cells = cells) -> str | None:
            return _fault(made, statement, rows, cells)

        failing = None
        try:
            for cell in cells.explore(program):
                if heard:
                    heard(visited + cells.visited)
                if cell.result is not None:
                    failing = cell
                    break
        except Limit as limit:
            found = smallest(fails, {"p": size, "q": size}, SEARCH / 4, not zeros)
            visited += cells.visited
            if found is None:
                return answer("unknown", f"V = {size}", why=str(limit))
            return answer("counterexample", f"V = {size}", **_evidence(made, statement, found))
        visited += cells.visited
        if failing is not None:
            found = smallest(fails, {"p": size, "q": size}, SEARCH, not zeros)
            if found is None and failing.point is not None:
                found = coarsest(fails, rows_at(rows, failing.point), SEARCH)
            if found is None:
                where = " and ".join(map(cells.told, failing.literals))
                return answer(
                    "unknown", f"V = {size}", why=f"it may fail where {where}, but no rational rows are known"
                )
            return answer("counterexample", f"V = {size}", **_evidence(made, statement, found))
    return answer("proven", f"V = {_listed(sizes)}")


def _fault(made: Any, statement: Statement, rows: Mapping[str, np.ndarray], cells: Cells | None = None) -> str | None:
    """What is wrong with a statement at these rows, in this cell; None if it is true."""
    try:
        facts = _facts(made, rows["p"], rows["q"])
        if cells is None:
            return None if _true(statement, facts) else ""
        with cells.stating():
            return None if _true(statement, facts) else ""
    except ZeroDivisionError:
        return "the rule divides by 0"
    except (ArithmeticError, AssertionError, LookupError, ValueError) as error:
        return f"the rule raises {type(error).__name__}: {error}"


def _true(statement: Statement, facts: _Facts) -> bool:
    if statement.text == LOSSLESS:
        return all(mass == wanted for mass, wanted in zip(facts.law, facts.p, strict=True))
    return statement.holds(facts.value)


class _Facts:
    """What a rule does to one pair of rows, computed when it is asked for."""

    def __init__(self, p: np.ndarray, q: np.ndarray, law: np.ndarray, acceptance: Any) -> None:
        self.p, self.q, self.law, self.acceptance = p, q, law, acceptance

    def value(self, name: str) -> Any:
        match name:
            case "accepts":
                return self.acceptance
            case "tv":
                return total_variation(self.p, self.law)
            case "alpha":
                return 1 - total_variation(self.p, self.q)
        return make_rule(name).step_rows(self.p[None], self.q[None]).acceptance[0]


def _facts(made: Any, p: np.ndarray, q: np.ndarray) -> _Facts:
    if isinstance(made, Rule):
        step = made.step_rows(p[None], q[None])
        return _Facts(p, q, step.law[0], step.acceptance[0])
    law, accepted = made(p, q)
    return _Facts(p, q, law, accepted)


def _evidence(made: Any, statement: Statement, rows: Mapping[str, Row]) -> dict[str, Any]:
    arrays = _arrays(rows)
    why = _fault(made, statement, arrays)
    if why:
        return {"why": why, "rows": rows}
    facts = _facts(made, arrays["p"], arrays["q"])
    values = {
        "law": tuple(map(Fraction, facts.law)),
        **{name: facts.value(name) for name in ("accepts", "tv", "alpha")},
    }
    return {"rows": rows, "values": values}


# Verifiers of several candidates ---------------------------------------------------------------------------------


def prove_verifier(
    verifier: Verifier,
    that: str = LOSSLESS,
    candidates: Candidates | None = None,
    count: int = 2,
    sizes: Sequence[int] = (2, 3),
    zeros: bool = True,
    limits: Limits | None = None,
    heard: Heard | None = None,
) -> Answer:
    """Prove that a verifier of K candidates is lossless.

    Parameters
    ----------
    verifier
        How candidates are tried.
    that
        ``lossless``, the only statement that is known of verifiers.
    candidates
        How they are drawn; the first way that the verifier takes if it is not said.
    count
        K.
    sizes
        The V for which it is asked.
    zeros
        Whether rows may hold zeros.
    limits, heard
        As for :func:`prove_rule`.

    Returns
    -------
    Answer
        For all sizes together.

    Raises
    ------
    ValueError, Refused
        As :func:`prove` does.
    """
    if that != LOSSLESS:
        raise ValueError(f"that is {that!r}; expected {LOSSLESS}, all that is known of verifiers")
    drawing = candidates or (Independent() if verifier.takes == (Candidates,) else verifier.takes[0]())
    begin, visited, spaces = perf_counter(), 0, list[Cells]()

    def answer(outcome: Outcome, size: str, **more: Any) -> Answer:
        assumed = "real rows" if zeros else "real rows without zeros"
        name = f"{_name(verifier)} of candidates {_name(drawing)}"
        return Answer(outcome, name, that, size, assumed, visited, perf_counter() - begin, spaces=tuple(spaces), **more)

    for size in sizes:
        cells, rows = unknown_rows({"p": size, "q": size}, zeros, limits)
        spaces.append(cells)
        told = f"K = {count}, V = {size}"
        try:
            law = laws(lambda: _emitted(verifier, drawing, rows, count, cells), cells, heard)  # noqa: B023
            differences = (
                added([*law.get(x, {}).items(), (frozenset(), -mass)], cells) for x, mass in enumerate(rows["p"])
            )
            failing = next((cell for terms in differences if (cell := vanishes(terms, cells))), None)
        except Limit as limit:
            visited += cells.visited
            return answer("unknown", told, why=str(limit))
        visited += cells.visited
        if failing is not None:
            found = smallest(
                lambda named: not _verified_right(verifier, drawing, named, count),
                {"p": size, "q": size},
                SEARCH,
                not zeros,
            )
            if found is None:
                return answer("unknown", told, why="no simple rows at which it fails were found in time")
            return answer("counterexample", told, rows=found)
    return answer("proven", f"K = {count}, V = {_listed(sizes)}")


def _emitted(verifier: Verifier, drawing: Candidates, rows: Rows, count: int, cells: Cells) -> list[Weighted]:
    """The token emitted, and its probability, for candidates that are chosen one way after the other."""
    p, q, weight = rows["p"][None], rows["q"][None], cells.number(1)
    drawn: list[int] = []
    for k in range(count):
        row = drawing.row(q, np.array([drawn], dtype=np.int64), last=k == count - 1)[0]
        possible = [(x, mass) for x, mass in enumerate(row) if mass > 0] or [(NONE, 1)]
        x, mass = possible[cells.choose(len(possible))] if len(possible) > 1 else possible[0]
        drawn.append(x)
        weight = weight * mass
    found = verifier.verify(p, q, np.array([drawn], dtype=np.int64), drawing)
    return [(x, weight * mass) for x, mass in enumerate((found.accepted + found.drawn)[0])]


def _verified_right(verifier: Verifier, drawing: Candidates, named: Mapping[str, Row], count: int) -> bool:
    from simlab.candidates import verified_law

    rows = _arrays(named)
    found = verified_law(verifier, drawing, rows["p"], rows["q"], count)
    return bool(np.all(found.accepted + found.drawn == rows["p"]))


# Decoders --------------------------------------------------------------------------------------------------------


def prove_decoder(
    decoder: Decoder,
    that: str = LOSSLESS,
    rule: Rule | None = None,
    size: int = 2,
    length: int = 3,
    limits: Limits | None = None,
    heard: Heard | None = None,
) -> Answer:
    """Prove that sequences of a decoder follow the target, or compare how many drafts its step accepts.

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
    limits, heard
        As for :func:`prove_rule`.

    Returns
    -------
    Answer
        For every target over V tokens whose rows have no zeros, and every such draft model.

    Raises
    ------
    ValueError, Refused
        As :func:`prove` does.
    """
    others = tuple(DECODERS)
    statement, rule = read_statement(that, others), rule or Speculative()
    begin, visited, spaces = perf_counter(), 0, list[Cells]()

    def answer(outcome: Outcome, **more: Any) -> Answer:
        told = f"V = {size}, sequences of {length}"
        assumed = "real rows without zeros"
        name = _name(decoder) if isinstance(rule, Speculative) else f"{_name(decoder)} with {_name(rule)}"
        seconds = perf_counter() - begin
        return Answer(outcome, name, statement.text, told, assumed, visited, seconds, spaces=tuple(spaces), **more)

    def fails(named: Mapping[str, Row]) -> bool:
        return _sequences_differ(decoder, rule, size, length, named)

    try:
        if statement.text != LOSSLESS:
            failing = _compared(decoder, rule, statement, size, length, limits, spaces, heard)
        else:
            failing = _follows(decoder, rule, size, length, limits, spaces, heard)
    except Limit as limit:
        visited = sum(space.visited for space in spaces)
        return answer("unknown", why=str(limit))
    visited = sum(space.visited for space in spaces)
    if not failing:
        return answer("proven")
    if statement.text != LOSSLESS:
        cell, rows = failing
        if cell.point is None:
            return answer("unknown", why="it may fail in a cell of which no point is known")
        return answer("counterexample", rows=rows_at(rows, cell.point))
    models = ("p", "q") if decoder.needs_draft else ("p",)
    names = dict.fromkeys((row_name(model, each) for model in models for each in contexts(size, length)), size)
    found = _simple_tables(fails, names)
    if found is None:
        why = "a step from some state does not follow the target, but no tables were found whose sequences show it"
        return answer("unknown", why=why)
    law = sequence_law(decoder, *_tables(decoder, rule, size, length, found))[0]
    return answer("counterexample", rows=found, values={"law": law})


def _follows(
    decoder: Decoder,
    rule: Rule,
    size: int,
    length: int,
    limits: Limits | None,
    spaces: list[Cells],
    heard: Heard | None,
) -> tuple[Cell[bool], Rows] | None:
    """Where a decoder does not follow the target; by steps, or where its state is another by whole sequences."""
    try:
        for step in steps(decoder, rule, size, length, limits, heard):
            spaces.append(step.cells)
            if cell := first_failure(step):
                return cell, step.rows
        return None
    except Refused:
        return _follows_whole(decoder, rule, size, length, limits, spaces, heard)


def _follows_whole(
    decoder: Decoder,
    rule: Rule,
    size: int,
    length: int,
    limits: Limits | None,
    spaces: list[Cells],
    heard: Heard | None,
) -> tuple[Cell[bool], Rows] | None:
    """The same by the law of whole sequences, in one run for each cell of all tables."""
    models = ("p", "q") if decoder.needs_draft else ("p",)
    names = dict.fromkeys((row_name(model, each) for model in models for each in contexts(size, length)), size)
    cells, rows = unknown_rows(names, False, limits)
    spaces.append(cells)
    given = _tables(decoder, rule, size, length, rows)

    def program() -> bool:
        law, wanted = sequence_law(decoder, *given)[0], target_law(given[0])
        with cells.stating():
            return all(law.get(sequence, 0) == chance for sequence, chance in wanted.items())

    for cell in cells.explore(program):
        if heard:
            heard(cells.visited)
        if not cell.result:
            return cell, rows
    return None


def _compared(
    decoder: Decoder,
    rule: Rule,
    statement: Statement,
    size: int,
    length: int,
    limits: Limits | None,
    spaces: list[Cells],
    heard: Heard | None,
) -> tuple[Cell[bool], Rows] | None:
    """Where a statement about the drafts that a first step accepts fails."""
    first = one_step(decoder, rule, size, length, limits=limits, heard=heard)
    spaces.append(first.cells)
    known: dict[str, Terms] = {"accepts": accepted(first)}
    for name in statement.names:
        if name in ("tv", "alpha"):
            raise ValueError(
                f"that is {statement.text!r}: {name} is of one pair of rows; expected accepts and decoders"
            )
        if name not in known:
            other = make_decoder(name, gamma=getattr(decoder, "gamma", 1))
            known[name] = accepted(one_step(other, rule, size, length, beside=first, heard=heard))

    def program() -> bool:
        with first.cells.stating():
            return statement.holds(lambda name: value_of(known[name], first.cells))

    failing = next((cell for cell in first.cells.explore(program) if not cell.result), None)
    return (failing, first.rows) if failing else None


def _tables(decoder: Decoder, rule: Rule, size: int, length: int, rows: Mapping[str, Iterable[Any]]) -> tuple[Any, ...]:
    """A target, the rule and a draft model where it is needed, as :func:`sequence_law` takes them."""
    arrays = _arrays(rows)

    def table(model: str) -> Table:
        return Table(size, length, {each: arrays[row_name(model, each)] for each in contexts(size, length)})

    return (table("p"), rule, *([table("q")] if decoder.needs_draft else []))


def _sequences_differ(decoder: Decoder, rule: Rule, size: int, length: int, named: Mapping[str, Row]) -> bool:
    given = _tables(decoder, rule, size, length, named)
    law, wanted = sequence_law(decoder, *given)[0], target_law(given[0])
    return any(law.get(sequence, 0) != wanted.get(sequence, 0) for sequence in {*law, *wanted})


def _simple_tables(fails: Callable[[Mapping[str, Row]], bool], names: Mapping[str, int]) -> dict[str, Row] | None:
    until = perf_counter() + SEARCH
    for rows in random_rows(names, seed=0):
        if perf_counter() > until:
            return None
        if fails(rows):
            return simpler(fails, rows, until)
    return None


def _arrays(rows: Mapping[str, Iterable[Any]]) -> dict[str, np.ndarray]:
    return {name: np.array(list(row), dtype=object) for name, row in rows.items()}


def _made(rule: Any, size: int) -> Any:
    """The rule itself, or what a function from V to a rule makes."""
    if isinstance(rule, Rule) or getattr(rule, "step_of_rows", False):
        return rule
    return rule(size)


def _name(subject: Any) -> str:
    text = subject.__name__ if hasattr(subject, "__name__") else repr(subject)
    return text if len(text) < 120 else type(subject).__name__


def _needs(kind: type[Rule]) -> bool:
    """Whether a rule has settings that have to be given."""
    import inspect

    parameters = inspect.signature(kind).parameters.values()
    return any(parameter.default is parameter.empty for parameter in parameters)


def _listed(sizes: Sequence[int]) -> str:
    return f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
