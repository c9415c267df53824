"""The contract ``decode(model, length, rng, eos=None) -> tokens``: a whole sequence.

``model(prefix)`` gives the pmf, float64 ``[V]``, of the token after ``prefix``, a tuple of tokens; ``rng`` is a
``numpy.random.Generator``. Out come ``length`` tokens, or fewer where the last one is ``eos``, with the law of drawing
each from the model after those before it. The model may be asked for any prefix: behind ``eos`` and beyond ``length``,
where a block of drafts may look, it answers with rows like any others, which must not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import (
    Branch,
    Broken,
    Case,
    Counted,
    Function,
    as_emitted,
    at_intervals,
    in_turn,
)
from simlab.certify.contracts.battery import token_classes
from simlab.certify.contracts.blocks import Block, Events, Tokens, joint, scaled, windows
from simlab.certify.contracts.verifying import OfBlock
from simlab.messages import shown
from simlab.mutants.gated import decoding
from simlab.mutants.gated.base import Wrong
from simlab.mutants.gated.decoding import DecodeFault, Request

LISTED = 40  # rows of a model that are listed


@dataclass(frozen=True, eq=False)
class Model:
    """Rows of every position and context, and the token that ends a sequence, if there is one.

    ``rows`` are the p of a block without drafts; its gamma + 1 is the length of a sequence.
    """

    rows: Block
    eos: int | None = None

    @property
    def length(self) -> int:
        return len(self.rows.p)

    def __call__(self, prefix: Any) -> Array:
        """The row ``[V]`` after ``prefix``: an array of its own.

        Tuples, lists, arrays and tensors are welcome, also with a leading dimension of size 1. Raises ``TypeError`` for
        what is no sequence of whole numbers, ``ValueError`` for tokens that there are not.
        """
        tokens = tuple(prefix.tolist()) if hasattr(prefix, "tolist") else tuple(prefix)
        if len(tokens) == 1 and isinstance(tokens[0], list | tuple):
            tokens = tuple(tokens[0])
        row = self._found.get(tokens)
        if row is None:
            whole = tuple(as_token(token, self.rows.vocabulary) for token in tokens)
            row = self._found[whole] = self._row(whole)
        return row.copy()

    def _row(self, tokens: Tokens) -> Array:
        place = min(len(tokens), self.length - 1)
        seen = np.array([tokens[len(tokens) - place :]], np.int64).reshape(1, place)  # beyond the end: the last tokens
        return np.asarray(self.rows.p[place][int(self.rows.context(seen, place)[0])])

    @cached_property
    def _found(self) -> dict[Tokens, Array]:
        return {}

    @cached_property
    def law(self) -> Block:
        """The rows with the end absorbing: behind it comes nothing but the end again."""
        size, eos, order = self.rows.vocabulary, self.eos, self.rows.order
        if eos is None:
            return self.rows
        tables = [table.copy() for table in self.rows.p]
        for i, table in enumerate(tables):
            table[_ended(size, min(order, i), eos)] = np.eye(size)[eos]
        return Block(tuple(tables), (), order)

    def named(self) -> dict[str, list[float]]:
        """Rows by what they come after, for people; not more than ``LISTED``."""
        size, order, listed = self.rows.vocabulary, self.rows.order, dict[str, list[float]]()
        for i, table in enumerate(self.rows.p):
            last = min(order, i)
            for context, row in zip(product(range(size), repeat=last), table, strict=True):
                if len(listed) < LISTED and size <= LISTED:
                    name = str(context) if last == i else f"token {i}, after {context}"
                    listed[name] = row.tolist()
        return listed


def as_token(token: Any, size: int) -> int:
    value = token.item() if hasattr(token, "item") else token
    if not isinstance(value, int | float) or value != int(value):
        raise TypeError(f"model is called with a prefix with {shown(token)}; expected whole numbers")
    if not 0 <= value < size:
        raise ValueError(f"model is called with a prefix with token {value}; expected 0 to {size - 1}")
    return int(value)


def _ended(size: int, width: int, eos: int) -> Array:
    """Which contexts of ``width`` tokens hold the end: bool ``[V^width]``."""
    found = np.zeros(size**width, bool)
    for place in range(width):
        found |= np.arange(size**width) // size**place % size == eos
    return found


@dataclass(frozen=True, eq=False)
class DecodeCase(Case):
    """One sequence of a model. ``known`` cases have laws of known bugs; those with ``few`` outcomes are enumerated.

    A decoder may draw many uniforms for a token: enumerating three tokens of one with four drafts takes half a minute.
    """

    name: str
    model: Model
    events: tuple[Counted, ...]
    known: bool = False
    few: bool = False
    both_ends: bool = False
    contract = "decode"

    @property
    def sizes(self) -> dict[str, int]:
        return {"V": self.model.rows.vocabulary, "length": self.length}

    @property
    def length(self) -> int:  # type: ignore[override]
        return self.model.length

    def inputs(self, n: int, rng: np.random.Generator) -> Array:
        return np.empty((n, 0))  # nothing is drawn beforehand

    def ask(self, function: Function, inputs: Array, i: int, rng: np.random.Generator) -> Tokens:
        end = () if self.model.eos is None else (self.model.eos,)
        tokens = as_emitted(function(self.model, self.length, rng, *end), self.model.rows.vocabulary, self.length)
        wrong = misshapen(tokens, self.length, self.model.eos)
        if wrong:
            raise Broken(wrong)
        return tokens

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        return self.model.law.completed(tokens, rng)  # behind the end comes nothing but the end

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        return (Branch(1.0, self.inputs(1, np.random.default_rng(0)), self.edges),) if self.few else ()

    def edges(self) -> list[float]:
        """The steps of the CDFs of all rows."""
        upto = np.concatenate([np.ravel(table.cumsum(axis=1)) for table in self.model.rows.p])
        values = np.concatenate([upto, 1 - upto])
        return sorted(set(values[(values > 0) & (values < 1)].tolist()))

    def law_of(self, emitted: Mapping[Tokens, float]) -> Array:
        return self.model.law.law_of(emitted)

    def law_under(self, name: str) -> Array | None:
        return self.law_by(decoding.FAULTS[name]) if self.known else None

    def law_by(self, fault: DecodeFault) -> Array | None:
        """The law of what a decoder emits; ``None`` where some of it is no sequence."""
        emitted = decoding.law(Request(self.model, self.length, self.model.eos), Wrong(fault))
        if any(misshapen(tokens, self.length, self.model.eos) for tokens in emitted):
            return None
        return self.law_of(emitted)

    def call_arguments(self, inputs: Array, i: int) -> dict[str, Any]:
        rows = self.model.named() or f"rows of {self.model.rows.vocabulary} tokens, which are too long to read"
        return {"model": rows, "length": self.length, "eos": self.model.eos}

    def script(self, where: str, name: str, calls: int) -> str | None:
        if not self.few or self.model.rows.order < self.length - 1:
            return None
        end = "" if self.model.eos is None else f", {self.model.eos}"
        rows = "".join(f"    {prefix}: {row},\n" for prefix, row in self.model.named().items())
        return f"""\
