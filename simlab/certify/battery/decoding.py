"""The battery of ``decode``: models with few tokens, models with an end, long sequences and a large vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product

import numpy as np

from simlab.arrays import Array
from simlab.certify.battery.blocks import at_both_ends, by_end, token_classes
from simlab.certify.contracts.blocks import Block, scaled
from simlab.certify.contracts.decoding import DecodeCase, Model
from simlab.certify.contracts.events import Events, Look, Places, at_intervals, in_turn, independent, joint, windows

PRINCIPAL = ("one token", "two tokens of two", "an end among three tokens of two")


@cache
def cases() -> tuple[DecodeCase, ...]:
    """The battery, the simplest first."""
    two = _known("two tokens of two", _random(2, 2, 1), few=True)
    zeros = _changed(_random(3, 3, 6), _thinned)
    certain = _changed(_random(3, 3, 7), lambda table, rng: scaled(table**8 + 1e-3))
    forced = Model(Block((np.array([[0.5, 0.3, 0.2]]), np.eye(3)[[1, 1, 1]], np.eye(3)[[2, 2, 2]] / 2 + 1 / 6), (), 1))
    one = Model(Block.of_rows(np.array([[0.5, 0.3, 0.13, 0.07, 0, 0]]), np.empty((0, 6))))
    return (
        _known("one token", one, few=True),
        _known("one token, which may end it", Model(_random(3, 1, 8).rows, 2), few=True),
        *map(_at_both_ends, (4, 65, 32_768)),
        two,
        _known("three tokens of two", _random(2, 3, 2)),
        _known("three tokens of three", _random(3, 3, 3)),
        _known("an end among three tokens of two", Model(_random(2, 3, 4).rows, 1)),
        _known("four tokens of two", _random(2, 4, 13)),
        _known("rows unlike those before", _turning()),
        _known("tokens without mass", zeros),
        _known("rows nearly one-hot", certain),
        _known("a second token that is certain, as by a grammar", forced),
        DecodeCase("two sequences in turn", two.model, in_turn(two.events[0])),
        DecodeCase("many sequences in turn", two.model, at_intervals(two.events[0])),
        _in_windows("an end at once or later", Model(_random(3, 4, 5).rows, 0)),
        _in_windows("six tokens of two", _random(2, 6, 9), 3),
        _in_windows("five tokens of four", _random(4, 5, 10), 2),
        _in_windows("16 tokens of two, by the last two", _random(2, 16, 11, 2), 3),
        _by_all("14 tokens of two, by all before them", 14, 15),
        _in_windows("24 tokens of three, by the last, with an end", _rarely_ended(_random(3, 24, 12, 1), 2), 2),
        _large(257, 3),
    )


@cache
def both_ends() -> tuple[DecodeCase, ...]:
    """Two tokens, the first with a mass of a billionth: with the coins at one of their ends it must come out.

    As the last it need not: in single precision 1 - 1e-9 is 1.
    """
    model = Model(Block.of_rows(np.array([[1e-9, 1 - 1e-9]]), np.empty((0, 2))))
    return (_known("a mass of 1e-9", model, few=True, both_ends=True),)


def simplest() -> Iterator[DecodeCase]:
    """Models with few tokens and simple rows, from the smallest up."""
    for size, length, eos in ((2, 1, None), (2, 2, None), (2, 2, 1), (2, 3, None), (2, 3, 0), (3, 2, None)):
        rows = _simple_rows(size)
        for shift, step in product(range(len(rows)), range(1, len(rows)) if length > 1 else (1,)):
            tables, k = [], shift
            for i in range(length):
                tables.append(np.array([rows[(k + step * context) % len(rows)] for context in range(size**i)]))
                k += 1 + step
            model = Model(Block(tuple(tables), (), length - 1), eos)
            yield _known(f"V = {size}, length = {length}" + ("" if eos is None else f", eos = {eos}"), model, few=True)


def _simple_rows(size: int) -> list[list[float]]:
    weights = {2: [[1, 1], [3, 1], [1, 3], [1, 0]], 3: [[2, 1, 1], [1, 1, 2], [1, 3, 0], [0, 1, 1], [1, 2, 1]]}[size]
    return [[weight / sum(row) for weight in row] for row in weights]


# Making models -------------------------------------------------------------------------------------------------

Change = Callable[[Array, np.random.Generator], Array]


def _random(size: int, length: int, number: int, order: int | None = None) -> Model:
    """Random rows, no mass of which is below 0.02, after the last ``order`` tokens, or all of them."""
    rng, order = np.random.default_rng([5, number]), length - 1 if order is None else order
    tables = (scaled(rng.dirichlet(np.ones(size), size ** min(order, i)) + 0.03) for i in range(length))
    return Model(Block(tuple(tables), (), order))


def _changed(model: Model, change: Change) -> Model:
    rng = np.random.default_rng(6)
    return Model(Block(tuple(change(table, rng) for table in model.rows.p), (), model.rows.order), model.eos)


def _turning() -> Model:
    """Two tokens of four, the second of which likes what the first does not."""
    first = np.array([[0.85, 0.05, 0.05, 0.05]])
    second = np.array([[0.02, 0.5, 0.3, 0.18], [0.02, 0.2, 0.7, 0.08], [0.1, 0.1, 0.2, 0.6], [0.4, 0.5, 0.05, 0.05]])
    return Model(Block((first, second), (), 1))


def _thinned(table: Array, rng: np.random.Generator) -> Array:
    """One token without mass in every row."""
    rows = table.copy()
    rows[np.arange(len(rows)), rng.integers(rows.shape[1], size=len(rows))] = 0
    return scaled(rows)


def _rarely_ended(model: Model, eos: int) -> Model:
    def rarely(table: Array, rng: np.random.Generator) -> Array:
        rows = table.copy()
        rows[:, eos] *= 0.15
        return scaled(rows)

    return Model(_changed(model, rarely).rows, eos)


def _known(name: str, model: Model, few: bool = False, both_ends: bool = False) -> DecodeCase:
    return DecodeCase(name, model, (joint(model.law).of(model.law),), True, few, both_ends)


def _at_both_ends(size: int) -> DecodeCase:
    """One token: of the first two of the vocabulary or of its last two, a likely one beside an unlikely one."""
    model = Model(Block.of_rows(at_both_ends(size, 1 / 8, 3 / 8, 3 / 8, 1 / 8)[None], np.empty((0, size))))
    return DecodeCase(f"one token of {size}, at both ends", model, (by_end(size).of(model.rows),), few=True)


def _in_windows(name: str, model: Model, width: int | None = None) -> DecodeCase:
    """Looked at in windows, if ``width`` is given."""
    found = (joint(model.law),) if width is None else windows(model.law, width)
    return DecodeCase(name, model, tuple(one.of(model.law) for one in found))


def _by_all(name: str, length: int, number: int) -> DecodeCase:
    """Rows that are one, turned by chance after every context; looked at are two neighbours, as they were turned."""
    rng, row = np.random.default_rng([5, number]), np.array([0.8, 0.2])
    turns = tuple(rng.integers(2, size=1 << i) for i in range(length))
    block = Block(tuple(np.where(turn[:, None] == 0, row, row[::-1]) for turn in turns), (), length - 1)
    looks = [
        Look(partial(_unturned, block, turns[i], i), 2, "token {} of the row unturned".format) for i in range(length)
    ]
    events = (
        Events(f"tokens {i} and {i + 1}, unturned", independent([row, row]), ((looks[i], looks[i + 1]),))
        for i in range(0, length, 2)
    )
    return DecodeCase(name, Model(block), tuple(events))


def _unturned(block: Block, turns: Array, place: int, tokens: Array) -> Array:
    """The token at a place of a block, by its place in a row of two that was turned so far in its context."""
    return np.asarray((tokens[:, place] - turns[block.context(tokens, place)]) % 2)


def _large(size: int, length: int) -> DecodeCase:
    """Many tokens, seen as four classes, the last token among them."""
    rng = np.random.default_rng([7, size])
    tables = [scaled(rng.gamma(0.3, size=(size ** min(1, i), size)) + 1e-300) for i in range(length)]
    labels = rng.integers(3, size=size)
    labels[-1] = 3
    for table in tables:
        table[:, -1] += 0.2
    block = Block(tuple(map(scaled, tables)), (), 1)
    pairs = tuple(Places(f"tokens {i} and {i + 1}, by class", (i, i + 1), labels) for i in range(length - 1))
    firsts = [
        one for one in token_classes(block.p, (), size) if 0 in one.places
    ]  # others depend on what is before them
    return DecodeCase(f"{size} tokens", Model(block), tuple(one.of(block) for one in (*pairs, *firsts)))
