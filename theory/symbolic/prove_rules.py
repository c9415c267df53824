"""Statements about one step of a verification rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import total_variation
from simlab.rules import RULES, Rule, make_rule
from theory.symbolic.answers import Answer, Progress, ProofAttempt, arrays, rows_in_words, up_to
from theory.symbolic.cells import Limits
from theory.symbolic.rows import unknown_rows
from theory.symbolic.small_rows import simple_rows
from theory.symbolic.statements import LOSSLESS, Statement, read_statement

Making = Callable[[int], Rule]
Stating = Callable[[], AbstractContextManager[None]]
FREE = tuple(  # rules that are made without settings
    name
    for name, kind in RULES.items()
    if all(parameter.default is not parameter.empty for parameter in inspect.signature(kind).parameters.values())
)

__all__ = ["FREE", "Emitted", "prove_rule"]


def prove_rule(
    rule: Rule | Making,
    that: str = LOSSLESS,
    sizes: Sequence[int] = (2, 3),
    zeros: bool = True,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Prove a statement about one step of a rule; arguments and answer are those of :func:`theory.symbolic.prove`.

    It is about what ``step_rows`` answers. That its acceptances are probabilities, and that it is what ``accept_rows``
    and ``weights_rows`` come to, is assumed.
    """
    statement = read_statement(that, FREE)
    name = repr(rule) if isinstance(rule, Rule) else rule.__name__
    attempt = ProofAttempt(name, statement.text, rows_in_words(zeros), progress)
    for size in sizes:
        made = rule if isinstance(rule, Rule) else rule(size)
        cells, rows = unknown_rows({"p": size, "q": size}, zeros, limits)
        attempt.spaces.append(cells)

        def fault(given: Mapping[str, np.ndarray], stating: Stating = nullcontext, made: Rule = made) -> str | None:
            return _fault(made, statement, given["p"], given["q"], stating)

        found = attempt.settled(
            f"V = {size}",
            lambda: attempt.first_false(cells, lambda: fault(rows, cells.stating) is None),  # noqa: B023
            lambda point: simple_rows(lambda named: fault(arrays(named)) is not None, rows, point, not zeros),  # noqa: B023
        )
        if found is None:
            continue
        if not found.rows:
            return found
        given = arrays(found.rows)
        why = fault(given)
        return replace(found, why=why) if why else replace(found, values=_step(made, given["p"], given["q"]).values())
    return attempt.answer("proven", up_to(sizes))


def _fault(rule: Rule, statement: Statement, p: np.ndarray, q: np.ndarray, stating: Stating) -> str | None:
    """What is wrong with a statement at these rows; None if it is true."""
    try:
        step = _step(rule, p, q)
        with stating():
            true = step.fulfils(statement)
    except ZeroDivisionError:
        return "the rule divides by 0"
    except (ArithmeticError, AssertionError, LookupError, ValueError) as error:
        return f"the rule raises {type(error).__name__}: {error}"
    return None if true else ""


def _step(rule: Rule, p: np.ndarray, q: np.ndarray) -> Emitted:
    step = rule.step_rows(p[None], q[None])
    return Emitted(p, q, step.law[0], step.acceptance[0])


class Emitted(NamedTuple):
    """What comes of one pair of rows: the law of what is emitted, and how often a draft is accepted."""

    p: np.ndarray
    q: np.ndarray
    law: np.ndarray
    acceptance: Any

    def fulfils(self, statement: Statement) -> bool:
        """Whether a statement is true of it."""
        if statement.text == LOSSLESS:
            return all(mass == wanted for mass, wanted in zip(self.law, self.p, strict=True))
        return statement.holds(self.value)

    def value(self, name: str) -> Any:
        """A number that statements are about."""
        match name:
            case "accepts":
                return self.acceptance
            case "tv":
                return total_variation(self.p, self.law)
            case "alpha":
                return 1 - total_variation(self.p, self.q)
        return make_rule(name).step_rows(self.p[None], self.q[None]).acceptance[0]

    def values(self) -> dict[str, Any]:
        """The law and all of them."""
        return {
            "law": tuple(map(Fraction, self.law)),
            **{name: self.value(name) for name in ("accepts", "tv", "alpha")},
        }
