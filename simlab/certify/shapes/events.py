"""What is counted of drawn shapes: classes of tokens at a few places, whose law is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Counted
from simlab.certify.shapes.rows import EASY, HEAVY, LAWS

EXAMINED, NEXT, BEFORE, LAST = "the token looked at", "the next token", "an earlier token", "the last sequence"
PAIR, NEIGHBOURS = PARTED = "both together", "neighbours in the batch"  # two tokens each
BRANCH = "an earlier token of the branch"  # of a tree: the next one of the branch, or another
EVENTS = (EXAMINED, NEXT, BEFORE, LAST, *PARTED, BRANCH)
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
    if name not in PARTED:
        return LAWS[count]
    heavy = float(LAWS[count][HEAVY[count]])
    return np.outer([1 - heavy, heavy], [1 - heavy, heavy]).ravel()


@dataclass(frozen=True, eq=False)
class AtPlaces:
    """Tokens at some places of an outcome, each by its class; two tokens together only as heavy ones or others.

    Several ``groups`` of places have the same law, as sequences of a batch do: a call counts once for each of them.
    """

    name: str
    count: int  # of classes
    groups: tuple[tuple[Look, ...], ...]

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

    def codes(self, tokens: Array) -> Array:
        return np.concatenate([events.codes(tokens[k::2]) for k, events in enumerate(self.of)])

    def format(self, code: int) -> str:
        return self.of[0].format(code)
