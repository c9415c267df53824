"""What is counted of drawn shapes: classes of tokens at a few places, whose law is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Counted
from simlab.certify.shapes.rows import EASY, HEAVY, LAWS, certain_law

EXAMINED, NEXT, BEFORE, LAST = "the token looked at", "the next token", "an earlier token", "the last sequence"
PAIR, NEIGHBOURS = PARTED = "both together", "neighbours in the batch"  # two tokens each
BRANCH = "an earlier token of the branch"  # of a tree: the next one of the branch, or another
CERTAIN = "a token that is nearly certain"  # next to the token looked at, or before it
EVENTS = (EXAMINED, NEXT, BEFORE, LAST, *PARTED, BRANCH, CERTAIN)
CLASSES = {
    2: ("one half", "the other half"),
    7: ("an end", "a part", "heavy", "light", "light too", "rare", "no mass"),
}


Look = Callable[[Array], Array]  # from outcomes [n, N] to the class of one of their tokens, int[n]


def at(place: int, labels: Array) -> Look:
    """The class of the token at a place, of the classes ``labels[V]`` there."""
    return partial(_at, place, labels)


def _at(place: int, labels: Array, tokens: Array) -> Array:
    return np.asarray(labels[tokens[:, place]])


def law_of(name: str, count: int) -> Array:
    """The law of a kind of events, of tokens in so many classes."""
    if name == BRANCH:
        return np.array([1 - EASY, EASY])
    if name == CERTAIN:
        return certain_law(count)
    if name not in PARTED:
        return LAWS[count]
    heavy = float(LAWS[count][HEAVY[count]])
    return np.outer([1 - heavy, heavy], [1 - heavy, heavy]).ravel()


@dataclass(frozen=True, eq=False)
class AtPlaces:
    """Tokens at some places of an outcome, each by its class; two tokens together only as heavy ones or others.

    Several ``groups`` of places have the same law, as sequences of a batch do: a call counts once for each of them.
    ``distance`` is that of two places or sequences, where what is counted has to do with two.
    """

    name: str
    count: int  # of classes
    groups: tuple[tuple[Look, ...], ...]
    distance: int = 0

    @property
    def parted(self) -> bool:
        """Whether heavy tokens are told from others only."""
        return self.name in PARTED

    @property
    def law(self) -> Array:
        return law_of(self.name, self.count)

    def codes(self, tokens: Array) -> Array:
        found = []
        for group in self.groups:
            code = np.zeros(len(tokens), np.int64)
            for look in group:
                label = look(tokens)
                code = code * self._each + ((label == HEAVY[self.count]) if self.parted else label)
            found.append(code)
        return np.concatenate(found)

    def format(self, code: int) -> str:
        told = []
        for _ in self.groups[0]:
            code, digit = divmod(code, self._each)
            told.append(("another", "heavy")[digit] if self.parted else CLASSES[self.count][digit])
        return ", ".join(reversed(told))

    @property
    def _each(self) -> int:
        return 2 if self.parted else self.count


def distance(most: int, rng: np.random.Generator) -> int:
    """How far apart two places are, from 1 to ``most``: next to each other, a power of two, or any."""
    choices = (1, 1 << int(rng.integers(most.bit_length())), 1 + int(rng.integers(most)))
    return choices[int(rng.choice(3, p=(0.2, 0.4, 0.4)))]


def pairs_of(looks: Sequence[Look], count: int, rng: np.random.Generator) -> tuple[AtPlaces, ...]:
    """Pairs of sequences of a batch that are one distance apart, none of them twice; none of a single sequence."""
    if len(looks) < 2:
        return ()
    apart = distance(len(looks) - 1, rng)
    firsts = [b for b in range(len(looks) - apart) if b // apart % 2 == 0]
    return (AtPlaces(NEIGHBOURS, count, tuple((looks[b], looks[b + apart]) for b in firsts), apart),)


@dataclass(frozen=True, eq=False)
class InTurn:
    """The same kind of events of two cases that are called in turn."""

    of: tuple[Counted, Counted]

    @property
    def name(self) -> str:
        return self.of[0].name

    @property
    def law(self) -> Array:
        return self.of[0].law

    @property
    def distance(self) -> int:
        """That of both, if it is one."""
        first, second = (getattr(events, "distance", 0) for events in self.of)
        return first if first == second else 0

    def codes(self, tokens: Array) -> Array:
        return np.concatenate([events.codes(tokens[k::2]) for k, events in enumerate(self.of)])

    def format(self, code: int) -> str:
        return self.of[0].format(code)
