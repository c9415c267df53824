"""A user's two functions as a rule that can be run on rows of unknown numbers, and on exact rows alike.

:class:`~theory.judge.user_rule.UserRule` reads answers as floats or fractions; here they are exact, and may be numbers
that are not known (:mod:`theory.symbolic.unknown`): every question that is asked about one cuts the space of rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Rational, Real
from typing import Any, ClassVar

import numpy as np

from simlab.arrays import Array
from simlab.messages import shown
from theory.judge.user_rule import Functions, UserRule, array_of, exact_pmf, last_line, scalar_of
from theory.symbolic.cells import Empty, Limit, Unsound
from theory.symbolic.unknown import Refused, Unknown

OURS = Refused, Limit, Unsound, Empty  # what is raised through a user's function, and is none of its faults


class BrokenRule(ValueError):
    """A function of a rule raised, or its answer is no probability and no pmf."""


@dataclass(frozen=True, eq=False)
class RuleOnUnknowns(UserRule):
    """The rule that two functions make, on rows of ``Fraction`` or of unknown numbers.

    Every method raises :class:`BrokenRule` where an answer is no answer, and ``Refused`` where it is a float that is
    not whole, or cannot be computed for unknown numbers.
    """

    name: str = "rule"  # what it is called
    slack: ClassVar[float] = 0

    def __repr__(self) -> str:
        return self.name

    def acceptance_of(self, p: Array, q: Array, x: int) -> Any:
        if not q[x] > 0:
            return 1
        expected = "expected one number from 0 to 1"
        answer = _asked(self.functions_at(p, q, x).accept, "accept", p, q, x)
        value = _exact(scalar_of(answer, "accept", expected, BrokenRule), "accept", expected)
        if not value >= 0 or not value <= 1:
            raise BrokenRule(f"accept returns {value} for x = {x}; {expected}")
        return value

    def _rest(self, p: Array, q: Array, x: int) -> Array:
        expected = f"expected a pmf of {len(p)} numbers"
        answer = _asked(self.functions_at(p, q, x).residual, "residual", p, q, x)
        row = array_of(answer, "residual", p, expected, BrokenRule)
        values = [_exact(value, "residual", expected) for value in row.tolist()]
        return exact_pmf(values, f"residual for x = {x}", BrokenRule)

    def functions_at(self, p: Array, q: Array, x: int) -> Functions:
        try:
            return self.functions(len(p))
        except OURS:
            raise
        except (Exception, SystemExit) as error:
            raise BrokenRule(f"no rule is made for {len(p)} tokens: {last_line(error)}") from error


def _asked(function: Callable[[Array, Array, int], Any], name: str, p: Array, q: Array, x: int) -> Any:
    """What a function answers for copies of the rows; what it raises, in words."""
    try:
        with np.errstate(all="ignore"):
            return function(p.copy(), q.copy(), x)
    except OURS:
        raise
    except TypeError as error:
        if isinstance(p[0], Unknown) and _takes_three(function):  # then it may be because of them
            raise Refused(f"{name} does what a number that is not known cannot: {last_line(error)}") from error
        raise BrokenRule(f"{name} raises {last_line(error)}") from error
    except (Exception, SystemExit) as error:
        raise BrokenRule(f"{name} raises {last_line(error)}") from error


def _takes_three(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        return False
    return True


def _exact(value: Any, name: str, expected: str) -> Any:
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Rational | np.integer | np.bool):
        return value
    whole = isinstance(value, Real) and float(value).is_integer() and value == float(value)
    if whole:  # a written 1.0 says what it means
        return int(float(value))
    if isinstance(value, Real) and np.isfinite(float(value)):
        raise Refused(f"{name} answers {float(value)!r}, a float, where rows are exact; write a Fraction")
    raise BrokenRule(f"{name} returns {shown(value)}; {expected}")
