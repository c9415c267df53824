"""Rows of unknown numbers: pmfs whose masses are variables, the last of them what the others leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np

from simlab.processes import TableProcess
from theory.example_processes import random_row
from theory.symbolic.cells import Cells, Limits
from theory.symbolic.signs import POSITIVE, ZERO
from theory.symbolic.space import Point

Context = tuple[int, ...]
POINTS = 96  # of a space that are looked at before a solver is asked; any will do
Rows = dict[str, np.ndarray]  # by name: [V]

__all__ = ["Context", "Rows", "Table", "contexts", "row_name", "rows_at", "unknown_masses", "unknown_rows"]


def unknown_rows(sizes: Mapping[str, int], zeros: bool, limits: Limits | None = None) -> tuple[Cells, Rows]:
    """Rows that may be any pmfs.

    Parameters
    ----------
    sizes
        How many tokens each row is over, by its name.
    zeros
        Whether masses may be 0; otherwise all are positive.
    limits
        When to give up.

    Returns
    -------
    tuple
        The space, and the rows.

    Raises
    ------
    ValueError
        Where two masses would have one name.
    """
    names = [f"{name}{x}" for name, size in sizes.items() for x in range(size - 1)]
    if len({*names}) < len(names):
        raise ValueError(f"rows are named {', '.join(sizes)}; expected names that give each mass another one")
    cells = Cells(names, limits)
    free = iter(cells.variables())
    rows: Rows = {}
    for name, size in sizes.items():
        masses = [next(free) for _ in range(size - 1)]
        row = [*masses, sum(masses, cells.number(0)) * -1 + 1]
        for mass in row:
            cells.assume(mass, POSITIVE | ZERO if zeros else POSITIVE)
        rows[name] = np.array(row, dtype=object)
    random = Random(0)
    for _ in range(POINTS):
        cells.keep_point([mass for size in sizes.values() for mass in random_row(random, size, int(not zeros))[:-1]])
    return cells, rows


def unknown_masses(names: Sequence[str], limits: Limits | None = None) -> tuple[Cells, Rows]:
    """Numbers >= 0 that need not sum to anything, each a row of one: masses, or densities, of one token."""
    cells = Cells(names, limits)
    for mass in cells.variables():
        cells.assume(mass, POSITIVE | ZERO)
    random = Random(0)
    for k in range(POINTS):
        cells.keep_point([Fraction(random.randint(0, 2 + k)) for _ in names])
    return cells, {name: np.array([mass], dtype=object) for name, mass in zip(names, cells.variables(), strict=True)}


def rows_at(rows: Rows, point: Point) -> dict[str, tuple[Fraction, ...]]:
    """The rows where the variables have the values ``point``."""
    return {name: tuple(mass.at(point) for mass in row) for name, row in rows.items()}


def contexts(vocabulary: int, length: int) -> Iterator[Context]:
    """All prefixes of sequences of ``length`` tokens, the shortest first."""
    for size in range(length):
        yield from product(range(vocabulary), repeat=size)


def row_name(model: str, context: Context) -> str:
    """The name of a model's row after a prefix: ``p_01_`` after tokens 0 and 1, ``p_x10x_`` after token 10."""
    return f"{model}_{''.join(str(token) if token < 10 else f'x{token}x' for token in context)}_"


class Table(TableProcess):
    """A process whose rows are given as they are: of unknown numbers, or any other exact ones.

    Parameters
    ----------
    vocabulary, length
        V and N.
    rows
        The row ``[V]`` after each prefix that is asked for.
    """

    def __init__(self, vocabulary: int, length: int, rows: Mapping[Context, np.ndarray]) -> None:
        self.vocabulary, self.length, self.shape = vocabulary, length, (1, length)
        self.uniform = np.full(vocabulary, Fraction(1, vocabulary))
        self.row = rows.__getitem__  # type: ignore[assignment]
