"""What all messages about bad input must do: name what is wrong, show what it is, and say what was expected instead.

How that is put is for readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any

import pytest


def refused(call: Callable[[], Any], *told: str, error: type[Exception] = ValueError) -> None:
    """``call`` raises an ``error`` whose message holds all of ``told``, in their order, and says what was expected."""
    with pytest.raises(error, match="expected") as caught:
        call()
    in_turn(str(caught.value), told)


def in_turn(said: str, told: Sequence[str]) -> None:
    """All of ``told`` is in a message, in this order."""
    rest = said
    for each in told:
        assert each in rest, f"{each!r} is not where it should be in {said!r}"
        rest = rest[rest.index(each) + len(each) :]


def refuses(call: Callable[..., Any], key: str, value: Any) -> None:
    """``call`` refuses the ``value`` of its parameter ``key`` by name, and by itself if it is a number or a word.

    Of what holds many numbers a message shows what is wrong, as an entry, the shape or the sum.
    """
    alone = isinstance(value, str | int | Fraction | None) or (isinstance(value, float) and isfinite(value))
    shown = rf"({re.escape(repr(value))}|shape \(\))" if alone else ""
    with pytest.raises(ValueError, match=rf"(?s)\b{key}s?\b.*{shown}.*expected"):
        call(**{key: value})
