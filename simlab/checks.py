"""What is asked of input, and how a person is told that it is not so.

Every error is a :class:`ValueError` that names the value and what was expected. Values on an accelerator are
not read back: there, only shapes are checked.
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np

from simlab.arrays import Array, is_exact, namespace

TOLERANCE = 1e-6  # a float pmf may miss 1 by this much: room for float32 softmax rows over a large vocabulary

__all__ = [
    "as_pair",
    "as_pmf",
    "check_at_least",
    "check_choice",
    "check_number",
    "check_pmf",
    "check_tokens",
]


def as_pmf(values: Any, what: str = "pmf") -> Array:
    """``values`` as checked rows ``[..., V]``: exact if they are integers and ``Fraction``, else float64.

    Arrays and tensors keep their type. Raises ``ValueError`` where a row is no pmf.
    """
    rows = values if hasattr(values, "dtype") else _from_numbers(values, what)
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "iub":
        rows = rows.astype(np.float64)
    if is_exact(rows):
        rows = np.vectorize(lambda v: _rational(v, what), otypes=[object])(rows)
    check_pmf(rows, what)
    return rows


def _from_numbers(values: Any, what: str) -> np.ndarray:
    try:
        rows = np.asarray(values, dtype=object)
        exact = all(isinstance(v, Rational) for v in rows.ravel())
        return rows if exact else rows.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is {values!r}; expected numbers in rows of one length") from None


def _rational(value: Any, what: str) -> Fraction:
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, Real) and np.isfinite(float(value)):
        return Fraction(str(value))
    raise ValueError(f"{what} holds {value!r}; expected a rational number")


def check_pmf(rows: Array, what: str) -> None:
    """Raise ``ValueError`` unless every row ``[..., V]`` is non-negative and sums to one."""
    if rows.ndim == 0 or rows.shape[-1] == 0:
        raise ValueError(f"{what} has shape {tuple(rows.shape)}; expected [..., V] with V >= 1")
    if getattr(rows, "is_cuda", False):
        return
    xp = namespace(rows)
    total = xp.sum(rows, axis=-1)
    if not is_exact(rows) and bool(xp.any(xp.isnan(total))):
        raise ValueError(f"{what} holds NaN; expected probabilities")
    if bool(xp.any(rows < 0)):
        raise ValueError(f"{what} holds {rows[rows < 0].ravel()[0]}; expected probabilities >= 0")
    off = total != 1 if is_exact(rows) else abs(total - 1) > TOLERANCE
    if bool(xp.any(off)):
        worst = total[off].ravel()[0] if total.ndim else total
        raise ValueError(f"{what} sums to {worst}; expected a pmf that sums to 1")


def as_pair(p: Any, q: Any) -> tuple[Array, Array]:
    """p and q as checked rows of one shape and one arithmetic.

    A row written with integers alone, such as (1, 0), goes with either arithmetic. Raises ``ValueError`` where one
    is no pmf, the shapes differ, or one holds fractions and the other floats.
    """
    p, q = as_pmf(p, "p"), as_pmf(q, "q")
    if is_exact(p) != is_exact(q):
        p, q = (_unless_fractions(rows) if is_exact(rows) else rows for rows in (p, q))
    if is_exact(p) != is_exact(q):
        raise ValueError("one of p and q holds fractions and the other floats; expected the same of both")
    if tuple(p.shape) != tuple(q.shape):
        raise ValueError(f"p has shape {tuple(p.shape)} and q {tuple(q.shape)}; expected one shape [..., V]")
    return p, q


def _unless_fractions(rows: np.ndarray) -> np.ndarray:
    """Exact rows as floats if every number in them is whole."""
    return rows.astype(np.float64) if all(value.denominator == 1 for value in rows.ravel()) else rows


def check_tokens(x: Array, p: Array) -> None:
    """Raise ``ValueError`` unless ``x`` holds one token of the vocabulary for each row of ``p``."""
    if tuple(x.shape) != tuple(p.shape[:-1]):
        raise ValueError(f"x has shape {tuple(x.shape)}; expected {tuple(p.shape[:-1])}, one token a row of p")
    if getattr(x, "is_cuda", False):
        return
    outside = (x < 0) | (x >= p.shape[-1])
    if bool(namespace(x).any(outside)):
        first = x[outside].ravel()[0] if x.ndim else x
        raise ValueError(f"x holds token {int(first)}; expected 0 to {p.shape[-1] - 1}")


def check_at_least(name: str, value: Any, least: int) -> int:
    """``value`` as an ``int``; raise ``ValueError`` unless it is a whole number >= ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number >= {least}")
    return int(value)


def check_number(name: str, value: Any, least: float = 0) -> None:
    """Raise ``ValueError`` unless ``value`` is a finite number >= ``least``."""
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a finite number >= {least}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(choices)}")
