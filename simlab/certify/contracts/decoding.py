"""The contract ``decode(model, length, rng, eos=None) -> tokens``: a whole sequence.

``model(prefix)`` gives the pmf, float64 ``[V]``, of the token after ``prefix``, a tuple of tokens; ``rng`` is a
``numpy.random.Generator``. Out come ``length`` tokens, or fewer where the last one is ``eos``, with the law of drawing
each from the model after those before it. The model may be asked for any prefix: behind ``eos`` and beyond ``length``,
where a block of drafts may look, it answers with rows like any others, which must not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import (
    Branch,
    Broken,
    Case,
    Function,
    as_emitted,
)
from simlab.certify.contracts.blocks import Block, Tokens
from simlab.certify.contracts.events import Events
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
    events: tuple[Events, ...]
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
        model = self.model
        return decoded(function, model, model.rows.vocabulary, self.length, model.eos, rng)

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
        return np.bincount(self._codes, self.model.law.law_of(emitted), len(self.events[0].law))

    @cached_property
    def _codes(self) -> Array:
        """The first event of every sequence, the last token changing first: int64 ``[V^length]``."""
        shape = (self.model.rows.vocabulary,) * self.length
        return self.events[0].codes(np.indices(shape).reshape(self.length, -1).T)

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
    prefix = tuple(int(token) for token in np.ravel(prefix))
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


def decoded(
    function: Function, model: Any, size: int, length: int, eos: int | None, rng: np.random.Generator
) -> Tokens:
    """What ``function`` decodes of a model of so many tokens. Raises :class:`Broken` where it is no sequence."""
    end = () if eos is None else (eos,)
    tokens = as_emitted(function(model, length, rng, *end), size, length)
    wrong = misshapen(tokens, length, eos)
    if wrong:
        raise Broken(wrong)
    return tokens


def misshapen(tokens: Tokens, length: int, eos: int | None) -> str:
    """What is wrong with the shape of a sequence; empty if nothing is."""
    if eos is not None and eos in tokens[:-1]:
        return f"returns {shown(tokens)}: tokens behind eos = {eos}; expected none"
    if len(tokens) != length and tokens[-1:] != (eos,):
        ending = "" if eos is None else f", or an end by eos = {eos}"
        return f"returns {len(tokens)} tokens, {shown(tokens)}; expected {length}{ending}"
    return ""
