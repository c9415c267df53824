"""Wrap a user's rule as a :class:`simlab.rules.Rule`.

It is two functions of one position: ``accept(p, q, x)``, the probability of accepting x, and ``residual(p, q, x)``, the
pmf to draw from once x is rejected, with rows ``[V]`` and a token. :class:`UserRule` asks them row by row, hands them
copies, and reads their answers strictly: what is no probability and no pmf is :class:`Broken`, and says so in words.

They are asked only what matters to what is emitted: about tokens that can be drafted, q(x) > 0, and for the residual
only where x can be rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from numbers import Rational, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from simlab.arrays import Array, Number, is_exact, number
from simlab.checks import TOLERANCE
from simlab.messages import printable, shown
from simlab.rules import Rule, Step

MESSAGE = 1000  # characters of an exception that are read
NEGLIGIBLE = 1e-9  # what floats may miss a bound by, and a chance of rejection too small to be drawn


class Functions(NamedTuple):
    """The two functions of one position that make a rule: from p, q ``[V]`` and a drafted token x."""

    accept: Callable[[Array, Array, int], Any]  # the probability of accepting x
    residual: Callable[[Array, Array, int], Any]  # the pmf [V] to draw from once x is rejected


class Broken(Exception):
    """A rule did not answer as a rule must: the id of what it breaks (:mod:`theory.judge.contract`), and the position,
    p, q and x, where it is known.
    """

    def __init__(self, check: str, message: str, at: tuple[Array, Array, int] | None = None) -> None:
        super().__init__(message)
        self.check = check
        self.at = at


class Inexact(Exception):
    """A rule was given rationals and answered with floats: no fault, but no exact evidence either."""


@dataclass(frozen=True, eq=False)
class UserRule(Rule):
    """The rule that two functions make. For NumPy and ``Fraction`` rows.

    Every method raises :class:`Broken` where an answer is no answer, and :class:`Inexact` where rationals are answered
    with floats.
    """

    functions: Callable[[int], Functions]  # from the vocabulary V; they get copies of the rows
    slack: ClassVar[float] = NEGLIGIBLE  # a chance of rejection, of float rows, so small that it is never drawn

    def surely(self, accepted: Number, like: Array) -> bool:
        """Whether a draft accepted with this probability is never rejected, in the arithmetic of the row ``like``."""
        return bool(accepted >= 1 - (0 if is_exact(like) else self.slack))

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        accepted = [self.acceptance_of(*row) for row in _positions(p, q, x)]
        return np.array(accepted, dtype=p.dtype).reshape(np.shape(x))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        drawn = [self.residual_of(*row) for row in _positions(p, q, x)]
        return np.array(drawn, dtype=p.dtype).reshape(p.shape)

    def step_rows(self, p: Array, q: Array) -> Step:
        """As every rule's, row by row; no residual is computed where x is never rejected."""
        size = p.shape[-1]
        steps = [self.step(*row) for row in zip(p.reshape(-1, size), q.reshape(-1, size), strict=True)]
        law, acceptance = (np.array(part, dtype=p.dtype) for part in zip(*steps, strict=True))
        return Step(acceptance.reshape(p.shape[:-1])[()], law.reshape(p.shape))

    def acceptance_of(self, p: Array, q: Array, x: int) -> Number:
        """The probability of accepting x, for rows ``[V]``; 1 where q(x) = 0, which is not asked."""
        if not q[x] > 0:
            return number(1, p)
        return read(as_probability, self.functions_at(p, q, x).accept, "accept", p, q, x)

    def residual_of(self, p: Array, q: Array, x: int) -> Array:
        """The pmf ``[V]`` to draw from after x is rejected; p where it never is, which is not asked."""
        return p if self.surely(self.acceptance_of(p, q, x), p) else self._rest(p, q, x)

    def step(self, p: Array, q: Array) -> tuple[Array, Number]:
        """The law ``[V]`` of what is emitted for one pair of rows, and how often a draft is accepted, in their kind of
        numbers.
        """
        law, accepted = p * 0, number(0, p)
        for x in range(len(p)):
            if not q[x] > 0:
                continue
            probability = self.acceptance_of(p, q, x)
            law[x] += q[x] * probability
            accepted += q[x] * probability
            if self.surely(probability, p):
                law[x] += q[x] * (1 - probability)  # at most a billionth, so that nothing is lost
            else:
                law = law + q[x] * (1 - probability) * self._rest(p, q, x)
        return law, accepted

    def _rest(self, p: Array, q: Array, x: int) -> Array:
        return read(as_row, self.functions_at(p, q, x).residual, "residual", p, q, x)

    def functions_at(self, p: Array, q: Array, x: int) -> Functions:
        """The functions for rows of that size; ``p``, ``q`` and ``x`` are told where none are made."""
        try:
            return self.functions(len(p))
        except Exception as error:
            raise Broken("answers", f"no rule is made for {len(p)} tokens: {last_line(error)}", (p, q, x)) from error


def _positions(p: Array, q: Array, x: Array) -> Any:
    size = p.shape[-1]
    return zip(p.reshape(-1, size), q.reshape(-1, size), np.ravel(x).tolist(), strict=True)


# Asking and reading --------------------------------------------------------------------------------------------


def read(reader: Callable[..., Any], function: Any, name: str, p: Array, q: Array, x: int) -> Any:
    """What ``reader`` makes of what a function, called ``name``, answers for copies of the rows."""
    try:
        return reader(asked(function, name, p.copy(), q.copy(), x), name, p)
    except Broken as broken:
        broken.at = p, q, x
        raise


