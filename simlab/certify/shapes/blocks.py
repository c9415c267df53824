"""A drawn block: drafts that are accepted nearly always up to a position, then a row that is hard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import Block
from simlab.certify.shapes import rows
from simlab.certify.shapes.events import BEFORE, EXAMINED, NEXT, PAIR, AtPlaces, Look, at
from simlab.certify.shapes.rows import Row

SURE = 0.2  # the part of blocks with two certain drafts in turn, where a coin that is used twice is seen best

Place = tuple[int, Array]  # of an outcome, and the labels [V] of its tokens


@dataclass(frozen=True, eq=False)
class DrawnBlock:
    """A block, and the places that are looked at: ``at``, the next one, and one before, or ``None``.

    ``kind`` says how q differs from p at the first of them; it is empty for the bonus.
    """

    block: Block
    at: Place
    next: Place | None
    before: Place | None
    kind: str = ""

    @property
    def places(self) -> tuple[Place, ...]:
        """All of them."""
        return tuple(place for place in (self.before, self.at, self.next) if place is not None)

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        """``tokens[n, gamma + 1]`` with a draw from p in place of -1 at the places that are looked at."""
        return self.block.completed(tokens, rng, [place for place, _ in self.places])


@dataclass(frozen=True)
class Making:
    """How rows are made."""

    row: Callable[[int, np.random.Generator], Row]  # a row of p that is looked at
    hard: Callable[[Row, np.random.Generator], tuple[str, Array]]  # the row of q for it, and how it differs
    # rows of p and q, the former like the one given, whose drafts are accepted nearly always at so many positions
    passed: Callable[[Row, int, np.random.Generator], tuple[Array, Array]]
    alike: bool = True  # whether the rows that are passed have the law in classes of those that are looked at


PLAIN = Making(rows.row, rows.hard, rows.nearly)
FEW_BITS = Making(rows.dyadic_row, rows.dyadic_hard, rows.same)  # for bfloat16 and float16
POINTS = Making(rows.row, rows.point, rows.certain, alike=False)  # where a draft counts as the only one there could be


def drawn_block(size: int, gamma: int, rng: np.random.Generator, making: Making = PLAIN) -> DrawnBlock:
    """A block of gamma drafts over V tokens; where it mostly ends is drawn, and which rows it has."""
    ends, one = _place(gamma, rng), making.row(size, rng)
    before = int(rng.integers(ends)) if ends and making.alike else None
    anew = {ends, ends + 1, before}
    sure = {ends, ends + 1} if rng.random() < SURE else set()
    p, q = np.empty((gamma + 1, size)), np.empty((gamma, size))
    labels, kinds = dict[int, Array](), dict[int, str]()
    for i in range(gamma + 1):
        of = making.row(size, rng) if i in anew else rows.turned(one, int(rng.integers(size)))
        p[i], labels[i] = of.p, of.labels
        if i < ends:
            p[i], q[i] = making.passed(of, ends, rng)
        elif i < gamma:
            kinds[i], q[i] = ("two certain", rows.likeliest(of)) if i in sure else making.hard(of, rng)
    return DrawnBlock(
        Block(tuple(row[None] for row in p), tuple(row[None] for row in q), 0),
        (ends, labels[ends]),
        (ends + 1, labels[ends + 1]) if ends < gamma else None,
        None if before is None else (before, labels[before]),
        kinds.get(ends, ""),
    )


def events_of(drawn: tuple[DrawnBlock, ...], starts: tuple[int, ...]) -> tuple[AtPlaces, ...]:
    """What is counted of blocks whose tokens begin at ``starts``: all blocks together, each kind where there is one."""
    count = rows.classes(drawn[0].block.vocabulary)
    both = [(block, start) for block, start in zip(drawn, starts, strict=True)]

    def look(place: Place, start: int) -> Look:
        return at(place[0] + start, place[1])

    kinds: dict[str, list[tuple[Look, ...]]] = {
        EXAMINED: [(look(block.at, start),) for block, start in both],
        NEXT: [(look(block.next, start),) for block, start in both if block.next],
        BEFORE: [(look(block.before, start),) for block, start in both if block.before],
        PAIR: [(look(block.at, start), look(block.next, start)) for block, start in both if block.next],
    }
    return tuple(AtPlaces(name, count, tuple(groups)) for name, groups in kinds.items() if groups)


def _place(gamma: int, rng: np.random.Generator) -> int:
    """Where a block mostly ends: at once, late, behind the last draft, next to a power of two, or anywhere."""
    powers = 1 << int(rng.integers(0, max(1, gamma.bit_length())))
    choices = (0, gamma, gamma - 1, powers + int(rng.integers(-1, 2)), int(rng.integers(gamma + 1)))
    chosen = choices[int(rng.choice(len(choices), p=(0.15, 0.2, 0.15, 0.15, 0.35)))]
    return min(gamma, max(0, chosen))
