"""Input validation. Errors name the value and the expectation.

Every error is a :class:`ValueError` that names the value and what was expected. Values on an accelerator are
not read back: there, only shapes are checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import inf
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np

from simlab.arrays import Array, asarray, is_exact, namespace

TOLERANCE = 1e-6  # a float pmf may miss 1 by this much: room for float32 softmax rows over a large vocabulary

__all__ = [
    "as_metric",
    "as_pair",
    "as_pmf",
    "as_tokens",
    "check_at_least",
    "check_choice",
    "check_flag",
    "check_number",
    "check_pmf",
    "check_shape",
    "line_or_grid",
    "on_host",
]


def as_pmf(values: Any, what: str = "pmf") -> Array:
    """``values`` as checked rows ``[..., V]``: exact if they are integers and ``Fraction``, else float64.

    Arrays and tensors keep their type. Raises ``ValueError`` where a row is no pmf.
    """
    rows = _plain(values, what) if hasattr(values, "dtype") else _from_numbers(values, what)
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "iub":
        rows = rows.astype(np.float64)
    if "float" not in str(rows.dtype) and not is_exact(rows):
        raise ValueError(f"{what} has dtype {rows.dtype}; expected real numbers")
    if is_exact(rows):
        rows = np.asarray(np.frompyfunc(partial(_rational, what), 1, 1)(rows), dtype=object)
    check_pmf(rows, what)
    return rows


def _plain(values: Any, what: str) -> Array:
    """What NumPy can read as an array of its own, in the byte order of this machine; other libraries' as they are."""
    of_another = hasattr(values, "detach") or hasattr(values, "__array_namespace__")
    if of_another and not isinstance(values, np.ndarray | np.generic):
        return values
    if np.ma.is_masked(values):
        raise ValueError(f"{what} is {values!r}; expected a number in every place, none masked")
    plain = np.asarray(values)
    return plain.astype(plain.dtype.newbyteorder("="), copy=False)


def _from_numbers(values: Any, what: str) -> np.ndarray:
    try:
        rows = np.asarray(values, dtype=object)
        exact = all(isinstance(v, Rational) for v in rows.ravel())
        return rows if exact else rows.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is {values!r}; expected numbers in rows of one length") from None


def _rational(what: str, value: Any) -> Fraction:
    if type(value) is Fraction or getattr(
        value, "exact", False
    ):  # or a number of another kind that is no approximation
        return value
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
    if not is_exact(rows) and not bool(xp.all(xp.isfinite(rows))):
        found = "NaN" if bool(xp.any(xp.isnan(rows))) else "infinity"
        raise ValueError(f"{what} holds {found}; expected probabilities")
    kind = None if is_exact(rows) else xp.float64  # in float32 the order, which is the memory's, would matter
    total = xp.sum(rows, axis=-1, keepdims=True, dtype=kind)
    if bool(xp.any(rows < 0)):
        raise ValueError(f"{what} holds {rows[rows < 0].ravel()[0]}; expected probabilities >= 0")
    off = total != 1 if is_exact(rows) else abs(total - 1) > TOLERANCE
    if bool(xp.any(off)):
        raise ValueError(f"{what} sums to {total[off].ravel()[0]}; expected a pmf that sums to 1")


def as_pair(p: Any, q: Any, names: tuple[str, str] = ("p", "q")) -> tuple[Array, Array]:
    """p and q as checked rows of one shape and one arithmetic; errors call them by ``names``.

    A row written with integers alone, such as (1, 0), goes with either arithmetic. Raises ``ValueError`` where one
    is no pmf, the shapes differ, or one holds fractions and the other floats.
    """
    one, other = names
    p, q = _beside(as_pmf(p, one), as_pmf(q, other))
    if is_exact(p) != is_exact(q):
        p, q = (_unless_fractions(rows) if is_exact(rows) else rows for rows in (p, q))
    if is_exact(p) != is_exact(q):
        raise ValueError(f"one of {one} and {other} holds fractions and the other floats; expected the same of both")
    if tuple(p.shape) != tuple(q.shape):
        raise ValueError(f"{one} has shape {tuple(p.shape)} and {other} {tuple(q.shape)}; expected one shape [..., V]")
    return p, q


