"""Drawn shapes under each contract: which block is drawn, and how it is handed over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import exp, gcd, log
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.base import Case, Function
from simlab.certify.contracts.blocks import Block, Tokens, scaled
from simlab.certify.contracts.candidates import CandidatesCase
from simlab.certify.contracts.cases import BlocksCase
from simlab.certify.contracts.decoding import as_token, decoded
from simlab.certify.contracts.drafting import DraftCase, positions
from simlab.certify.contracts.events import Events
from simlab.certify.contracts.layouts import Layout
from simlab.certify.contracts.logits import LogitsCase
from simlab.certify.shapes import rows
from simlab.certify.shapes.blocks import (
    FEW_BITS,
    PLAIN,
    POINTS,
    SPECIAL,
    DrawnBlock,
    RowMaker,
    drawn_block,
    events_of,
    greedy,
    labels_of,
)
from simlab.certify.shapes.copies import KeptArrays
from simlab.certify.shapes.events import (
    EVERY,
    EXAMINED,
    FORCED,
    LAST,
    OF_KIND,
    PAIR,
    REPEATED,
    Classify,
    at,
    at_each,
    at_places,
    distance,
    pairs_apart,
    pairs_of,
)
from simlab.certify.shapes.positions import ANYTHING, Wanted
from simlab.certify.shapes.ranges import Shape
from simlab.processes.filters import Settings

KINDS = 5  # blocks of a batch that differ
TEMPERATURES = 1.0, 0.5, 0.7, 2.0
UNCUT = 1 << 30
NUCLEUS, PARTS = 64, 64  # tokens that top-p leaves, at most; each has more than an even share by PARTS
SEVERAL, WIDE = 8, 64  # tokens from which there are seven classes, and from which top-p leaves many
GREEDY = 1 / 8  # the part of batches of which a sequence is greedy
ENDED = 1 / 8  # the part of sequences that a token may end, where it is long enough before another does
REFUSED = 1 / 2  # the part of candidates of which the first ones may be refused for certain
REPEATING = 1 / 5  # the part of drafts of which some rows are those of the place before
# the part of sequences in which some rows are certain of a token, or likely, or have a few, and about how many are
GRAMMAR, OF_PLACES = 3 / 8, 1 / 3
AS_MUCH_FORCED = 3  # times as often as another kind these are certain
SPECIALLY = 1 / 8  # the part of candidates whose row is of such a kind

Generator = np.random.Generator


# Blocks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _OfDrawn:
    """What all cases of drawn blocks do: rows, which depend on no draft, are kept, and only the places that are looked
    at are completed."""

    drawn: tuple[DrawnBlock, ...] = field(kw_only=True)

    @property
    def kinds(self: Any) -> tuple[str, ...]:
        """How q differs from p where it is hard; there are several kinds of rows in a batch."""
        return (self.drawn[0].kind or "bonus",) if self.layout.single else ("batch",)

    @property
    def completing(self) -> tuple[DrawnBlock, ...]:
        return self.drawn

    @cached_property
    def given_as(self: Any) -> Arrays:
        (inputs,) = self.inputs(1, np.random.default_rng(0))
        return KeptArrays.of(self.arrays, *self.handed(inputs))

    def prepare(self: Any, inputs: Any) -> Any:
        """The inputs, once the rows are converted."""
        self.layout.arguments(self.given_as, *self.handed(inputs[0]), inputs[0], np.random.default_rng(0))
        return inputs


@dataclass(frozen=True, eq=False)
class DrawnBlocks(_OfDrawn, BlocksCase):
    """Drawn blocks for a verifier or an operator."""


@dataclass(frozen=True, eq=False)
class DrawnLogits(_OfDrawn, LogitsCase):
    """A drawn block for an operator that is given logits."""

    @property
    def kinds(self) -> tuple[str, ...]:
        temperature, top_k, top_p = self.settings
        cut = "top-k" if top_k != UNCUT else "top-p" if top_p != 1 else "uncut"
        return (*super().kinds, f"temperature {temperature:g}", cut)


def blocks(layout: Layout, arrays: Arrays, shape: Shape, rng: Generator, where: Wanted = ANYTHING) -> Case:
    """A block, or a batch, of which half have as many drafts as the shape says and others fewer."""
    maker = POINTS if not layout.scored else FEW_BITS if arrays.coarse else PLAIN
    drawn = _drawn_blocks(layout, shape, rng, maker, where)
    name = _described(shape, drawn[0]) if layout.single else str(shape)
    found = tuple(one.block for one in drawn)
    return DrawnBlocks(name, found, _events_of(drawn, rng), layout=layout, arrays=arrays, drawn=drawn)


def logits(layout: Layout, arrays: Arrays, shape: Shape, rng: Generator, where: Wanted = ANYTHING) -> Case:
    """A block for an operator that is given logits, at one of several temperatures, with top-k, top-p, or neither."""
    size, gamma = shape["V"], shape["gamma"]
    temperature = TEMPERATURES[int(rng.integers(len(TEMPERATURES)))]
    cut = CUTS[int(rng.integers(len(CUTS)))](size, rng)
    # top-p would take light tokens off a row that is nearly certain of another
    drawn = drawn_block(size, gamma, rng, replace(PLAIN, row=cut.row, nearly=cut.top_p == 1), where)
    p, q = ([cut.left(table[0]) for table in tables] for tables in (drawn.block.p, drawn.block.q))
    given = [[cut.given(row, rng)[None] for row in side] for side in (p, q)]
    if drawn.kind == OF_KIND[REPEATED]:  # what is cut off as well
        given[0][drawn.at[0]] = given[0][drawn.at[0] - drawn.apart]
    raw_p, raw_q = (tuple(scaled(table**temperature) for table in tables) for tables in given)
    drawn = replace(drawn, block=Block(tuple(row[None] for row in p), tuple(row[None] for row in q), 0))
    name = f"{_described(shape, drawn)}, temperature {temperature:g}"
    return DrawnLogits(
        name + (f", {cut.text}" if cut.text else ""),
        (drawn.block,),
        events_of((drawn,), (0,)),
        layout=layout,
        arrays=arrays,
        raw=Block(raw_p, raw_q, 0),
        settings=Settings(temperature, cut.top_k, cut.top_p),
        drawn=(drawn,),
    )


@dataclass(frozen=True)
class Cut:
    """A filter, and rows that it leaves: tokens that it takes off are given back to rows that lack them.

    Only one of top-k and top-p is used, for what is kept to be the same whichever is applied first.
    """

    row: Callable[[int, Generator], rows.Row]  # a row of p, as it is when cut
    left: Callable[[Array], Array]  # what is taken for a row once cut
    given: Callable[[Array, Generator], Array]  # a row that comes to this one when cut
    top_k: int = UNCUT
    top_p: float = 1.0
    text: str = ""


def _whole(size: int, rng: Generator) -> Cut:
    return Cut(rows.any_row, lambda row: row, lambda row, rng: row)


def _top_k(size: int, rng: Generator) -> Cut:
    """So many tokens, of which the last has twice the mass of the next at least; rows with fewer have no others."""
    least = 2 if size < SEVERAL else 6  # a token of each class
    if size == least:
        return _whole(size, rng)
    kept = min(size - 1, round(exp(rng.uniform(log(least), log(max(least, size // 2)) + 1e-9))))

    def given(row: Array, rng: Generator) -> Array:
        return rows.with_tail(row, 1.0, rng) if np.count_nonzero(row) == kept else row

    left = partial(rows.likeliest_of, count=kept)
    return Cut(partial(rows.kept_row, kept), left, given, top_k=kept, text=f"top-k {kept}")


def _top_p(size: int, rng: Generator) -> Cut:
    """Tokens of more than a least mass each: the mass that is asked for is reached with the last of them, in its middle
    or before, and not without it. Others have much less."""
    if size < WIDE:
        return _top_k(size, rng)
    beyond = float(rng.choice((1 / 8, 1 / 4, 1 / 2)))  # of what is cut, beside 1
    kept, least = rows.LEAST_KEPT, 1 / 20
    most = min(NUCLEUS, size // (3 * PARTS))  # so that all others have less than half of the least, whatever the row
    if most > kept and rng.random() < 0.5:
        kept = int(rng.integers(kept, most + 1))
        least = 1 / (PARTS * kept)

    def left(row: Array) -> Array:
        return scaled(np.where(row > least, row, 0)) if (row > least).any() else rows.likeliest_of(row, 8)

    def given(row: Array, rng: Generator) -> Array:
        return rows.with_tail(row, beyond, rng, exact=True)

    top_p = float(np.round((1 - least / 2) / (1 + beyond), 6))
    return Cut(partial(rows.kept_row, kept), left, given, top_p=top_p, text=f"top-p {top_p:g}")


CUTS = _whole, _top_k, _top_p


def _described(shape: Shape, drawn: DrawnBlock) -> str:
    return f"{shape}, mostly ended by token {drawn.at[0]}"


def _drawn_blocks(
    layout: Layout, shape: Shape, rng: Generator, maker: RowMaker, where: Wanted
) -> tuple[DrawnBlock, ...]:
    """A block for each sequence, a few that differ, in any turn; one at least has all drafts of the shape.

    One sequence is sometimes a greedy one.
    """
    size, gamma, count = shape["V"], shape["gamma"], shape.batch
    kinds = [drawn_block(size, gamma, rng, maker, where)]
    if layout.single:
        return (kinds[0],)
    while len(kinds) < min(count, KINDS):
        shorter = layout.ragged and rng.random() < 0.5
        kinds.append(drawn_block(size, int(rng.integers(gamma)) if shorter else gamma, rng, maker, where))
    turn = [0, *rng.integers(len(kinds), size=count - 1).tolist()]
    rng.shuffle(turn)
    found = tuple(kinds[k] for k in turn)
    if count > 1 and rng.random() < GREEDY:
        k = int(rng.integers(count))
        return (*found[:k], greedy(size, found[k].block.gamma, rng), *found[k + 1 :])
    return found


def _events_of(drawn: tuple[DrawnBlock, ...], rng: Generator) -> tuple[Events, ...]:
    """All sequences together, the last one that is not greedy, and pairs."""
    ends = np.cumsum([len(one.block.p) for one in drawn]).tolist()
    every = [(one, end - len(one.block.p)) for one, end in zip(drawn, ends, strict=True)]
    found = events_of(*zip(*every, strict=True))
    if len(drawn) == 1:
        return found
    looks = [at(start + one.at[0], one.at[1]) for one, start in every if not one.greedy]
    count = rows.classes(drawn[0].block.vocabulary)
    return (*found, at_places(LAST, count, ((looks[-1],),)), *pairs_of(looks, count, rng))


# Candidates, drafts, sequences ----------------------------------------------------------------------------------------


def candidates(shape: Shape, rng: Generator, where: Wanted = ANYTHING) -> Case:
    """Candidates of one position, from a row that can draw as many; the first ones are often none that p can keep."""
    size, count = shape["V"], shape["K"]
    before = _refused(size, count, rng, where)
    of = rows.row_without(before, size, rng) if before else rows.any_row(size, rng)
    first = rng.choice(np.flatnonzero(of.p == 0), before, replace=False)
    some = (rows.hard(of, rng) for _ in range(8))
    hard = ((kind, q) for kind, q in some if np.delete(q > 0, first).sum() >= 2 * (count - before))
    kind, q = next(hard, ("uniform", np.ones(size) / size))
    name, labels = EXAMINED, of.labels
    if not before and rng.random() < SPECIALLY:
        name = _kind(rng)
        of = SPECIAL[name](of, rng)
        labels = labels_of(name, of)
    events = at_places(name, of.count, ((at(0, labels),),))
    return CandidatesCase(str(shape), of.p, rows.behind(q, first), count, (events,), kinds=(kind,))


def _kind(rng: Generator) -> str:
    """A kind of rows beside those that are looked at."""
    return str(rng.choice([*SPECIAL, *[FORCED] * (AS_MUCH_FORCED - 1)]))


def _refused(size: int, count: int, rng: Generator, where: Wanted) -> int:
    """How many candidates are refused for certain before one may be kept: as many as ``where`` says, any, or none."""
    most = min(count - 1, size - rows.LEAST_KEPT)
    if most < 1 or size < SEVERAL:
        return 0
    if where.up_to(most):
        return int(rng.choice(where.up_to(most)))
    return int(rng.integers(most + 1)) if rng.random() < REFUSED else 0


@dataclass(frozen=True, eq=False)
class DrawnDraft(DraftCase):
    """Rows that a drafter draws from, and whether some are those of the place before."""

    kinds: tuple[str, ...] = ()


def draft(shape: Shape, rng: Generator, where: Wanted = ANYTHING) -> Case:
    """Rows that a drafter draws from."""
    size, gamma = shape["V"], shape["gamma"]
    one = rows.any_row(size, rng)
    turns = rng.integers(size, size=gamma)
    again = _repeated_places(gamma, rng)
    for i in again:
        turns[i] = turns[i - 1]
    every = [rows.turned(one, int(by)) for by in turns]
    kind = _kind(rng)
    special = {i: SPECIAL[kind](every[i], rng) for i in _special_places(gamma, rng)}
    q = np.stack([special.get(i, row).p for i, row in enumerate(every)])
    looks = {i: at(i, row.labels) for i, row in enumerate(every) if i not in special}
    others = {i: at(i, labels_of(kind, row)) for i, row in special.items()}
    events = _events_in_turn(looks, kind, others, one.count, rng, where)
    return DrawnDraft(str(shape), (positions(q),), events, kinds=("as before",) if again else ("rows",))


def _repeated_places(length: int, rng: Generator) -> list[int]:
    """Places whose row is that of the place before: of some blocks about half."""
    if rng.random() > REPEATING:
        return []
    return [i for i in range(1, length) if rng.random() < 0.5]


def _special_places(length: int, rng: Generator) -> list[int]:
    """Places whose row is of another kind, such as certain of a token, as a grammar forces one: never all."""
    if rng.random() > GRAMMAR:
        return []
    free = int(rng.integers(length))
    return [i for i in np.flatnonzero(rng.random(length) < OF_PLACES).tolist() if i != free]


def _events_in_turn(
    looks: Mapping[int, Classify],
    kind: str,
    others: Mapping[int, Classify],
    count: int,
    rng: Generator,
    where: Wanted,
) -> tuple[Events, ...]:
    """Of tokens by their places: one, each, all together, and two at a time; and those of a kind."""
    places = list(looks)
    among = [place for place in where.up_to(max(places)) if place in looks]
    examined = int(rng.choice(among or places))
    found = [at_places(EXAMINED, count, ((looks[examined],),), places=[examined])]
    if len(places) > 1:
        apart = distance(len(places) - 1, rng)
        first = int(rng.integers(len(places) - apart))
        one, by = places[first], places[first + apart] - places[first]
        pairs = pairs_apart(looks, by, one)
        found.append(at_places(PAIR, count, ((looks[i], looks[j]) for i, j in pairs), by))
        found.append(at_each(count, len(looks) + len(others), looks))  # first, for it says where
        found.append(at_places(EVERY, count, ((look,) for look in looks.values())))
    if others:
        found.append(at_places(kind, count, ((look,) for look in others.values()), places=others))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class TurningModel:
    """After a prefix comes a row that is turned by its tokens, in their order: all have one law in classes.

    It is turned by all of them, by the last one, or by none. Only where old tokens do not turn it are they any guess at
    the next: code that drafts from them is wrong there if it takes them for drawn from something else. ``others`` are
    at some places instead, turned in the same way.
    """

    base: rows.Row
    steps: tuple[int, int, int]  # a turn is a times the one before, b times the token, and c; V and a have no divisor
    others: Mapping[int, rows.Row] = field(default_factory=dict)

    def __call__(self, prefix: Any) -> Array:
        """The row ``[V]`` after ``prefix``; as of other models, whatever holds whole numbers is welcome."""
        tokens = prefix.tolist() if hasattr(prefix, "tolist") else list(prefix)
        if len(tokens) == 1 and isinstance(tokens[0], list | tuple):
            tokens = list(tokens[0])
        return np.roll(self._row(len(tokens)), self._turn(tokens))

    def _row(self, place: int) -> Array:
        """The row at a place, as it is before it is turned."""
        return self.others.get(place, self.base).p

    def _turn(self, tokens: list[Any]) -> Any:
        """By how many places the row is turned after these tokens.

        What is known of the prefix before is used again: a sequence grows, and from its start on each would take a time
        that is quadratic in its length.
        """
        seen, turns = self._latest[0]
        same = min(len(seen), len(tokens))
        if seen[:same] != tokens[:same]:
            same = next(i for i in range(same) if seen[i] != tokens[i])
        size, turns, added = len(self.base.p), turns[: same + 1], list[int]()
        for token in tokens[same:]:
            added.append(token if type(token) is int and 0 <= token < size else as_token(token, size))
            turns.append(self._on(turns[-1], added[-1]))
        self._latest[0] = seen[:same] + added, turns  # at once, for it may be asked by several threads
        return turns[-1]

    @cached_property
    def _latest(self) -> list[tuple[list[int], list[int]]]:
        """The last prefix, and the turns after each of its beginnings."""
        return [([], [0])]

    def _on(self, turn: Any, token: Any) -> Any:
        """By how many places a row is turned, after one token more."""
        a, b, c = self.steps
        return (turn * a + token * b + c) % len(self.base.p)

    def _turns(self, place: int, tokens: Array) -> Array:
        """By how many places the row at a place is turned, after each of ``tokens[n, >= place]``."""
        seen, turns = self._walked[0]
        if seen is not tokens:
            turns = [np.zeros(len(tokens), np.int64)]
        while len(turns) <= place:
            turns.append(self._on(turns[-1], tokens[:, len(turns) - 1]))
        self._walked[0] = tokens, turns
        return turns[place]

    @cached_property
    def _walked(self) -> list[tuple[Array | None, list[Array]]]:
        """The last outcomes, and their turns at each place up to one: all places of the same ones are asked for."""
        return [(None, [])]

    def label(self, place: int, labels: Array, tokens: Array) -> Array:
        """The classes of tokens at a place, by the labels ``[V]`` that they have in the row that is turned."""
        return np.asarray(labels[(tokens[:, place] - self._turns(place, tokens)) % len(self.base.p)])

    def completed(self, tokens: Array, rng: Generator) -> Array:
        """``tokens[n, length]`` with draws in place of every -1."""
        found = tokens.copy()
        turn = np.zeros(len(found), np.int64)
        for i in range(found.shape[1]):
            missing = np.flatnonzero(found[:, i] < 0)
            if len(missing):
                upto = self._row(i).cumsum()
                base = np.searchsorted(upto, rng.random(len(missing)) * upto[-1], side="right")
                found[missing, i] = (base + turn[missing]) % len(upto)
            turn = self._on(turn, found[:, i])
        return found


# what turns a row from token to token, by a number that has no divisor in common with V, and how often
TURNING = (lambda a: (a, 1), lambda a: (0, 1), lambda a: (0, 0))
TURNED = (0.5, 0.25, 0.25)


@dataclass(frozen=True, eq=False)
class DrawnDecode(Case):
    """A sequence of a model whose rows are one, turned.

    One that ``eos`` ends is completed as if it went on: all of its tokens have the law of the model.
    """

    name: str
    model: TurningModel
    length: int
    events: tuple[Events, ...]
    eos: int | None = None

    def inputs(self, n: int, rng: Generator) -> Array:
        return np.empty((n, 0))

    def ask(self, function: Function, inputs: Any, i: int, rng: Generator) -> Tokens:
        return decoded(function, self.model, len(self.model.base.p), self.length, self.eos, rng)

    def completed(self, tokens: Array, rng: Generator) -> Array:
        return tokens if self.eos is None else self.model.completed(tokens, rng)

    def call_arguments(self, inputs: Any, i: int) -> dict[str, Any]:
        model = f"rows of {len(self.model.base.p)} tokens, which are too long to read"
        return {"model": model, "length": self.length} | ({} if self.eos is None else {"eos": self.eos})


def decode(shape: Shape, rng: Generator, where: Wanted = ANYTHING) -> Case:
    """A sequence, which a token of the first row may end where others that do are rare."""
    size, length = shape["V"], shape["length"]
    turning = TURNING[int(rng.choice(len(TURNING), p=TURNED))](_prime_to(size, rng))
    base, steps, kind = rows.any_row(size, rng), (*turning, int(rng.integers(size))), _kind(rng)
    special = dict.fromkeys(_special_places(length, rng), SPECIAL[kind](base, rng))
    model = TurningModel(base, steps, special)
    looks = {i: partial(model.label, i, base.labels) for i in range(length) if i not in special}
    others = {i: partial(model.label, i, labels_of(kind, row)) for i, row in special.items()}
    ends = rng.random() < ENDED and size >= 2 * length and not special
    eos = int(rng.choice(size, p=model.base.p)) if ends else None
    name = str(shape) if eos is None else f"{shape}, which token {eos} ends"
    return DrawnDecode(name, model, length, _events_in_turn(looks, kind, others, base.count, rng, where), eos)


def _prime_to(size: int, rng: Generator) -> int:
    """A number from 1 to V that has no divisor in common with it."""
    while True:
        found = int(rng.integers(1, size + 1))
        if gcd(found, size) == 1:
            return found
