"""Where the tokens of new window positions come from: SJD, section 4.2.

A raster-order grid has ``columns`` columns. Position i copies (its token, or its pmf) from a *source*:
itself when it starts at random, or the nearest position to the left or above that was in the window before.
At an edge, where there is no neighbour, it starts at random; and what follows an edge follows its start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from simlab.arrays import Array, namespace

Initial = Literal["random", "repeat-left", "repeat-above", "sample-left", "sample-above"]
INITIALS: tuple[str, ...] = get_args(Initial)


def itself(position: Array, fresh: Array, columns: int) -> Array:
    return position


def left(position: Array, fresh: Array, columns: int) -> Array:
    """The last old position, or the start of the line if that is new too."""
    start = position - position % columns
    return namespace(position).where(start >= fresh, start, fresh - 1)


def above(position: Array, fresh: Array, columns: int) -> Array:
    """The nearest old position in the column, or its top if all of them are new."""
    lines = -((fresh - position - 1) // columns)  # how many lines up, rounded up
    source = position - lines * columns
    return namespace(position).where(source < 0, position % columns, source)


SOURCES: dict[str, Callable[[Array, Array, int], Array]] = {"random": itself, "left": left, "above": above}


def source(initial: str, position: Array, fresh: Array, columns: int) -> Array:
    """``[B, M]``: the position each new position ``[B, M]`` copies from; ``fresh[B, 1]`` is the first new one."""
    return SOURCES[initial.rpartition("-")[2]](position, fresh, columns)