def _beside(p: Array, q: Array) -> tuple[Array, Array]:
    """Where one of the two is a NumPy array and the other is not, both as the other is."""
    if isinstance(p, np.ndarray) == isinstance(q, np.ndarray):
        return p, q
    if isinstance(p, np.ndarray):
        return asarray(p.astype(np.float64), q), q
    return p, asarray(q.astype(np.float64), p)


def _unless_fractions(rows: np.ndarray) -> np.ndarray:
    """Exact rows as floats if every number in them is whole."""
    return rows.astype(np.float64) if all(value.denominator == 1 for value in rows.ravel()) else rows


def as_tokens(x: Any, p: Array) -> Array:
    """``x`` as int64 beside the rows ``p``; raise ``ValueError`` unless it holds one token for each row."""
    x = _plain(x, "x")
    if isinstance(p, np.ndarray) != isinstance(x, np.ndarray):
        x = asarray(on_host(x), p)
    if "int" not in str(x.dtype):
        raise ValueError(f"x has dtype {x.dtype}; expected whole numbers")
    x = namespace(x).astype(namespace(x).asarray(x), namespace(x).int64)
    if tuple(x.shape) != tuple(p.shape[:-1]):
        raise ValueError(f"x has shape {tuple(x.shape)}; expected {tuple(p.shape[:-1])}, one token a row of p")
    if getattr(x, "is_cuda", False):
        return x
    outside = (x < 0) | (x >= p.shape[-1])
    if bool(namespace(x).any(outside)):
        first = x[outside].ravel()[0] if x.ndim else x
        raise ValueError(f"x holds token {int(first)}; expected 0 to {p.shape[-1] - 1}")
    return x


def check_at_least(name: str, value: Any, least: int) -> int:
    """``value`` as an ``int``; raise ``ValueError`` unless it is a whole number >= ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number >= {least}")
    return int(value)


def check_number(name: str, value: Any, least: float = 0, most: float = inf) -> None:
    """Raise ``ValueError`` unless ``value`` is a finite number from ``least`` to ``most``."""
    try:
        fine = (
            isinstance(value, Real)
            and not isinstance(value, bool)
            and np.isfinite(float(value))
            and least <= float(value) <= most
        )
    except OverflowError:
        fine = False
    if not fine:
        wanted = f"finite number >= {least}" if most == inf else f"number from {least} to {most}"
        raise ValueError(f"{name} is {value!r}; expected a {wanted}")


def on_host(values: Any) -> Any:
    """A tensor on any device, of any type, as a NumPy array; everything else as it is."""
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    return (values.double() if values.is_floating_point() else values).numpy()


def as_metric(values: Any, what: str, size: int | None = None) -> np.ndarray:
    """``values`` as a square float64 table of distances; raise ``ValueError`` where it is none.

    ``size`` is the vocabulary, where it is known.
    """
    try:
        table = np.ascontiguousarray(on_host(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is {values!r}; expected a table of numbers") from None
    wanted = "[V, V]" if size is None else f"[{size}, {size}]"
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.shape[0] != (size or table.shape[0]):
        raise ValueError(f"{what} has shape {list(table.shape)}; expected {wanted}")
    if not (table >= 0).all():
        raise ValueError(f"{what} holds {table[~(table >= 0)][0]}; expected distances >= 0")
    return table


def check_flag(name: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}; expected True or False")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(choices)}")


def check_shape(shape: Sequence[int]) -> tuple[int, int]:
    """``shape`` as (rows, columns); raise ``ValueError`` unless it is two whole numbers >= 1."""
    if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) != 2:
        raise ValueError(f"shape is {shape!r}; expected (rows, columns)")
    rows, columns = (check_at_least("a side of shape", side, 1) for side in shape)
    return rows, columns


def line_or_grid(length: int, shape: Sequence[int] | None) -> tuple[int, int]:
    """``shape``, or one row of ``length``; raise ``ValueError`` unless it holds ``length`` tokens."""
    if shape is None:
        return 1, check_at_least("length", length, 1)
    rows, columns = check_shape(shape)
    if rows * columns != check_at_least("length", length, 1):
        raise ValueError(f"shape is {tuple(shape)}; expected (rows, columns) that hold {length} tokens")
    return rows, columns
