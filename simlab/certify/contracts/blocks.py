"""Blocks of drafts: a verifier's input, and the exact law of its output.

A :class:`Block` holds target and draft rows for gamma drafted positions in every context: the drafts are drawn from q,
each in the context of those before it, and whatever a lossless verifier emits, completed by p, follows p. That law, of
all gamma + 1 tokens together, is computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from simlab.arrays import Array
from simlab.checks import check_at_least, check_pmf

Tokens = tuple[int, ...]

TILE = 64  # kernels go over a vocabulary in tiles of this or a multiple of it


@dataclass(frozen=True, eq=False)
class Block:
    """Rows ``p[i]`` of positions 0 to gamma and ``q[i]`` of 0 to gamma - 1, float64 ``[contexts, V]``.

    The context of a position is the last ``order`` tokens before it, or as many as there are, read as a number in base
    V. Order 0 is one row a position. Raises ``ValueError`` where a row is no pmf or a table has another shape.
    """

    p: tuple[Array, ...]
    q: tuple[Array, ...]
    order: int

    def __post_init__(self) -> None:
        check_at_least("order", self.order, 0)
        for name, rows in (("p", self.p), ("q", self.q)):
            for i, table in enumerate(rows):
                wanted = (self.vocabulary ** min(self.order, i), self.vocabulary)
                if table.shape != wanted:
                    raise ValueError(f"{name}[{i}] has shape {table.shape}; expected {wanted}")
                check_pmf(table, f"{name}[{i}]")

    @classmethod
    def of_rows(cls, p: Array, q: Array) -> Block:
        """One row a position: ``p[gamma + 1, V]``, ``q[gamma, V]``."""
        return cls(tuple(row[None] for row in np.asarray(p)), tuple(row[None] for row in np.asarray(q)), order=0)

    @property
    def vocabulary(self) -> int:
        return int(self.p[0].shape[-1])

    @property
    def gamma(self) -> int:
        return len(self.q)

    def context(self, tokens: Array, i: int) -> Array:
        """The context ``int64[n]`` of position i after ``tokens[n, >= i]``."""
        number = np.zeros(len(tokens), np.int64)
        for place in range(i - min(self.order, i), i):
            number = number * self.vocabulary + tokens[:, place]
        return number

    def drafts(self, n: int, rng: np.random.Generator) -> Array:
        """``int64[n, gamma]`` drawn from q."""
        return self._filled(np.full((n, self.gamma), -1), self.q, rng)

    def completed(self, tokens: Array, rng: np.random.Generator, places: Sequence[int] | None = None) -> Array:
        """``tokens[n, gamma + 1]`` with every -1 at the end of a row, or at some ``places``, replaced by a draw from p.

        Where not all places are filled, rows must not depend on the tokens before them.
        """
        return self._filled(tokens, self.p, rng, places)

    def rows(self, drafts: Array) -> tuple[Array, Array]:
        """p ``[gamma + 1, V]`` and q ``[gamma, V]`` along ``drafts[gamma]``: new arrays."""
        at = [int(self.context(drafts[None], i)[0]) if self.order else 0 for i in range(len(self.p))]
        p, q = ([table[k] for table, k in zip(tables, at, strict=False)] for tables in (self.p, self.q))
        return np.stack(p), np.stack(q) if q else np.empty((0, self.vocabulary))

    def _filled(
        self,
        tokens: Array,
        tables: tuple[Array, ...],
        rng: np.random.Generator,
        places: Sequence[int] | None = None,
    ) -> Array:
        filled = tokens.copy()
        for i in range(len(tables)) if places is None else places:
            missing = np.flatnonzero(filled[:, i] < 0)
            if len(missing):
                context = self.context(filled[missing], i)
                filled[missing, i] = drawn_from(tables[i], context, rng.random(len(missing)))
        return filled

    # The joint law, for blocks that are small ----------------------------------------------------------------

    @cached_property
    def continuations(self) -> tuple[Array, ...]:
        """For every length m, ``[V^m, V^(gamma + 1 - m)]``: the law of what p puts after m tokens."""
        size, found = self.vocabulary, [np.ones((self.vocabulary ** len(self.p), 1))]
        for i in reversed(range(len(self.p))):
            every = np.array(list(product(range(size), repeat=i)), np.int64).reshape(size**i, i)
            rows = self.p[i][self.context(every, i)]
            found.append((rows[..., None] * found[-1].reshape(size**i, size, -1)).reshape(size**i, -1))
        return tuple(reversed(found))

    def law_of(self, emitted: Mapping[Tokens, float]) -> Array:
        """The joint law ``[V^(gamma + 1)]`` of what a verifier emits with these probabilities, completed by p."""
        law = np.zeros(self.vocabulary ** len(self.p))
        for tokens, probability in emitted.items():
            rest = self.continuations[len(tokens)]
            first = _number(tokens, self.vocabulary) * rest.shape[1]
            law[first : first + rest.shape[1]] += probability * rest[_number(tokens, self.vocabulary)]
        return law

    def every_draft(self) -> dict[Tokens, float]:
        """All drafts that q can draw, and their probabilities."""
        found: dict[Tokens, float] = {(): 1.0}
        for i, table in enumerate(self.q):
            found = {
                (*tokens, x): probability * float(table[context, x])
                for tokens, probability in found.items()
                for context in [int(self.context(np.array([tokens], np.int64).reshape(1, i), i)[0])]
                for x in np.flatnonzero(table[context] > 0).tolist()
            }
        return found


def scaled(rows: Array) -> Array:
    """Rows ``[..., V]`` scaled to sum to one; those without mass stay as they are."""
    total = rows.sum(axis=-1, keepdims=True)
    return np.asarray(rows / np.where(total > 0, total, 1))


def drawn_from(table: Array, context: Array, uniform: Array) -> Array:
    """A token from row ``context[n]`` of ``table`` by inverse CDF."""
    upto = table.cumsum(axis=1)
    goal = uniform * upto[context, -1]
    if len(table) == 1:
        return np.searchsorted(upto[0], goal, side="right")
    return np.asarray((upto[context] <= goal[:, None]).sum(axis=1))


def _number(tokens: Tokens, vocabulary: int) -> int:
    number = 0
    for token in tokens:
        number = number * vocabulary + token
    return number
