"""Markov chains: the row of a token is looked up in a table by the last few tokens."""

from __future__ import annotations

import numpy as np

from simlab.arrays import Array
from simlab.checks import check_at_least, check_flag, check_number, line_or_grid
from simlab.processes import rows
from simlab.processes.compiled import Compiled, integers
from simlab.processes.pair import Pair
from simlab.processes.streams import Stream, generator
from simlab.randomness.philox import MASK


class Markov(Compiled):
    """A Markov chain: the last ``order`` tokens, with ``by_position`` also the position, index ``table[C, V]``.

    Token 0 stands before the first token. Where the table has a row for every context, the index is the number with
    these tokens as digits; otherwise it is a hash of them, keyed with ``seed``, and some contexts share a row. Of order
    0 position i has row i mod C.
    """

    def __init__(
        self,
        table: np.ndarray,
        order: int,
        shape: tuple[int, int],
        by_position: bool = False,
        seed: int = 0,
        precision: str = "float64",
    ) -> None:
        super().__init__(table.shape[1], shape, precision)
        self.table = table.astype(precision)
        exact = cases(self.vocabulary, order, self.length if by_position else 1) <= len(table)
        self._seen = order, by_position, exact, seed & MASK, seed >> 32

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        from simlab.processes.markov_compiled import look_up

        rows = np.empty((len(tokens), count, self.vocabulary), self.table.dtype)
        look_up(self.table, integers(tokens), integers(start), self.length, *self._seen, rows)
        return rows


def markov_pair(
    vocabulary: int = 1024,
    length: int = 256,
    order: int = 1,
    contexts: int = 1024,
    by_position: bool = False,
    concentration: float = 0.1,
    tv: float = 0.3,
    shape: tuple[int, int] | None = None,
    seed: int = 0,
    precision: str = "float64",
) -> Pair:
    """A target and a draft of tokens that depend on the last ``order``.

    Parameters
    ----------
    vocabulary, length
        V >= 2 and N >= 1.
    order
        How many tokens a row depends on, >= 1.
    contexts
        The most rows a table has; memory goes with V times this. There is one for each of the V^order cases (times
        N, with ``by_position``) if they are no more than this; otherwise cases are hashed.
    by_position
        Whether a row depends on the position too.
    concentration
        Of the symmetric Dirichlet law that rows are drawn from, above 0; less makes rows more peaked.
    tv
        The mean TV between the rows of target and draft over contexts, attained to rounding.
    shape
        The grid (rows, columns); one row by default.

    Raises
    ------
    ValueError
        For a value outside its range, or a TV that rows as flat as this cannot have.
    """
    check_at_least("vocabulary", vocabulary, 2)
    shape = line_or_grid(length, shape)
    check_at_least("order", order, 1)
    check_flag("by_position", by_position)
    check_at_least("contexts", contexts, 2)
    check_number("concentration", concentration, 1e-6)
    contexts = min(contexts, cases(vocabulary, order, length if by_position else 1))
    scores = rows.dirichlet(generator(seed, Stream.ROWS), contexts, vocabulary, concentration)
    noisy = rows.with_noise(scores, tv, generator(seed, Stream.DRAFT))
    target, draft = (Markov(rows.pmfs(table), order, shape, by_position, seed, precision) for table in (scores, noisy))
    return Pair(target, draft)


def cases(vocabulary: int, order: int, positions: int) -> int:
    """The number of contexts: ``order`` tokens at each of these positions."""
    return positions * vocabulary**order
