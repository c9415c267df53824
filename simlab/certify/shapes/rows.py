"""Rows of any size whose law in classes is known beforehand, while no code can know the classes.

Every row of p gives its classes of tokens the same masses (``LAWS``). Two are places in the vocabulary where kernels go
wrong: an *end*, such as the first token or the last tile, and a *part*, such as the indices that pass 16 bits. The
others are a heavy token or a few, many light ones in two kinds, rare ones that q may never draw, and tokens without
mass. Which token is in which is drawn for each row. So what comes out of shapes that are all different can be counted
together, and compared with one law. Rows with a token that is likely, or nearly certain, have laws of their own
(:func:`with_heavy`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import TILE, scaled

LAWS = {  # the masses of classes under p, by how many there are
    2: np.array([1 / 2, 1 / 2]),
    7: np.array([1 / 8, 1 / 16, 9 / 16, 1 / 8, 1 / 16, 1 / 16, 0]),
}
HEAVY = {2: 0, 7: 2}  # the class of most mass, most often of one token
DRAFTS = {  # masses of classes under q in rows that are hard: what p has more of, excludes, or has little of
    2: ([1 / 8, 7 / 8], [3 / 4, 1 / 4]),
    7: (
        [1 / 16, 1 / 8, 1 / 4, 1 / 4, 1 / 4, 0, 1 / 16],
        [0, 0, 1 / 4, 1 / 4, 0, 0, 1 / 2],
        [5 / 8, 1 / 16, 1 / 16, 1 / 16, 1 / 16, 0, 1 / 8],
    ),
}
RARE = 5  # the class of rare tokens, of seven
CERTAINTY, LIKELIHOOD = 61 / 64, 13 / 16  # the mass of heavy tokens in rows that are nearly certain, and in likely ones
FEW, LEAST_KEPT = 1 / 4, 6  # the part of rows of which few tokens have mass, and how many at least: one of each class
AT_AN_END = 1 / 2  # of the only tokens of a row the part that are the first of the vocabulary, or the last
BOTH_ENDS = 3 / 4  # of two of which the first is so, the part where the other is the other end
A_FEW = (2, 2, 2, 3, 3, 5)  # only tokens of a row, as often as they are drawn: few bits hold their masses
EASY = 1 / 32  # the most that is rejected at a position before the one that is looked at


@dataclass(frozen=True, eq=False)
class Row:
    """A row of p, the class ``labels[V]`` of every token, and the weight of each within its class."""

    p: Array
    labels: Array
    weights: Array

    @property
    def count(self) -> int:
        """How many classes its tokens have."""
        return classes(len(self.p))


def classes(size: int) -> int:
    """How many classes V tokens have."""
    return 2 if size < 8 else 7


def row(size: int, rng: np.random.Generator) -> Row:
    """A row of p over V tokens."""
    count = classes(size)
    labels = _labels(size, count, rng)
    weights = _drawn_weights(size, rng)
    if labels[-1] == 0:  # the last token has half of what the last tile has
        weights[-1] = weights[labels == 0].sum()
    return Row(_massed(labels, weights, LAWS[count]), labels, weights)


def any_row(size: int, rng: np.random.Generator) -> Row:
    """A row of p over V tokens, most of which often have no mass, as a filter or a grammar leaves them."""
    if size < 2 * LEAST_KEPT or rng.random() > FEW:
        return row(size, rng)
    return kept_row(round(exp(rng.uniform(log(LEAST_KEPT), log(size / 2)))), size, rng)


def with_heavy(mass: float, of: Row) -> Row:
    """The same row with so much of its mass in heavy tokens."""
    return Row(_massed(of.labels, of.weights, law_with(mass, of.count)), of.labels, of.weights)


def wholly_certain(of: Row, rng: np.random.Generator) -> Row:
    """The same row with all of its mass in a token, the only one that is heavy."""
    return _only(of, [_anywhere(of, rng)])


def half_and_half(of: Row, rng: np.random.Generator) -> Row:
    """The same row with half of its mass in a token, the only one that is heavy, and half in another, or in a few.

    No more tokens have mass than had, for a filter would cut them.
    """
    first, other = _anywhere(of, rng), _anywhere(of, rng)
    if first in (0, len(of.p) - 1) and rng.random() < BOTH_ENDS:
        other = len(of.p) - 1 - first
    count = min(int(rng.choice(A_FEW)), int(np.count_nonzero(of.p)))
    drawn = dict.fromkeys([other, *(_anywhere(of, rng) for _ in range(count - 2))])
    others = [token for token in drawn if token != first] or [(first + 1) % len(of.p)]
    return _only(of, [first, *others[: 1 << (len(others).bit_length() - 1)]])


def _anywhere(of: Row, rng: np.random.Generator) -> int:
    """The first token or the last, where kernels go wrong, half of the time, else one of any class."""
    if rng.random() < AT_AN_END:
        return int(rng.choice([0, len(of.p) - 1]))
    return int(rng.choice(np.flatnonzero(of.labels == rng.integers(of.count))))


def _only(of: Row, tokens: list[int]) -> Row:
    """The same row with all of its mass in the first of these tokens, which alone is heavy, or half of it, and half in
    the others, alike."""
    heavy, labels, p = HEAVY[of.count], of.labels.copy(), np.zeros_like(of.p)
    labels[labels == heavy] = len(LAWS[of.count]) - 1
    p[tokens[1:]] = 1 / (2 * max(1, len(tokens) - 1))
    labels[tokens[0]], p[tokens[0]] = heavy, 1 / min(2, len(tokens))
    return Row(p, labels, of.weights)


def law_with(mass: float, count: int) -> Array:
    """The masses of so many classes where heavy tokens have so much of it."""
    law, heavy = LAWS[count], HEAVY[count]
    return np.where(np.arange(count) == heavy, mass, law * (1 - mass) / (1 - law[heavy]))


def turned(of: Row, by: int) -> Row:
    """The same row with every token so many places further: another row with the same law in classes."""
    return Row(*(np.roll(one, by) for one in (of.p, of.labels, of.weights)))


def hard(of: Row, rng: np.random.Generator) -> tuple[str, Array]:
    """One of the ways in which drafts differ from targets, by name, and a row of q ``[V]`` that does so."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    return kind, HARD[kind](of, rng)


