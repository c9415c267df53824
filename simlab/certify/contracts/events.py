"""What outcomes are counted by: labels of some of their tokens together, and the law of these under the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import Block


@dataclass(frozen=True, eq=False)
class Look:
    """One of ``count`` labels of an outcome: ``label`` takes tokens ``[n, N]`` to ``int[n]``, ``name`` says it."""

    label: Callable[[Array], Array]
    count: int
    name: Callable[[int], str] = str

    def __call__(self, tokens: Array) -> Array:
        return self.label(tokens)


@dataclass(frozen=True, eq=False)
class Events:
    """Events that outcomes are counted by: every combination of the labels of some looks is one.

    Several ``groups`` of looks have one law, and are independent under the target, as sequences of a batch can be: a
    call counts once for each. What is wrong may be so in a whole call at once: bounds, and what would have been seen,
    count calls.
    """

    name: str  # what is counted, in words
    law: Array  # the probability [events] of each
    groups: tuple[tuple[Look, ...], ...]
    between: str = ", "  # two labels, for people
    distance: int = 0  # of two places or sequences, where what is counted has to do with two
    calls: int = 1  # that make one outcome, in turn
    parts: int = 1  # that are counted apart, each with as many events, and a law of its own
    places: tuple[int, ...] = ()  # of each group, the position in its sequence of the (first) token that is counted

    def shares(self, counts: Array) -> tuple[Array, Array]:
        """The shares ``[events]`` of each in its part, those of the target where nothing was seen, and the target's."""
        each = np.asarray(counts, np.float64).reshape(self.parts, -1)
        law, seen = self.law.reshape(self.parts, -1) * self.parts, each.sum(axis=1, keepdims=True)
        return np.where(seen > 0, each / np.where(seen > 0, seen, 1), law).ravel(), law.ravel()

    def codes(self, tokens: Array) -> Array:
        """The event ``int64[m]`` of outcomes ``tokens[n, N]``: n for each group, unless a look leaves some out."""
        return np.concatenate([_codes(group, tokens) for group in self.groups])

    def by_place(self, tokens: Array) -> dict[int, Array]:
        """How often ``[events]`` each was seen, of groups with one position together."""
        found: dict[int, Array] = {}
        for place, group in zip(self.places, self.groups, strict=bool(self.places)):
            seen = np.bincount(_codes(group, tokens), minlength=len(self.law))
            found[place] = found[place] + seen if place in found else seen
        return found

    def format(self, code: int) -> str:
        """An event for people."""
        found: list[str] = []
        for look in reversed(self.groups[0]):
            code, label = divmod(code, look.count)
            found.append(look.name(label))
        return self.between.join(reversed(found))


def _codes(group: tuple[Look, ...], tokens: Array) -> Array:
    first, *others = group
    code = first(tokens).astype(np.int64)
    for look in others:
        code = code * look.count + look(tokens)
    return code


def independent(laws: Sequence[Array]) -> Array:
    """The law of events together that are independent; the last one changes first."""
    return np.asarray(reduce(np.multiply.outer, laws).ravel())


# Of one block ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Places:
    """The tokens at ``places`` of a block, each by its label.

    ``labels[V]`` are whole numbers from 0 without gaps; ``None`` tells every token apart.
    """

    name: str
    places: tuple[int, ...]
    labels: Array | None = None

    def of(self, block: Block) -> Events:
        """What is counted of outcomes of this block."""
        count = self._count(block.vocabulary)
        looks = tuple(Look(partial(label_at, place, self.labels), count) for place in self.places)
        return Events(self.name, self.law(block), (looks,))

    def law(self, block: Block) -> Array:
        """The probability ``[events]`` of each under p: a sum over contexts, position by position."""
        size, order, classes = block.vocabulary, block.order, self._count(block.vocabulary)
        labels = np.arange(size) if self.labels is None else self.labels
        state = np.ones((1, 1))  # [events so far, contexts]
        for i, table in enumerate(block.p[: max(self.places) + 1]):
            watched = i in self.places
            if order == 0:
                masses = np.bincount(labels, table[0], classes) if watched else np.ones(1)
                state = (state[:, None] * masses[:, None]).reshape(-1, 1)
                continue
            joint = state[:, :, None] * table  # [events, contexts, V]
            if watched:
                joint = joint[:, None] * (labels == np.arange(classes)[:, None])[:, None]
                joint = joint.reshape(-1, *joint.shape[2:])
            joint = joint.reshape(len(joint), -1)  # contexts one token longer
            states = size ** min(order, i + 1)
            state = joint.reshape(len(joint), -1, states).sum(axis=1)
        return state.sum(axis=1)

    def _count(self, vocabulary: int) -> int:
        """How many labels there are."""
        return vocabulary if self.labels is None else int(self.labels.max()) + 1


