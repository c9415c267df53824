"""Implementations that are known to be wrong, and correct ones that a test may not reject.

Bugs are told apart by their numbers, which the guide lists. :func:`bugs` and :func:`correct` are what the certifier is
itself tested with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from simlab.certify.base import Function
from simlab.certify.known import generators, verifying

__all__ = ["Implementation", "bugs", "correct"]


class Implementation(NamedTuple):
    """A callable for a contract; ``mutant`` is the number of the bug in it, empty where it is correct."""

    contract: str
    name: str
    mutant: str
    make: Callable[[], Function]


def bugs() -> tuple[Implementation, ...]:
    """Every bug of every contract; those of one law first."""
    found = [
        Implementation("verify", bug.name, bug.mutant, partial(generators.plain, bug.run))
        for bug in verifying.SUSPECTS.values()
    ]
    found += [Implementation("verify", bug.name, bug.mutant, bug.run) for bug in generators.BUGS.values()]
    return tuple(found)


def correct() -> tuple[Implementation, ...]:
    """Every correct implementation of every contract."""
    return tuple(Implementation("verify", name, "", _always(trap)) for name, trap in generators.TRAPS.items())


def _always(function: Any) -> Callable[[], Function]:
    return lambda: function
