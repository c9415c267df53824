"""Which tokens may stand at each position, kept small: most positions of an image share one row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Grammar:
    """The distinct rows of a table ``bool[N, V]``, and which of them each position has.

    ``numpy.asarray`` makes the table of it. Two of the same rows and positions are equal.

    Raises ``ValueError`` for arrays of another shape or type, a number that is no row's, or a row that allows no token.
    """

    rows: np.ndarray  # bool[R, V]: the tokens allowed, R mostly a handful
    of: np.ndarray  # int[N]: the number of the row of each position

    def __post_init__(self) -> None:
        rows, of = np.ascontiguousarray(self.rows), np.asarray(self.of)
        if rows.ndim != 2 or rows.dtype != bool or not rows.any(axis=1).all():
            raise ValueError(
                f"grammar has shape {rows.shape} and dtype {rows.dtype}; expected bool [N, V] with a token "
                "allowed at every position"
            )
        if of.ndim != 1 or of.dtype.kind not in "iu" or not ((of >= 0) & (of < len(rows))).all():
            raise ValueError(f"grammar's positions have rows {of}; expected numbers from 0 to {len(rows) - 1}")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "of", of.astype(np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        """(N, V)."""
        return len(self.of), self.rows.shape[1]

    @cached_property
    def _contents(self) -> bytes:
        return sha256(repr(self.rows.shape).encode() + self.rows.tobytes() + self.of.tobytes()).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and self._contents == other._contents

    def __hash__(self) -> int:
        return hash(self._contents)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.rows[self.of].astype(dtype or bool, copy=False)


def as_grammar(table: Any) -> Grammar:
    """``table`` as a :class:`Grammar`: one already, or ``bool[N, V]``.

    ``table``: a grammar, or an array of the tokens allowed at each position. Returns a Grammar with each distinct row
    once, in the order of their first positions. Raises ``ValueError`` for a table of another shape or type, or a
    position at which no token is allowed.
    """
    if isinstance(table, Grammar):
        return table
    table = np.asarray(table)
    if table.ndim != 2 or table.dtype != bool:
        return Grammar(table, np.arange(len(table) if table.ndim else 0))  # says what is wrong
    first: dict[bytes, int] = {}
    of = [first.setdefault(np.packbits(row).tobytes(), len(first)) for row in table]
    return Grammar(table[np.unique(of, return_index=True)[1]], np.array(of, dtype=np.int64))
