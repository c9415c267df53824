"""What is counted of drawn shapes: classes of tokens at a few places, whose law is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np

from simlab.arrays import Array
from simlab.certify.shapes.rows import HALVES, LAWS, classes

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


@dataclass(frozen=True, eq=False)
class AtPlaces:
    """Tokens at some places of an outcome, each by its class; ``halves`` tell two halves of the mass apart only.

    Several ``groups`` of places have the same law, as sequences of a batch do: a call counts once for each of them.
    """

    name: str
    count: int  # of classes
    groups: tuple[tuple[Look, ...], ...]
    halves: bool = False

    @cached_property
    def law(self) -> Array:
        masses = LAWS[self.count]
        one = np.array([0.5, 0.5]) if self.halves else masses
        return reduce(np.multiply.outer, [one] * len(self.groups[0])).ravel()

    def codes(self, tokens: Array) -> Array:
        found = []
        for group in self.groups:
            code = np.zeros(len(tokens), np.int64)
            for look in group:
                label = look(tokens)
                code = code * self._each + (np.isin(label, HALVES[self.count]) if self.halves else label)
            found.append(code)
        return np.concatenate(found)

    def format(self, code: int) -> str:
        told = []
        for _ in self.groups[0]:
            code, digit = divmod(code, self._each)
            told.append(("one half", "the other half")[1 - digit] if self.halves else CLASSES[self.count][digit])
        return ", ".join(reversed(told))

    @property
    def _each(self) -> int:
        return 2 if self.halves else self.count


LAST, NEIGHBOURS = "the last sequence", "neighbours in the batch"
HALVED = (PAIR, NEIGHBOURS)  # what is counted by halves


def law_of(name: str, size: int) -> Array:
    """The law of a kind of events over V tokens."""
    return np.full(4, 0.25) if name in HALVED else LAWS[classes(size)]
