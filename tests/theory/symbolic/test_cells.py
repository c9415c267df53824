"""The instrument itself: its cells cover the space, in each it computes what the code computes, and a step that is not
sound is noticed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from pathlib import Path
from random import Random
from shutil import copy
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from simlab.arrays import Array
from simlab.decoders import make_decoder
from simlab.randomness import Purpose
from simlab.rules import Speculative, make_rule
from theory.exact import sequence_law
from theory.example_processes import random_row
from theory.symbolic import Unsound, prove
from theory.symbolic.cells import Cells, Decision, check_cover
from theory.symbolic.decoders import one_step
from theory.symbolic.histories import Histories, laws, outcomes
from theory.symbolic.piecewise import value_of
from theory.symbolic.rows import Table, contexts, row_name, rows_at, unknown_rows
from theory.symbolic.signs import NEGATIVE, POSITIVE, SIGNS, ZERO, negated, sign_of, times
from theory.symbolic.smtlib import CHECKER, questions, written
from theory.symbolic.solver import Answer, Solver
from theory.symbolic.space import Literal
from theory.symbolic.unknown import Unknown

pytestmark = pytest.mark.exact


@pytest.mark.parametrize(
    "rule",
    [
        make_rule("speculative"),
        make_rule("grouped", labels=[0, 0, 1]),
        make_rule("lantern", neighbours=[[1, 2], [0, 2], [0, 1]], delta=Fraction(1, 5)),
    ],
)
def test_in_each_cell_the_functions_are_what_the_code_computes_at_a_point_of_it(rule: Any) -> None:
    cells, rows = unknown_rows({"p": 3, "q": 3}, zeros=True)
    seen = 0
    for cell in cells.explore(lambda: rule.step_rows(rows["p"][None], rows["q"][None])):
        assert cell.point is not None
        assert all(cells.has(literal, cell.point) for literal in cell.literals)
        at = {name: np.array(row, dtype=object) for name, row in rows_at(rows, cell.point).items()}
        step = rule.step_rows(at["p"][None], at["q"][None])
        law = [cells.number(mass).at(cell.point) for mass in cell.result.law[0]]
        assert law == step.law[0].tolist()
        assert cells.number(cell.result.acceptance[0]).at(cell.point) == step.acceptance[0]
        seen += 1
    assert seen == cells.visited > 20


def test_probabilities_of_a_step_are_what_enumeration_finds() -> None:
    decoder, rule = make_decoder("block", gamma=2), make_rule("speculative")
    step = one_step(decoder, rule, 2, 3)
    sequences = step.laws

    def law() -> dict[Any, Unknown]:
        return {outcome: value_of(terms, step.cells) for outcome, terms in sequences.items()}

    checked = 0
    for cell in step.cells.explore(law):
        if cell.point is None or checked > 40:
            continue
        rows = {name: np.array(row, dtype=object) for name, row in rows_at(step.rows, cell.point).items()}
        target, draft = (Table(2, 3, {each: rows[row_name(m, each)] for each in contexts(2, 3)}) for m in "pq")
        full, _ = sequence_law(decoder, target, rule, draft)
        for sequence, chance in full.items():
            found = sum(
                value.at(cell.point) * _rest(target, sequence, len(outcome.tokens))
                for outcome, value in cell.result.items()
                if sequence[: len(outcome.tokens)] == outcome.tokens
            )
            assert found == chance
        checked += 1
    assert checked > 10


def _rest(target: Table, sequence: tuple[int, ...], begin: int) -> Fraction:
    found = Fraction(1)
    for k in range(begin, len(sequence)):
        found *= target.row(sequence[:k])[sequence[k]]
    return found


@given(st.lists(st.integers(-9, 9).filter(bool), min_size=2, max_size=2), st.sampled_from("+-*/"))
def test_arithmetic_is_that_of_fractions(values: list[int], operation: str) -> None:
    cells = Cells(["x", "y"])
    x, y = cells.variables()
    one, other = (x * 2 + y) / (y * y + 1), y - 3 * x + Fraction(1, 2)
    made: dict[str, Callable[[Any, Any], Any]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / (b * b + 1),
    }
    at = [Fraction(value, 3) for value in values]
    numbers = (2 * at[0] + at[1]) / (at[1] ** 2 + 1), at[1] - 3 * at[0] + Fraction(1, 2)
    found = made[operation](one, other)
    assert found.at(cells._points[cells.keep_point(at)]) == made[operation](*numbers)


def test_signs_multiply_as_numbers_do() -> None:
    for one in (-2, 0, 3):
        assert negated(sign_of(one)) == sign_of(-one)
        for other in (-1, 0, 5):
            assert times(sign_of(one), sign_of(other)) == sign_of(one * other)
    assert sum(SIGNS) == times(sum(SIGNS), POSITIVE)


# Steps that are not sound ----------------------------------------------------------------------------------------


def test_a_forgotten_branch_is_noticed() -> None:
    cells, rows = unknown_rows({"p": 2, "q": 2}, zeros=True)
    p, q = rows["p"], rows["q"]

    def program() -> bool:
        larger = p[0] > q[0]
        cells._others = [way for way in cells._others if len(way) > 1]  # the other way is forgotten
        return bool(larger)

    with pytest.raises(Unsound, match="forgotten"):
        list(cells.explore(program))


def test_a_forgotten_outcome_is_noticed() -> None:
    cells, rows = unknown_rows({"p": 2}, zeros=False)
    with pytest.raises(Unsound, match="do not sum to one"):
        laws(lambda: [(0, rows["p"][0])], cells)

    def program() -> int:
        cells.choose(3)
        cells._others = cells._others[:1]
        return 0

    with pytest.raises(Unsound, match="1 of 3 outcomes"):
        list(cells.explore(program))


def test_a_program_that_does_something_else_when_it_is_run_again_is_noticed() -> None:
    cells, rows = unknown_rows({"p": 2, "q": 2}, zeros=True)
    runs = []

    def program() -> bool:
        runs.append(None)
        first = len(runs) == 1
        return bool(rows["p"][0] > rows["q"][0]) if first else bool(rows["p"][0] * 2 > rows["q"][0])

    with pytest.raises(Unsound, match="run again"):
        list(cells.explore(program))


def test_a_division_by_what_can_be_0_is_a_way_of_its_own() -> None:
    cells, rows = unknown_rows({"p": 2}, zeros=True)

    def program() -> str:
        try:
            return str(1 / rows["p"][0])
        except ZeroDivisionError:
            return "0"

    assert {cell.result == "0" for cell in cells.explore(program)} == {True, False}


def test_a_division_that_nobody_asked_about_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Divides(Speculative):
        def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
            return np.take_along_axis(p / q, x[..., None], -1)[..., 0]

    right = Cells.holds

    def careless(cells: Cells, number: Unknown, signs: int) -> bool:
        return signs != ZERO and right(cells, number, signs)  # whatever it is, it is not 0

    assert prove(Divides(), size=2).outcome == "counterexample"
    monkeypatch.setattr(Cells, "holds", careless)
    with pytest.raises(Unsound, match=r"divided by .*, which may be 0"):
        prove(Divides(), size=2)


def test_ways_beside_a_branch_that_turns_out_to_be_empty_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = Cells("xy")
    x, y = cells.variables()
    negative = cells.literal(x.num, NEGATIVE)
    right = Solver.ask

    def late(solver: Solver, path: Sequence[Literal], literal: Literal) -> Answer:
        return Answer(None) if literal == negative else right(solver, path, literal)

    def program() -> str:
        if y > 0 and x > 1 and x < 0:  # the last is impossible, which nobody can tell in time
            return "nowhere" if x > 2 else "nowhere either"
        return "somewhere"

    monkeypatch.setattr(Solver, "ask", late)
    found = [cell.result for cell in cells.explore(program)]
    assert set(found) == {"somewhere"}
    assert len(found) == 3  # y <= 0, x <= 1, and neither


def test_a_cover_needs_each_missing_way_refuted() -> None:
    way = (Decision(Literal(0, POSITIVE), True),)
    with pytest.raises(Unsound, match="nobody has refuted"):
        check_cover([way], set(), {0: POSITIVE | ZERO})
    check_cover([way], {(Literal(0, ZERO),)}, {0: POSITIVE | ZERO})


def test_each_outcome_is_followed_where_it_is_possible_and_counted_once() -> None:
    cells, rows = unknown_rows({"p": 2}, zeros=True)
    row = rows["p"][None, None]

    def two_draws_and_a_coin(batch: np.ndarray, randomness: Histories) -> list[tuple[int, int, bool]]:
        draws = [randomness.draw(row, np.zeros(1, int), purpose) for purpose in (Purpose.TARGET, Purpose.DRAFT)]
        coin = randomness.accept(rows["p"][None, :1], np.zeros(1, int))
        return [(int(draws[0][0, 0]), int(draws[1][0, 0]), bool(coin[0, 0]))]

    found = laws(lambda: outcomes(two_draws_and_a_coin, cells), cells)  # raises unless they sum to one
    assert len(found) == 8
    p = rows["p"]
    for (first, second, head), terms in found.items():
        ((where, chance),) = terms.items()
        assert not where  # where it is impossible its probability is 0 anyway
        assert chance.key == (p[first] * p[second] * p[int(not head)]).key


# What z3 is asked -------------------------------------------------------------------------------------------------


def test_what_is_told_of_products_is_true_wherever_the_assumptions_are() -> None:
    cells, rows = unknown_rows({"p": 3, "q": 2}, zeros=True)
    solver, (p, q) = cells.solver, (rows["p"], rows["q"])
    polynomial = (p[0] * p[1] * q[0] + p[2] * p[2] * q[1] - q[0] * q[0]).num
    assert solver.ask([], cells.literal(polynomial, POSITIVE)).possible
    assert len(solver._products) > 8
    told = [each for each in solver._linear.assertions() if not z3.is_implies(each)]
    random = Random(1)
    for _ in range(20):
        point = [mass for size in (3, 2) for mass in random_row(random, size, 0)[:-1]]
        values = [
            (term, prod(value**power for value, power in zip(point, powers, strict=True)))
            for powers, term in solver._products.items()
        ] + list(zip(solver.variables, point, strict=True))
        at = [(term, z3.RealVal(str(value), solver.context)) for term, value in values]
        assert all(z3.is_true(z3.simplify(z3.substitute(each, *at))) for each in told)


def test_a_contradiction_is_of_few_literals_and_answers_whatever_implies_it() -> None:
    cells, rows = unknown_rows({"p": 2, "q": 2, "r": 2}, zeros=True)
    p, q, r = (rows[name][0] for name in "pqr")
    less, apart = cells.literal((p - q).num, ZERO | NEGATIVE), cells.literal((r - q).num, POSITIVE)
    found = cells.solver.ask([less, apart], cells.literal((p * r - q).num, POSITIVE))
    assert found.possible is False
    assert len(found.contradiction) == 2
    assert apart not in found.contradiction
    again = cells.solver.ask([less._replace(signs=NEGATIVE)], cells.literal((p * r - q).num, POSITIVE))
    assert (again.possible, again.contradiction) == (False, found.contradiction)
    assert cells.solver.ask([apart], cells.literal((p * r - q).num, POSITIVE)).possible


# Files -----------------------------------------------------------------------------------------------------------


def test_two_solvers_answer_every_question_of_a_proof(tmp_path: Path) -> None:
    asked = 0
    for name, answer in {
        "rule": prove(make_rule("speculative")),
        "decoder": prove(make_decoder("block", gamma=2), length=2),
        "window": prove(make_decoder("sjd", window=2), length=2),
    }.items():
        assert answer.outcome == "proven"
        for k, text in enumerate(written(answer.spaces, str(answer))):
            (tmp_path / f"{name}-{k}.smt2").write_text(text)
        asked += sum(1 for cells in answer.spaces for _ in questions(cells))
    copy(CHECKER, tmp_path / "check.py")
    done = subprocess.run([sys.executable, "check.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{asked} questions in" in done.stdout
    assert ", 0 not unsat, 0 not told in time" in done.stdout


def test_a_question_that_is_not_unsat_fails_the_check(tmp_path: Path) -> None:
    text = "(set-logic QF_NRA)\n(declare-const x Real)\n(push 1)\n(assert (> x 0))\n(check-sat)\n(pop 1)\n(exit)\n"
    (tmp_path / "wrong.smt2").write_text(text)
    command = [sys.executable, str(copy(CHECKER, tmp_path / "check.py")), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cvc5 says sat" in done.stdout
    assert "z3 says sat" in done.stdout
