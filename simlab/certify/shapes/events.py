"""What is counted of drawn shapes: classes of tokens at a few places, whose law is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.events import Events, Look, label_at
from simlab.certify.shapes import rows
from simlab.certify.shapes.rows import EASY, HEAVY, LAWS, law_with

EXAMINED, NEXT, BEFORE, LAST = "the token looked at", "the next token", "an earlier token", "the last sequence"
PAIR, NEIGHBOURS = PARTED = "both together", "neighbours in the batch"  # two tokens each
BRANCH = "an earlier token of the branch"  # of a tree: the next one of the branch, or another
CERTAIN = "a token that is nearly certain"  # next to the token looked at, or before it
LIKELY = "a token that is likely"  # there as well
MASSES = {CERTAIN: rows.CERTAINTY, LIKELY: rows.LIKELIHOOD}  # of the heavy tokens of their rows
FORCED, HALVES = "a token that is certain", "a token of a few"
# of those looked at: where each draft is accepted with one probability, where there are few drafts, and where p and
# mostly the draft are those of an earlier position
LACKING, NARROW, REPEATED = (
    "a token where q is p without a class",
    "a token where q has few",
    "a token whose row was there before",
)
# of kinds that tell a token or two from all others, what there is, and how often it comes
ONE_OR_TWO = {
    BRANCH: (("the branch", "another"), (1 - EASY, EASY)),
    FORCED: (("it", "another"), (1.0, 0.0)),
    HALVES: (("one", "the others", "none of them"), (0.5, 0.5, 0.0)),
}
# where all tokens of a call have the law of those looked at
EACH, EVERY = "each token, place by place", "a token at any place"
OF_KIND = {LACKING: rows.WITHOUT, NARROW: rows.FEW_TOKENS, REPEATED: "an earlier row"}  # what there is at those
EVENTS = (EXAMINED, NEXT, BEFORE, LAST, *PARTED, BRANCH, *MASSES, FORCED, HALVES, *OF_KIND, EACH, EVERY)
PLACES = 128  # that are counted one by one, at most
CLASSES = {
    2: ("one half", "the other half"),
    7: ("an end", "a part", "heavy", "light", "light too", "rare", "no mass"),
}


Classify = Callable[[Array], Array]  # from outcomes [n, N] to the class of one of their tokens, int[n]


def at(place: int, labels: Array) -> Classify:
    """The class of the token at a place, of the classes ``labels[V]`` there."""
    return partial(label_at, place, labels)


def law_of(name: str, count: int) -> Array:
    """The law of a kind of events, of tokens in so many classes."""
    if name in ONE_OR_TWO:
        return np.array(ONE_OR_TWO[name][1])
    if name in MASSES:
        return law_with(MASSES[name], count)
    if name not in PARTED:
        return LAWS[count]
    heavy = float(LAWS[count][HEAVY[count]])
    return np.outer([1 - heavy, heavy], [1 - heavy, heavy]).ravel()


def at_places(
    name: str, count: int, groups: Iterable[Sequence[Classify]], distance: int = 0, places: Iterable[int] = ()
) -> Events:
    """Tokens at some places, each by its class of so many, or of two; two together only as heavy ones or others.

    ``places`` are those of each group in its sequence, where it has one.
    """
    looks = (tuple(_look(name, count, classify) for classify in group) for group in groups)
    return Events(name, law_of(name, count), tuple(looks), distance=distance, places=tuple(places))


def _look(name: str, count: int, classify: Classify) -> Look:
    if name in ONE_OR_TWO:
        return Look(classify, len(ONE_OR_TWO[name][0]), ONE_OR_TWO[name][0].__getitem__)
    if name in PARTED:
        return Look(partial(_heavy, HEAVY[count], classify), 2, ("another", "heavy").__getitem__)
    return Look(classify, count, CLASSES[count].__getitem__)


def _heavy(heavy: int, classify: Classify, tokens: Array) -> Array:
    return np.asarray(classify(tokens) == heavy)


def at_each(count: int, length: int, classify: Mapping[int, Classify]) -> Events:
    """Tokens of ``length`` ones at each of the given places but late ones, by their place and their class.

    All are independent, and have one law; of other places nothing is counted.
    """
    parts = min(length, PLACES)
    law = np.tile(LAWS[count], parts) / parts

    def named(label: int) -> str:
        return f"{CLASSES[count][label % count]} at place {label // count}"

    placed = ((place, one) for place, one in classify.items() if place < parts)
    looks = (Look(partial(_placed, place * count, one), len(law), named) for place, one in placed)
    return Events(EACH, law, tuple((look,) for look in looks), parts=parts)


def _placed(first: int, classify: Classify, tokens: Array) -> Array:
    return classify(tokens).astype(np.int64) + first


def distance(most: int, rng: np.random.Generator) -> int:
    """How far apart two places are, from 1 to ``most``: next to each other, a power of two, or any."""
    choices = (1, 1 << int(rng.integers(most.bit_length())), 1 + int(rng.integers(most)))
    return choices[int(rng.choice(3, p=(0.2, 0.4, 0.4)))]


def pairs_of(looks: Sequence[Classify], count: int, rng: np.random.Generator) -> tuple[Events, ...]:
    """Pairs of sequences of a batch that are one distance apart, none of them twice; none of a single sequence."""
    if len(looks) < 2:
        return ()
    apart = distance(len(looks) - 1, rng)
    pairs = pairs_apart(range(len(looks)), apart)
    return (at_places(NEIGHBOURS, count, ((looks[b], looks[c]) for b, c in pairs), apart),)


def pairs_apart(places: Collection[int], by: int, first: int = 0) -> list[tuple[int, int]]:
    """Pairs of places that are ``by`` apart, no place in two of them; ``first`` begins one, if the other is there."""
    return [(i, i + by) for i in places if i + by in places and i // by % 2 == first // by % 2]


def of_halves(both: Sequence[Events | None]) -> Events:
    """One kind of events of two cases that are called in turn, or of one of them; their distance, if it is one."""
    found = [(Half(k), events) for k, events in enumerate(both) if events]
    groups = tuple(
        tuple(replace(look, label=partial(_of_half, look, half)) for look in group)
        for half, events in found
        for group in events.groups
    )
    first, apart = found[0][1], {events.distance for _, events in found}
    places = tuple(place for _, events in found for place in events.places)
    return Events(
        *(first.name, first.law, groups),
        distance=first.distance if len(apart) == 1 else 0,
        parts=first.parts,
        places=places if len(places) == len(groups) else (),
    )


class Half:
    """Every second outcome from ``first`` on, cut once for all who look at the same ones: some keep what they found."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._of: Array | None = None

    def __call__(self, tokens: Array) -> Array:
        if self._of is not tokens:
            self._of, self._half = tokens, tokens[self.first :: 2]
        return self._half


def _of_half(look: Look, half: Half, tokens: Array) -> Array:
    return look(half(tokens))