def label_at(place: int, labels: Array | None, tokens: Array) -> Array:
    """The label ``int[n]`` of the token at a place of ``tokens[n, N]``, or the token."""
    return np.asarray(tokens[:, place] if labels is None else labels[tokens[:, place]])


def joint(block: Block) -> Places:
    """All tokens of the block, each as it is."""
    return Places("all tokens together", tuple(range(len(block.p))))


def windows(block: Block, width: int) -> tuple[Places, ...]:
    """``width`` neighbouring tokens, so that every position is in one of the windows."""
    last = len(block.p) - width
    starts = sorted({*range(0, last, width), last})
    return tuple(Places(f"tokens {s} to {s + width - 1}", tuple(range(s, s + width))) for s in starts)


# Of several sequences ----------------------------------------------------------------------------------------------


def of_sequences(name: str, of: Sequence[Events], *starts: Sequence[int]) -> Events:
    """Events of independent sequences together, ``of[k]`` of the one whose tokens begin at the k-th of ``starts``.

    Each list of ``starts`` is a group: sequences with the same laws, none of which is in another group.
    """
    groups = (tuple(_look(one, start) for one, start in zip(of, each, strict=True)) for each in starts)
    return Events(name, independent([one.law for one in of]), tuple(groups), "; ")


def _look(events: Events, start: int) -> Look:
    return Look(partial(_codes_from, events, start), len(events.law), events.format)


def _codes_from(events: Events, start: int, tokens: Array) -> Array:
    return events.codes(tokens[:, start:])


def together(blocks: tuple[Block, ...]) -> Events:
    """All tokens of all sequences."""
    starts = np.cumsum([0, *(len(block.p) for block in blocks)]).tolist()[:-1]
    return of_sequences("all tokens together", [joint(block).of(block) for block in blocks], starts)


# Of calls in turn --------------------------------------------------------------------------------------------------


def in_turn(events: Events) -> tuple[Events, ...]:
    """Events of two calls in turn, and of two that are two apart: what a generator that is reset or shared makes
    dependent, or buffers that are swapped."""
    return (_of_two(events, "two calls in turn", 2), _of_two(events, "calls 2 apart", 3))


def _of_two(events: Events, told: str, calls: int) -> Events:
    """Those of the first and of the last of so many calls together."""
    looks = (Look(partial(_codes_of, events, k, calls), len(events.law), events.format) for k in (0, calls - 1))
    law = independent([events.law] * 2)
    return Events(f"{events.name}, in {told}", law, (tuple(looks),), ", then ", calls=calls)


def _codes_of(events: Events, k: int, calls: int, tokens: Array) -> Array:
    return events.codes(tokens[: len(tokens) // calls * calls][k::calls])


@dataclass(frozen=True, eq=False)
class Every(Events):
    """Events by the number of their call, modulo ``period``: what goes wrong in one call of so many.

    Calls are numbered within a batch, for batches begin anywhere in the function's own count.
    """

    of: Events = field(kw_only=True)
    period: int = field(kw_only=True)

    def format(self, code: int) -> str:
        place, event = divmod(code, len(self.of.law))
        return f"{self.of.format(event)}, call {place} of {self.period}"


def every(events: Events, period: int) -> Every:
    """Events by the number of their call, modulo ``period``."""
    looks = Look(partial(_number, period), period), _look(events, 0)
    law = np.tile(events.law / period, period)
    return Every(f"{events.name}, in every {period}th call", law, (looks,), of=events, period=period)


def _number(period: int, tokens: Array) -> Array:
    return np.arange(len(tokens)) % period


PERIODS = (60, 64, 100)
LONG = 128 * max(PERIODS)  # calls in turn, by which one wrong call in so many shows


def at_intervals(events: Events) -> tuple[Every, ...]:
    """Events of every 60th, 64th and 100th call, which holds those of most other periods."""
    return tuple(every(events, period) for period in PERIODS)
