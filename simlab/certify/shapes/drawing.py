"""All cases of a certificate as one sequence: those that are fixed, and behind them drawn ones without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simlab.certify.contracts.base import Case
from simlab.certify.shapes.events import OF_KIND
from simlab.certify.shapes.positions import ANYTHING, LAST_AND_NEXT, POSITIONS, Wanted
from simlab.certify.shapes.ranges import MOST, Axis, Band, Ranges, Shape, numbers
from simlab.certify.shapes.rows import classes
from simlab.certify.shapes.turns import TwoInTurn

Drawn = Callable[[Shape, np.random.Generator, Wanted], Case]  # what makes a drawn case, and what it looks at

IN_TURN, OF_TWO_SHAPES = 0.25, 0.5  # the part of cases that are two in turn, and of these the part of another shape
AT_EDGES = 0.2  # the part of them that look at an edge, if their sequences reach one
PURPOSE = 13  # of the generator of a drawn case, beside those of calls
# of the axes, from a case to the next: of n cases, of a band or of one cell alone of up to 11 that have it, no gap is
# much more than 5 / n, as by chance one would be; 13 / n in one of the 29 cells of V and batch, which share all gammas
STEPS = 758**0.5, 966**0.5, 1822**0.5
# why cases are drawn: in turn, since counts of their sizes look odd (both look at anything), or since those of some
# positions or of a kind of rows do
PURPOSES = ANYTHING, *(Wanted(positions, kind) for kind in ("", *OF_KIND.values()) for positions in (None, *POSITIONS))
LATER = 1 << 20  # turns between the numbers of cases of a range that are drawn for different purposes


def cells(axes: Sequence[Axis], at_most: Mapping[str, int]) -> tuple[Ranges, ...]:
    """The bands of V with those of every other axis, as far as there are shapes in them: the cells of the maps.

    In the turn in which they are looked at: few drafts before many, and small vocabularies somewhat before large ones.
    """
    others = [axis for axis in axes if axis.name != "V"]
    turns = [
        (2 * j + i, Ranges({"V": band, other.name: own}).within(axes, at_most))
        for vocabulary in axes
        if vocabulary.name == "V"
        for other in others
        for i, band in enumerate(vocabulary.bands)
        for j, own in enumerate(other.bands)
    ]
    return tuple(cell for _, cell in sorted(turns, key=lambda turn: turn[0]) if cell is not None)


@dataclass(eq=False)
class Drawing(Sequence[Case]):
    """Case i of ``fixed`` ones, or the drawn one of that number: a range by turns, and how often it was drawn from.

    ``len`` is the number of fixed ones. The one that was drawn last is kept, for its rows are large.
    """

    fixed: tuple[Case, ...]
    axes: tuple[Axis, ...]
    make: Callable[[Ranges], Drawn]
    ranges: tuple[Ranges, ...]
    seed: int
    _last: tuple[int, Case] | None = field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.fixed)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.fixed)

    def number(self, at: int, turn: int, purpose: int = 0) -> int:
        """The number of the case that is drawn from range ``at`` at this turn, for one of ``PURPOSES``."""
        return len(self.fixed) + at + (turn + purpose * LATER) * len(self.ranges)

    def range_of(self, i: int) -> Ranges:
        """What a drawn case was drawn from."""
        return self.ranges[(i - len(self.fixed)) % len(self.ranges)]

    def shape(self, i: int) -> Shape:
        """The shape of a drawn case."""
        return self._drawn(i)[0]

    def __getitem__(self, i):  # type: ignore[no-untyped-def]
        if i < len(self.fixed):
            return self.fixed[i]
        if self._last is None or self._last[0] != i:
            self._last = None  # before the next one takes room
            self._last = i, self._made(i)
        return self._last[1]

    def shapes(self, i: int) -> tuple[Shape, ...]:
        """The shapes of a drawn case, in the turn in which they are called: one, or two."""
        case = self[i]
        return (self.shape(i), case.other or self.shape(i)) if isinstance(case, TwoInTurn) else (self.shape(i),)

    def _made(self, i: int) -> Case:
        """The drawn case of a number; some of those whose rows fit memory twice are two in turn.

        The other one may have the sizes of the first case of the range, where it has no more numbers and is in the same
        ranges; but the batch of this one, for a call is an outcome of a range however many sequences it has.
        """
        shape, rng = self._drawn(i)
        make, where, count = self.make(self.range_of(i)), self._where(i, rng), numbers(self.axes, shape)
        if count > MOST // 2 or rng.random() > IN_TURN:
            return make(shape, rng, where)
        other = self._other(i, shape) if where == ANYTHING and rng.random() < OF_TWO_SHAPES else None
        return TwoInTurn((make(shape, rng, where), make(other or shape, rng, where)), other)

    def _other(self, i: int, shape: Shape) -> Shape | None:
        """Another shape for the second of two in turn, if there is one."""
        first = dict(self._drawn(len(self.fixed) + (i - len(self.fixed)) % len(self.ranges))[0].sizes)
        found = Shape(tuple((first | {name: size for name, size in shape.sizes if name == "batch"}).items()))
        few = numbers(self.axes, found) <= numbers(self.axes, shape) and classes(found["V"]) == classes(shape["V"])
        there = all((found in one) == (shape in one) for one in self.ranges)
        return found if few and there and found != shape else None

    def _where(self, i: int, rng: np.random.Generator) -> Wanted:
        """What a drawn case looks at: what it was asked to, sometimes edges, or anything."""
        where = PURPOSES[(i - len(self.fixed)) // len(self.ranges) // LATER]
        if where == ANYTHING and rng.random() < AT_EDGES:
            return LAST_AND_NEXT[int(rng.integers(len(LAST_AND_NEXT)))]
        return where

    def _drawn(self, i: int) -> tuple[Shape, np.random.Generator]:
        turn, at = divmod(i - len(self.fixed), len(self.ranges))
        rng = np.random.default_rng([self.seed, PURPOSE, at, turn])
        where = {axis.name: self._evenly(k, axis.name, at, turn) for k, axis in enumerate(self.axes)}
        return self.ranges[at].draw(self.axes, where, rng), rng

    def _evenly(self, k: int, name: str, at: int, turn: int) -> float:
        """From 0 to 1, where on an axis the case of a turn is: evenly over all cases that have this band of the axis.

        Multiples of an irrational number, modulo 1 and from a random start, leave no large gap for long.
        """
        alike = self._alike[name, self.ranges[at].of[name]]
        return float((self._starts[k] + STEPS[k] * (turn * len(alike) + alike.index(at))) % 1)

    @cached_property
    def _starts(self) -> list[float]:
        """Where each axis begins."""
        return np.random.default_rng([self.seed, PURPOSE, len(self.ranges)]).random(len(self.axes)).tolist()

    @cached_property
    def _alike(self) -> dict[tuple[str, Band], list[int]]:
        """The ranges that have a band of an axis."""
        found: dict[tuple[str, Band], list[int]] = {}
        for at, one in enumerate(self.ranges):
            for name, band in one.of.items():
                found.setdefault((name, band), []).append(at)
        return found