def asked(function: Callable[[Array, Array, int], Any], name: str, p: Array, q: Array, x: int) -> Any:
    """What a function, called ``name``, answers for the rows themselves, not checked; :class:`Broken` if it raises."""
    try:
        with np.errstate(all="ignore"):  # what a division by zero comes to is looked at, not how
            return function(p, q, x)
    except (Exception, SystemExit) as error:
        raise Broken("answers", f"{name} raises {last_line(error)}") from error


def last_line(error: BaseException) -> str:
    """An exception as Python ends its report of it: the type and the message, in one line."""
    try:
        said = str(error)[:MESSAGE]
    except Exception:
        said = "(its message raises too)"
    line = printable(f"{type(error).__name__}: {said}" if said else type(error).__name__)
    return line if len(line) <= 200 else f"{line[:197]}..."


def as_probability(answer: Any, name: str, like: Array) -> Number:
    """An answer of the function ``name`` as a number from 0 to 1, in the arithmetic of the row ``like``.

    A float may miss a bound by a billionth, and is cut. Raises :class:`Broken` if it is no such number, and
    :class:`Inexact` if rationals are answered with a float other than 0 and 1.
    """
    expected = "expected one number from 0 to 1"
    try:
        return _probability(answer, name, like, expected)
    except (ArithmeticError, TypeError, ValueError, RuntimeError) as error:
        raise Broken("accept", f"{name} returns {shown(answer)}; {expected}: {last_line(error)}") from error


def _probability(answer: Any, name: str, like: Array, expected: str) -> Number:
    value = scalar_of(answer, name, expected, partial(Broken, "accept"))
    if not isinstance(value, Real):
        raise Broken("accept", f"{name} returns {shown(value)}; {expected}")
    if is_exact(like) and not np.isnan(float(value)):
        value = _rational(value, name)
        slack: Number = Fraction(0)
    else:
        value, slack = float(value), NEGLIGIBLE
    if not -slack <= value <= 1 + slack:
        raise Broken("accept", f"{name} returns {shown(value)}; {expected}")
    return min(max(value, number(0, like)), number(1, like))


def as_row(answer: Any, name: str, like: Array) -> Array:
    """An answer of the function ``name`` as a pmf, of the shape ``[V]`` and in the arithmetic of the row ``like``.

    A float row may miss 1 by a millionth, and is scaled: code that draws from it does the same. Raises :class:`Broken`
    if it is no such pmf, and :class:`Inexact` if rationals are answered with floats other than 0 and 1.
    """
    expected = f"expected a pmf of {len(like)} numbers"
    try:
        return _row(answer, name, like, expected)
    except (ArithmeticError, TypeError, ValueError, RuntimeError) as error:
        raise Broken("residual", f"{name} returns {shown(answer)}; {expected}: {last_line(error)}") from error


def _row(answer: Any, name: str, like: Array, expected: str) -> Array:
    broken = partial(Broken, "residual")
    row = array_of(answer, name, like, expected, broken)
    values = row.tolist()
    if row.dtype.kind not in "fiubO" or not all(isinstance(value, Real) for value in values):
        raise broken(f"{name} returns {shown(answer)}; {expected}")
    if not np.isfinite(row.astype(np.float64)).all():
        found = "NaN" if np.isnan(row.astype(np.float64)).any() else "infinity"
        raise broken(f"{name} returns {found}; {expected}")
    if is_exact(like):
        return exact_pmf([_rational(value, name) for value in values], name, broken)
    return _float_row(row.astype(np.float64), name)


def _float_row(row: Array, name: str) -> Array:
    if row.min() < -NEGLIGIBLE:
        raise Broken("residual", f"{name} holds {row.min():.6g}; expected probabilities >= 0")
    total = row.sum()
    if abs(total - 1) > TOLERANCE:
        raise Broken("residual", f"{name} sums to {total:.9g}; expected 1")
    row = np.maximum(row, 0.0)
    return row / row.sum()


# of answers in any kind of numbers; ``broken`` makes the error of a message


def scalar_of(answer: Any, name: str, expected: str, broken: Callable[[str], Exception]) -> Any:
    """The one value that an answer of the function ``name`` is."""
    if getattr(answer, "ndim", 0):
        raise broken(f"{name} returns an array of shape {tuple(answer.shape)}; {expected}")
    return answer.item() if hasattr(answer, "item") else answer


def array_of(answer: Any, name: str, like: Array, expected: str, broken: Callable[[str], Exception]) -> Array:
    """An answer of the function ``name`` as an array of the shape of the row ``like``."""
    try:
        row = np.asarray(answer)
    except ValueError as error:  # lists of other lengths in one
        raise broken(f"{name} returns {shown(answer)}; {expected}: {last_line(error)}") from error
    if row.shape != like.shape:
        what = f"an array of shape {row.shape}" if row.ndim else shown(answer)
        raise broken(f"{name} returns {what}; {expected}")
    return row


def exact_pmf(values: Sequence[Any], name: str, broken: Callable[[str], Exception]) -> Array:
    """Exact numbers ``[V]`` that ``name`` stands for, where they are a pmf."""
    for value in values:
        if not value >= 0:
            raise broken(f"{name} holds {value}; expected probabilities >= 0")
    if (total := sum(values)) != 1:
        raise broken(f"{name} sums to {total}; expected 1")
    return np.array(values, dtype=object)


def _rational(value: Any, name: str) -> Fraction:
    if isinstance(value, Rational):
        return Fraction(value)
    if value in (0.0, 1.0):  # a written 0.0 or 1.0 says what it means
        return Fraction(int(value))
    raise Inexact(f"{name} answers {shown(value)} where rows are rationals")
