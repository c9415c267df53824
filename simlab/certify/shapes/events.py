"""What is counted of drawn shapes: classes of tokens at a few places, whose law is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Counted
from simlab.certify.shapes.rows import HEAVY, LAWS, classes

LOOKED_AT, NEXT, BEFORE, PAIR = "the token looked at", "the next token", "an earlier token", "both together"
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


def heavy_or_not(count: int) -> Array:
    """The mass of tokens that are not in the class of most mass, and of those that are."""
    heavy = float(LAWS[count][HEAVY[count]])
    return np.array([1 - heavy, heavy])


@dataclass(frozen=True, eq=False)
class AtPlaces:
    """Tokens at some places of an outcome, each by its class; ``parted`` tells heavy tokens from the others only.

    Several ``groups`` of places have the same law, as sequences of a batch do: a call counts once for each of them.
    """

    name: str
    count: int  # of classes
    groups: tuple[tuple[Look, ...], ...]
    parted: bool = False

    @cached_property
    def law(self) -> Array:
        masses = LAWS[self.count]
        one = heavy_or_not(self.count) if self.parted else masses
        return reduce(np.multiply.outer, [one] * len(self.groups[0])).ravel()

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


LAST, NEIGHBOURS = "the last sequence", "neighbours in the batch"
PARTED = (PAIR, NEIGHBOURS)  # of which heavy tokens and others are told apart


def law_of(name: str, size: int) -> Array:
    """The law of a kind of events over V tokens."""
    one = heavy_or_not(classes(size))
    return np.outer(one, one).ravel() if name in PARTED else LAWS[classes(size)]


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
