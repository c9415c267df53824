"""Initialisation of new drafts: SJD, section 4.2.

On a raster-order grid with ``columns`` columns, a new draft copies (a token, or a pmf) from a *source* position: the
nearest one to the left or above that is not new itself, or the first position of a line, or column, that is wholly
new. That one, and one at an edge, where there is no neighbour, starts at random and is its own source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from simlab.arrays import Array, namespace

Initial = Literal["random", "repeat-left", "repeat-above", "sample-left", "sample-above"]
INITIALS: tuple[str, ...] = get_args(Initial)


def itself(position: Array, new: Array, columns: int) -> Array:
    return position


def left(position: Array, new: Array, columns: int) -> Array:
    """The last old position, or the start of the line if that is new too."""
    start = position - position % columns
    return namespace(position).where(start >= new, start, new - 1)


def above(position: Array, new: Array, columns: int) -> Array:
    """The nearest old position in the column, or its top if all of them are new."""
    lines = -((new - position - 1) // columns)  # how many lines up, rounded up
    source = position - lines * columns
    return namespace(position).where(source < 0, position % columns, source)


SOURCES: dict[str, Callable[[Array, Array, int], Array]] = {"random": itself, "left": left, "above": above}


def source(initial: str, position: Array, new: Array, columns: int) -> Array:
    """``[B, M]``: the position each new position ``[B, M]`` copies from; ``new[B, 1]`` is the first of them."""
    return SOURCES[initial.rpartition("-")[2]](position, new, columns)