from collections import Counter
import numpy as np
from {where} import {name} as decode

rows = {{
{rows}}}
length, eos = {self.length}, {self.model.eos}


def model(prefix):  # asked beyond the end it goes on with the last rows
    prefix = tuple(int(token) for token in prefix)
    return np.array(rows[prefix[max(0, len(prefix) - length + 1):]])


def target(prefix, probability):
    if len(prefix) == length or eos in prefix:
        return {{prefix: probability}}
    found = {{}}
    for token, mass in enumerate(rows[prefix]):
        found |= target((*prefix, token), probability * mass)
    return found


rng = np.random.default_rng(0)
n = {calls}
counts = Counter()
for _ in range(n):
    counts[tuple(int(token) for token in np.ravel(decode(model, length, rng{end})))] += 1
for tokens, probability in target((), 1.0).items():
    print(tokens, "emitted", counts[tokens] / n, "target", probability)
"""


def misshapen(tokens: Tokens, length: int, eos: int | None) -> str:
    """What is wrong with the shape of a sequence; empty if nothing is."""
    if eos is not None and eos in tokens[:-1]:
        return f"returns {shown(tokens)}: tokens behind eos = {eos}; expected none"
    if len(tokens) != length and tokens[-1:] != (eos,):
        ending = "" if eos is None else f", or an end by eos = {eos}"
        return f"returns {len(tokens)} tokens, {shown(tokens)}; expected {length}{ending}"
    return ""


# The battery ---------------------------------------------------------------------------------------------------

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
    return DecodeCase(name, model, (OfBlock(model.law, joint(model.law)),), True, few, both_ends)


def _in_windows(name: str, model: Model, width: int | None = None) -> DecodeCase:
    """Looked at in windows, if ``width`` is given."""
    found = (joint(model.law),) if width is None else windows(model.law, width)
    return DecodeCase(name, model, tuple(OfBlock(model.law, events) for events in found))


def _large(size: int, length: int) -> DecodeCase:
    """Many tokens, seen as four classes, the last token among them."""
    rng = np.random.default_rng([7, size])
    tables = [scaled(rng.gamma(0.3, size=(size ** min(1, i), size)) + 1e-300) for i in range(length)]
    labels = rng.integers(3, size=size)
    labels[-1] = 3
    for table in tables:
        table[:, -1] += 0.2
    block = Block(tuple(map(scaled, tables)), (), 1)
    pairs = tuple(Events(f"tokens {i} and {i + 1}, by class", (i, i + 1), labels) for i in range(length - 1))
    firsts = [
        one for one in token_classes(block.p, (), size) if 0 in one.places
    ]  # others depend on what is before them
    return DecodeCase(f"{size} tokens", Model(block), tuple(OfBlock(block, events) for events in (*pairs, *firsts)))
