"""A drawn block: drafts that are accepted nearly always up to a position, then a row that is hard.

One of the rows before is often hard as well, at any distance: a coin that comes again has been looked at there, and
what is left of it is no fair coin; sometimes both are one row. And one beside them is often nearly certain of a token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import Block
from simlab.certify.contracts.events import Events
from simlab.certify.shapes import rows
from simlab.certify.shapes.events import (
    BEFORE,
    EXAMINED,
    FORCED,
    HALVES,
    LACKING,
    MASSES,
    NARROW,
    NEXT,
    OF_KIND,
    ONE_OR_TWO,
    PAIR,
    REPEATED,
    at,
    at_places,
    distance,
)
from simlab.certify.shapes.positions import ANYTHING, Wanted
from simlab.certify.shapes.rows import Row

SURE = 0.2  # the part of blocks with two certain drafts in turn, where a coin that is used twice is seen best
AGAIN, AS_CERTAIN = 0.6, 2 / 3  # the part of blocks in which an earlier row is hard too, and of these with two certain
AS_BEFORE, AT_ONCE = 0.25, 0.5  # of these the part where both rows are one, and of those where it is the one before
CERTAINLY = 0.75  # the part of blocks in which a row before the one that is hard, or behind it, is nearly certain
WHOLLY = 0.25  # of these the part in which it is certain
HALF = 0.4  # of rows behind the one that is hard the part with a few tokens instead

Place = tuple[int, Array]  # of an outcome, and the labels [V] of its tokens


@dataclass(frozen=True, eq=False)
class DrawnBlock:
    """A block, and the places that are looked at: ``at``, the next one, and one before, or ``None``.

    ``kind`` says how q differs from p at the first of them, or that its row was there before; it is empty for most of
    the bonus tokens. ``apart`` is how many positions
    before it the other hard row is, 0 where there is none. ``beside`` is a place whose row has a likely token, is
    nearly certain or certain, or has a few, with the name of that kind of events: a certain token has the label 0, one
    of a few too, and the others 1.
    """

    block: Block
    at: Place
    next: Place | None
    before: Place | None
    kind: str = ""
    apart: int = 0
    beside: tuple[str, Place] | None = None
    greedy: bool = False  # whether each token is certain; then one beside is looked at alone

    @property
    def places(self) -> tuple[Place, ...]:
        """All of them."""
        looked_at = self.before, self.at, self.next, self.beside and self.beside[1]
        return tuple(place for place in looked_at if place is not None)

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        """``tokens[n, gamma + 1]`` with a draw from p in place of -1 at the places that are looked at."""
        return self.block.completed(tokens, rng, [place for place, _ in self.places])


@dataclass(frozen=True)
class RowMaker:
    """How rows are made."""

    row: Callable[[int, np.random.Generator], Row]  # a row of p that is looked at
    hard: Callable[[Row, np.random.Generator], tuple[str, Array]]  # the row of q for it, and how it differs
    # rows of p and q, the former like the one given, whose drafts are accepted nearly always at so many positions
    passed: Callable[[Row, int, np.random.Generator], tuple[Array, Array]]
    halfway: Callable[[Row, np.random.Generator], Array]  # the row of q of a hard one whose drafts are often kept
    alike: bool = True  # whether the rows that are passed have the law in classes of those that are looked at
    certain: bool = False  # whether rows may be made certain of a token, or have two
    nearly: bool = True  # whether they may then also be made nearly certain of one
    # rows of q that may be asked for, by how they differ from p
    kinds: Mapping[str, Callable[[Row, np.random.Generator], Array]] = field(default_factory=dict)


ASKED = {OF_KIND[name]: rows.HARD[OF_KIND[name]] for name in (LACKING, NARROW)}
PLAIN = RowMaker(rows.any_row, rows.hard, rows.nearly, rows.halfway, certain=True, kinds=ASKED)
FEW_BITS = RowMaker(  # for bfloat16 and float16
    *(rows.dyadic_row, rows.dyadic_hard, rows.same, rows.dyadic_halfway),
    certain=True,
    nearly=False,
    kinds={rows.FEW_TOKENS: rows.dyadic_few},
)
# where a draft counts as the only one there could be
POINTS = RowMaker(rows.any_row, rows.point, rows.certain, lambda of, rng: rows.likeliest(of), alike=False, certain=True)


def drawn_block(
    size: int, gamma: int, rng: np.random.Generator, maker: RowMaker = PLAIN, where: Wanted = ANYTHING
) -> DrawnBlock:
    """A block of gamma drafts over V tokens; where it mostly ends is drawn, and which rows it has."""
    wanted = maker.kinds.get(where.kind)
    repeats = where.kind == OF_KIND[REPEATED]
    ends, one = _place(min(gamma, int(repeats)), max(0, gamma - bool(wanted)), rng, where), maker.row(size, rng)
    around = _around(ends, gamma, maker, rng, repeats)
    anew = {ends, ends + 1, around.before, around.again, around.certain}
    p, q = np.empty((gamma + 1, size)), np.empty((gamma, size))
    labels, kinds = dict[int, Array](), dict[int, str]()
    special = _special(around.certain == ends + 1, maker.nearly, rng)
    earlier = one
    for i in range(gamma + 1):
        of = maker.row(size, rng) if i in anew else rows.turned(one, int(rng.integers(size)))
        earlier = of if i == around.again else earlier
        if i == ends and around.same and not wanted:
            of, kinds[i] = earlier, OF_KIND[REPEATED]
        if i == around.certain:
            of = SPECIAL[special](of, rng)
        p[i], labels[i] = of.p, labels_of(special, of) if i == around.certain else of.labels
        if i == ends < gamma and wanted:
            kinds[i], q[i] = where.kind, wanted(of, rng)
        elif i < gamma and (i in around.sure or (i == around.certain and not (maker.alike and rng.random() < 0.5))):
            q[i] = rows.likeliest(of)
            kinds.setdefault(i, "two certain")
        elif i == around.again:
            q[i] = maker.halfway(of, rng)
        elif i < ends:
            p[i], q[i] = maker.passed(of, ends, rng)
        elif i < gamma:
            kind, q[i] = maker.hard(of, rng)
            kinds.setdefault(i, kind)

    def place(i: int | None) -> Place | None:
        return None if i is None or i > gamma else (i, labels[i])

    return DrawnBlock(
        Block(tuple(row[None] for row in p), tuple(row[None] for row in q), 0),
        (ends, labels[ends]),
        place(ends + 1 if ends + 1 != around.certain else None),
        place(around.before if around.before != around.certain else None),
        kinds.get(ends, ""),
        0 if around.again is None else ends - around.again,
        None if around.certain is None else (special, (around.certain, labels[around.certain])),
    )


def _heavier(mass: float) -> Callable[[Row, np.random.Generator], Row]:
    return lambda of, rng: rows.with_heavy(mass, of)


SPECIAL: dict[str, Callable[[Row, np.random.Generator], Row]] = {
    **{name: _heavier(mass) for name, mass in MASSES.items()},
    FORCED: rows.wholly_certain,
    HALVES: rows.half_and_half,
}


def labels_of(special: str, of: Row) -> Array:
    """The labels ``[V]`` of a row of that kind."""
    return rows.labels_of_few(of) if special in ONE_OR_TWO else of.labels


def _special(behind: bool, nearly: bool, rng: np.random.Generator) -> str:
    """Which row a place has beside the one where blocks mostly end; few blocks would pass one with a few tokens."""
    if behind and rng.random() < HALF:
        return HALVES
    return FORCED if rng.random() < WHOLLY or not nearly else str(rng.choice([*MASSES]))


class _Around(NamedTuple):
    """Places of a block beside the one where it mostly ends."""

    before: int | None  # an earlier one that is looked at
    again: int | None  # that one, where its row is hard as well
    certain: int | None  # one whose row is nearly certain of a token
    sure: set[int]  # two whose drafts are certain
    same: bool  # whether the one where it ends has the row of that one


def _around(ends: int, gamma: int, maker: RowMaker, rng: np.random.Generator, repeats: bool) -> _Around:
    """Which they are; a row is one that was there before if it is asked for that, or now and then."""
    hard = ends > 0 and (repeats or rng.random() < AGAIN)
    same = hard and (repeats or rng.random() < AS_BEFORE)
    apart = 1 if ends and same and rng.random() < AT_ONCE else distance(ends, rng) if ends else 0
    before = ends - apart if ends and (maker.alike or hard) else None
    again, certain = before if hard else None, None
    if maker.certain and rng.random() < CERTAINLY:
        certain = _beside([i for i in range(ends) if i != again], ends, gamma, rng)
    if again is not None and rng.random() < AS_CERTAIN:
        return _Around(before, again, certain, {again, ends}, same)
    return _Around(before, again, certain, {ends, ends + 1} if rng.random() < SURE else set(), same)


def events_of(drawn: tuple[DrawnBlock, ...], starts: tuple[int, ...]) -> tuple[Events, ...]:
    """What is counted of blocks whose tokens begin at ``starts``: all blocks together, each kind where there is one."""
    count = rows.classes(drawn[0].block.vocabulary)
    every = list(zip(drawn, starts, strict=True))
    both = [(block, start) for block, start in every if not block.greedy]
    kinds: dict[str, list[tuple[int, tuple[Place, ...]]]] = {  # where a block begins, and places of it
        EXAMINED: [(start, (block.at,)) for block, start in both],
        NEXT: [(start, (block.next,)) for block, start in both if block.next],
        BEFORE: [(start, (block.before,)) for block, start in both if block.before],
        **{
            kind: [(start, (block.beside[1],)) for block, start in every if block.beside and block.beside[0] == kind]
            for kind in SPECIAL
        },
        **{
            name: [(start, (block.at,)) for block, start in both if block.kind == kind]
            for name, kind in OF_KIND.items()
        },
        PAIR: [(start, (block.at, block.next)) for block, start in both if block.next],
    }
    apart = dict.fromkeys((EXAMINED, REPEATED), drawn[0].apart if len(drawn) == 1 else 0)
    return tuple(
        at_places(
            name,
            count,
            ([at(start + place, labels) for place, labels in group] for start, group in groups),
            apart.get(name, 0),
            [group[0][0] for _, group in groups],
        )
        for name, groups in kinds.items()
        if groups
    )


def greedy(size: int, gamma: int, rng: np.random.Generator) -> DrawnBlock:
    """A block of gamma drafts whose rows of p and q are certain of a token, mostly the same one."""
    best = rng.integers(size, size=gamma + 1)
    drafted = np.where(rng.random(gamma) < 0.75, best[:-1], rng.integers(size, size=gamma))
    p, q = (tuple(np.eye(1, size, int(token)) for token in side) for side in (best, drafted))
    place = int(rng.integers(gamma + 1))
    beside = FORCED, (place, (np.arange(size) != best[place]).astype(np.int8))
    return DrawnBlock(Block(p, q, 0), (0, np.zeros(size, np.int8)), None, None, beside=beside, greedy=True)


def _beside(earlier: list[int], ends: int, gamma: int, rng: np.random.Generator) -> int | None:
    """One of the ``earlier`` places of a block, or the next one, each half of the time where there are both."""
    if ends < gamma and not (earlier and rng.random() < 0.5):
        return ends + 1
    return int(rng.choice(earlier)) if earlier else None


def _place(least: int, last: int, rng: np.random.Generator, where: Wanted) -> int:
    """Where a block mostly ends: at once, late, at the last place, next to a power of two, or anywhere.

    At one of some positions, if it is asked for and there are any.
    """
    among = [place for place in where.up_to(last) if place >= least]
    if among:
        return int(rng.choice(among))
    powers = 1 << int(rng.integers(0, max(1, last.bit_length())))
    choices = (0, last, last - 1, powers + int(rng.integers(-1, 2)), int(rng.integers(last + 1)))
    chosen = choices[int(rng.choice(len(choices), p=(0.15, 0.2, 0.15, 0.15, 0.35)))]
    return min(last, max(least, chosen))
