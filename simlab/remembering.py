"""Functions that keep what they have computed, by the values of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Result = TypeVar("Result")


def remembered(size: int | None) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """A decorator that keeps the last ``size`` results of a function, all with None.

    Arguments that cannot be told by a hash, such as numbers that stand for many, are computed with each time.
    """

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        kept = lru_cache(maxsize=size)(function)

        @wraps(function)
        def call(*arguments: object) -> Result:
            try:
                hash(arguments)
            except TypeError:
                return function(*arguments)
            return kept(*arguments)

        return call

    return decorate
