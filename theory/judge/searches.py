"""Search for inputs on which a user's rule breaks a property.

Every property is checked on pairs of rational rows: exactly where the rule answers rationals with rationals, else in
float64 within a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import Array, Number
from theory.acceptance import alpha
from theory.distances import tv
from theory.judge.contract import Pair, floats
from theory.judge.user_rule import NEGLIGIBLE, Broken, UserRule, asked
from theory.search import LEVELS, Pmf, pairs, searched, smallest_violation

WIDE = (*LEVELS, (6, 3), (7, 3), (8, 3), (12, 3), (20, 3))  # some rules depend on many ranks, and are lossless below
NARROW = 1e-5  # the tolerance for a rule that computes in float32


class Step(NamedTuple):
    """One step of a rule for one pair of rows."""

    p: Pmf
    q: Pmf
    law: Array
    accepted: Number
    lossless: Number  # what lossless speculative sampling accepts
    tv: Number


class Question(NamedTuple):
    """Something a rule may do wrong."""

    id: str
    looked_for: str  # the same in words
    seen: Callable[[Step, Number], bool]  # whether a step shows it, beyond a tolerance


QUESTIONS = (
    Question("law", "the law emitted is not p", lambda s, tolerance: s.tv > tolerance),
    Question("support", "a token of target probability 0 is emitted", lambda s, tolerance: _stray(s) > tolerance),
    Question(
        "acceptance",
        "a draft is accepted less often than by lossless speculative sampling",
        lambda s, tolerance: s.lossless - s.accepted > tolerance,
    ),
    Question(
        "wasteful",
        "more total variation is spent than acceptance gained",
        lambda s, tolerance: s.tv > tolerance and s.tv - (s.accepted - s.lossless) > tolerance,
    ),
)


def _stray(step: Step) -> Number:
    """The most a token with p(y) = 0 is emitted."""
    return max((mass for mass, wanted in zip(step.law, step.p, strict=True) if wanted == 0), default=0)


class Searched(NamedTuple):
    """What a search for one question found."""

    question: Question
    example: Step | None
    summary: str


class Judged:
    """A rule with the arithmetic it is judged in, rationals if ``exact``, else float64; remembers every step it took.

    ``tolerance``: of every comparison in floats; exact ones have none.
    """

    def __init__(self, rule: UserRule, exact: bool, tolerance: float = NEGLIGIBLE) -> None:
        self.rule = rule
        self.exact = exact
        self.tolerance: Number = 0 if exact else tolerance
        self._steps: dict[Pair, Step] = {}

    def rows(self, pair: Pair) -> tuple[Array, Array]:
        """A pair of rows in this arithmetic."""
        p, q = (np.array(row, dtype=object) if self.exact else floats(row) for row in pair)
        return p, q

    def step(self, pair: Pair) -> Step:
        """What the rule does for a pair of rational rows, in this arithmetic.

        Raises ``Broken`` if the rule does not answer as a rule must, and ``Inexact`` if rationals are answered with
        floats.
        """
        if pair not in self._steps:
            p, q = self.rows(pair)
            law, accepted = self.rule.step(p, q)
            self._steps[pair] = Step(*pair, law, accepted, alpha(p, q), tv(law, p))
        return self._steps[pair]

    def search(self, seed: int, tries: int) -> list[Searched]:
        """The smallest example found for each of :data:`QUESTIONS`, in their order, over :data:`WIDE`.

        ``tries``: examples tried at each level. Raises as :meth:`step` does.
        """
        seen: dict[str, int] = {}  # question: the least vocabulary on which it was answered with yes

        def never(pair: Pair) -> bool:
            for question in QUESTIONS:
                if self._shows(self.step(pair), question):
                    seen.setdefault(question.id, len(pair[0]))
            return False  # nothing found ends this search: it is to see which questions to ask

        smallest_violation(pairs, never, seed, WIDE, tries)
        return [self._asked(question, seed, tries, seen.get(question.id)) for question in QUESTIONS]

    def _asked(self, question: Question, seed: int, tries: int, least: int | None) -> Searched:
        if least is None:
            return Searched(question, None, searched(WIDE, tries))
        levels = [level for level in WIDE if level[0] >= least]
        pair = smallest_violation(pairs, lambda e: self._shows(self.step(e), question), seed, levels, tries)
        assert pair is not None, "the same search found one"
        return Searched(question, self.step(pair), "found")

    def _shows(self, step: Step, question: Question) -> bool:
        return bool(question.seen(step, self.tolerance))


def step_tolerance(rule: UserRule, pair: Pair) -> float:
    """How far a float answer may be off: 1e-9, or 1e-5 for a rule that answers a pair of rows in less than float64."""
    p, q = map(floats, pair)
    answers: list[Any] = []
    for x in np.flatnonzero(q > 0).tolist():
        try:
            functions = rule.functions(len(p))
            answers.append(asked(functions.accept, "accept", p.copy(), q.copy(), x))
            if rule.acceptance_of(p, q, x) < 1 - NEGLIGIBLE:
                answers.append(asked(functions.residual, "residual", p.copy(), q.copy(), x))
        except Broken:  # the contract has an eye on that
            continue
    return NARROW if any(str(getattr(a, "dtype", "")).endswith(("float32", "float16")) for a in answers) else NEGLIGIBLE