def nearly(of: Row, positions: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The row, and one of q ``[V]`` whose drafts are accepted so often that a block gets past so many positions."""
    share = _share(positions)
    return of.p, scaled((1 - share) * of.p + share * np.roll(of.p, int(rng.integers(1, len(of.p)))))


def certain(of: Row, positions: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """A row of p that is nearly certain of a token, and one of q that is."""
    token = int(rng.integers(len(of.p)))
    return certainly(of.p, token, positions), np.eye(1, len(of.p), token)[0]


def certainly(p: Array, token: int, positions: int) -> Array:
    """A row of p that keeps the token so often that one gets past so many positions."""
    found = p * _share(positions)
    found[token] += 1 - found.sum()
    return found


def behind(q: Array, first: Array) -> Array:
    """A row whose distinct draws are nearly always all tokens of ``first``, in any turn, and then those of ``q``."""
    if not len(first):
        return q
    share = 1 / (16 * len(first))
    found = np.where(np.isin(np.arange(len(q)), first), 0, q)
    found *= share / found.sum()
    found[first] = (1 - share) / len(first)
    return found


def halfway(of: Row, rng: np.random.Generator) -> Array:
    """A row of q halfway between p and one that is hard: its drafts are rejected, and half of them kept at least."""
    return scaled(of.p + hard(of, rng)[1])


def _share(positions: int) -> float:
    """How much is rejected at a position before the one that is looked at."""
    return min(EASY, 1 / (4 * max(1, positions)))


def _massed(labels: Array, weights: Array, masses: Array) -> Array:
    """Weights scaled so that each class has its mass."""
    total = np.bincount(labels, weights, len(masses))
    return np.asarray(weights * (masses / np.where(total > 0, total, 1))[labels])


def labels_of_few(of: Row) -> Array:
    """Labels ``[V]`` of a row of which few tokens have mass: 0 of heavy ones, 1 of others, of the rest the next."""
    others = min(2, int(np.count_nonzero(of.p)))
    return np.where(of.p > 0, of.labels != HEAVY[of.count], others).astype(np.int8)


def likeliest(of: Row) -> Array:
    """A row of q that is certain of the likeliest heavy token: where that is one alone it is accepted half the time."""
    return np.eye(1, len(of.p), int(np.where(of.labels == HEAVY[of.count], of.p, 0).argmax()))[0]


def point(of: Row, rng: np.random.Generator) -> tuple[str, Array]:
    """As :func:`hard`, of drafts that count as the only one there could be: a heavy one, or any that p has."""
    if rng.random() < 0.6:
        return "certain", likeliest(of)
    return "any", np.eye(1, len(of.p), int(rng.choice(np.flatnonzero(of.p))))[0]


# How q differs -----------------------------------------------------------------------------------------------------


def _template(of: Row, rng: np.random.Generator) -> Array:
    """Masses of the classes under q."""
    templates = DRAFTS[of.count]
    return np.asarray(templates[int(rng.integers(len(templates)))], float)


def _by_classes(of: Row, rng: np.random.Generator) -> Array:
    """Other masses of the classes; within a class as p, or as nothing that p knows."""
    masses = _template(of, rng)
    weights = of.weights if rng.random() < 0.5 else np.roll(of.weights, int(rng.integers(len(of.p))))
    found = _massed(of.labels, weights, masses)
    return scaled(found if found.any() else of.p)


def _without(of: Row, rng: np.random.Generator) -> Array:
    """All of p but a class, so that every draft is accepted with the same probability, where a factor is seen best."""
    rare = {2: 0, 7: RARE}[of.count]
    found = np.where(of.labels == rare, 0, of.p)
    return scaled(found if found.any() else of.p)


def _certain(of: Row, rng: np.random.Generator) -> Array:
    """One token for certain: the likeliest, or any."""
    found = np.zeros_like(of.p)
    found[int(of.p.argmax()) if rng.random() < 0.75 else int(rng.integers(len(found)))] = 1
    return found


def _of_few(of: Row, rng: np.random.Generator) -> Array:
    """Two to five tokens alike, or as p has them: the likeliest, and others that p has as well."""
    there, found = np.flatnonzero(of.p), np.zeros_like(of.p)
    chosen = [int(of.p.argmax()), *there[rng.integers(len(there), size=int(rng.integers(1, 5)))].tolist()]
    found[chosen] = of.p[chosen] if rng.random() < 0.5 else 1.0
    return scaled(found)


def _flat(of: Row, rng: np.random.Generator) -> Array:
    return np.full(len(of.p), 1 / len(of.p))


def _tempered(of: Row, rng: np.random.Generator) -> Array:
    """p at another temperature."""
    return scaled(of.p ** (2.0 if rng.random() < 0.5 else 0.5))


def _other(of: Row, rng: np.random.Generator) -> Array:
    """Another row with the same law in classes."""
    return np.roll(of.p, int(rng.integers(1, len(of.p))))


WITHOUT, FEW_TOKENS = "without a class", "few tokens"
HARD = {
    "by classes": _by_classes,
    WITHOUT: _without,
    "certain": _certain,
    FEW_TOKENS: _of_few,
    "flat": _flat,
    "tempered": _tempered,
    "another row": _other,
}
KINDS = ("by classes", "by classes", WITHOUT, *HARD)  # as often as they are drawn


# Rows that few bits hold ---------------------------------------------------------------------------------------------


def dyadic_row(size: int, rng: np.random.Generator) -> Row:
    """A row of p whose masses are powers of two: of each class 1, 2, 4 ... tokens alike, the others without mass."""
    labels = _labels(size, classes(size), rng)
    law, ones = LAWS[classes(size)], np.ones(size)
    for label in range(len(law)):
        there = np.flatnonzero(labels == label)
        ones[there[1 << (len(there).bit_length() - 1) :]] = 0
    if law[-1] == 0:
        labels[ones == 0] = len(law) - 1
    return Row(_massed(labels, ones, law), labels, ones)


def dyadic_hard(of: Row, rng: np.random.Generator) -> tuple[str, Array]:
    """As :func:`hard`, with a row of q that few bits hold: other masses of the classes of p, or one token or two."""
    if rng.random() < 0.25:
        return "certain", _certain(of, rng)
    if rng.random() < 0.125:
        return FEW_TOKENS, dyadic_few(of, rng)
    found = _massed(of.labels, of.weights, _template(of, rng))
    if found.sum() != 1:  # a row of a few tokens has not all classes
        return "certain", likeliest(of)
    return "by classes", found


def dyadic_few(of: Row, rng: np.random.Generator) -> Array:
    """A row of q of two tokens alike, both of which p has, or of the only one."""
    there, found = np.flatnonzero(of.p), np.zeros_like(of.p)
    count = min(2, len(there))
    found[rng.choice(there, count, replace=False)] = 1 / count
    return found


def dyadic_halfway(of: Row, rng: np.random.Generator) -> Array:
    """As :func:`halfway`, of rows that few bits hold."""
    return _massed(of.labels, of.weights, (_template(of, rng) + LAWS[of.count]) / 2)


def same(of: Row, positions: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The row itself as q: its drafts are always accepted."""
    return of.p, of.p


# Rows that filters leave ---------------------------------------------------------------------------------------------


def kept_row(kept: int, size: int, rng: np.random.Generator) -> Row:
    """A row of p of which so many tokens have mass, one of each class at least, and alike but for a factor of two."""
    labels = _labels(size, classes(size), rng)
    law, weights = LAWS[classes(size)], rng.uniform(1, 2, size) if rng.random() < 0.5 else np.ones(size)
    massive = [rng.permutation(np.flatnonzero(labels == label)) for label in np.flatnonzero(law)]
    more = rng.permutation(np.concatenate([one[1:] for one in massive]))[: kept - len(massive)]
    chosen = np.isin(np.arange(size), [*(one[0] for one in massive), *more])
    weights = np.where(chosen, weights, 0)
    if law[-1] == 0:
        labels[~chosen] = len(law) - 1
    return Row(_massed(labels, weights, law), labels, weights)


def row_without(least: int, size: int, rng: np.random.Generator) -> Row:
    """A row of p in which so many tokens have no mass, or more."""
    return kept_row(int(rng.integers(LEAST_KEPT, size - least + 1)), size, rng)


def likeliest_of(row: Array, count: int) -> Array:
    """A row of which the likeliest tokens are left, so many."""
    found = np.zeros_like(row)
    chosen = np.argpartition(-row, count - 1)[:count]
    found[chosen] = row[chosen]
    return scaled(found)


def with_tail(row: Array, most: float, rng: np.random.Generator, exact: bool = False) -> Array:
    """A row whose tokens without mass get some: at most half of the least that there was, and ``most`` together.

    They have exactly that where it is ``exact`` and not too much; the row has 1 beside it, and all is scaled.
    """
    there = row > 0
    weights = rng.uniform(0.5, 1, len(row)) * ~there
    if not weights.any():
        return row
    share = most / weights.sum() if exact else min(row[there].min() / 2, most / (~there).sum())
    return scaled(row + weights * share)


# Classes and weights -----------------------------------------------------------------------------------------------


def _drawn_weights(size: int, rng: np.random.Generator) -> Array:
    """All alike, which makes ties, or somewhat different, or very."""
    kind = int(rng.integers(3))
    return np.ones(size) if kind == 0 else rng.gamma((2.0, 0.5)[kind - 1], size=size) + 1e-9


def _labels(size: int, count: int, rng: np.random.Generator) -> Array:
    """A class for every token, none of which is empty."""
    labels = np.full(size, -1, np.int8)
    if count < 7:
        labels[rng.permutation(size)] = np.arange(size) % count
        return labels
    _mark(labels, 1, _starts(size, (size // 2, size - size // 4, 1 << 15, 1 << 16, 1 << 17)), rng)
    _mark(labels, 0, _starts(size, (0, size - 1, (size - 1) // TILE * TILE, (size - 1) // 1024 * 1024)), rng)
    others = rng.permutation(np.flatnonzero(labels < 0))
    spare = len(others) - 5  # beyond one of each
    heavy, rare, without = (int(spare * share * rng.random() ** 2) for share in (1 / 4, 1 / 4, 1 / 3))
    if rng.random() < 0.75:
        heavy = 0  # one token
    light = spare - heavy - rare - without
    sizes = [1 + heavy, 1 + light // 2, 1 + light - light // 2, 1 + rare, 1 + without]
    labels[others] = np.repeat(np.arange(2, 7), sizes)
    return labels


def _starts(size: int, starts: tuple[int, ...]) -> list[int]:
    """Those behind which most of the vocabulary is not."""
    return [start for start in starts if start == 0 or size // 4 < start < size]


def _mark(labels: Array, label: int, starts: list[int], rng: np.random.Generator) -> None:
    """Give a class to the first token, to those from one of the ``starts`` on, or to any token.

    Five tokens stay without, and if all that it would get have another class, it gets one of those.
    """
    size = len(labels)
    start = starts[int(rng.integers(len(starts)))] if starts and rng.random() < 0.8 else -1
    found = np.array([0]) if start == 0 else np.arange(start, size) if start > 0 else rng.integers(size, size=1)
    found = found[-(size - 7) :] if len(found) > size - 7 else found
    left = found[labels[found] < 0]
    if label == 0 and (labels == 1).sum() > len(found):
        left = found  # enough of the part is left
    if not len(left):
        left = rng.permutation(np.flatnonzero(labels < 0))[:1]
    labels[left] = label
