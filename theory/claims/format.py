"""Numbers as text for people, and as plain JSON for files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np


def fmt(value: Any) -> str:
    """A number to read: short rationals as they are, everything else with four digits."""
    if isinstance(value, Fraction) and value.denominator < 1000:
        return str(value)
    return f"{float(value):.4g}"


def fmt_row(row: Iterable[Any]) -> str:
    """A row of numbers to read."""
    return f"({', '.join(map(fmt, row))})"


def numbers(rule: str | None = None, parameters: Mapping[str, Any] | None = None, **values: Any) -> dict:
    """A (counter)example anyone can recompute: plain numbers, and the rationals behind them under ``exact``."""
    everything = {**(parameters or {}), **values}
    exact = {name: _each(str, value) for name, value in everything.items() if _has_fraction(value)}
    named = {"rule": rule} if rule else {}
    return named | {name: plain(value) for name, value in everything.items()} | ({"exact": exact} if exact else {})


def plain(value: Any) -> Any:
    """``value`` in JSON's own types; rationals become floats, prefixes become text."""
    return _each(_number, value)


def _each(made: Callable[[Any], Any], value: Any) -> Any:
    """What is made of each number or text within."""
    if isinstance(value, Mapping):
        return {" ".join(map(str, k)) if isinstance(k, tuple) else str(k): _each(made, v) for k, v in value.items()}
    if isinstance(value, np.ndarray) or (isinstance(value, Iterable) and not isinstance(value, str)):
        return [_each(made, v) for v in value]
    return made(value)


def _number(value: Any) -> Any:
    if isinstance(value, Fraction | np.floating):
        return float(value)
    return value.item() if isinstance(value, np.integer | np.bool_) else value


def _has_fraction(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_fraction, value.values()))
    if isinstance(value, np.ndarray) or (isinstance(value, Iterable) and not isinstance(value, str)):
        return any(map(_has_fraction, value))
    return isinstance(value, Fraction)
