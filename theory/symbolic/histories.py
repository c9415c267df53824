"""What a program with random choices comes to on rows of unknowns: each outcome, and its probability in every cell.

Drafts are followed one after the other, a run of the program for each, so that a run compares only what its own drafts
need; coins and the tokens drawn after them are followed together, as in :mod:`theory.exact`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.randomness import Enumerator, Path, Purpose, explore
from simlab.randomness.base import Lane
from theory.symbolic.cells import Cells, Unsound
from theory.symbolic.piecewise import Terms, Where, added, vanishes, without_edges
from theory.symbolic.unknown import Refused

Weighted = tuple[Hashable, Any]  # an outcome, and its probability

__all__ = ["Histories", "laws", "outcomes"]


class Histories(Enumerator):
    """Random choices, of which drafts are taken one at a time by the ways through a program."""

    def __init__(self, cells: Cells, paths: list[Path]) -> None:
        super().__init__(paths)
        self.cells, self._alone = cells, len(paths) == 1 and not paths[0].answers

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: Lane = 0) -> Array:
        alone = self._alone and not self.untried  # nothing else happens in this run that another way would repeat
        found = super().draw(pmf, position, purpose, lane)
        if purpose != Purpose.DRAFT or not alone or not self.untried:
            return found
        ways, self.untried = [self.done[0], *self.untried], []
        self.done[0] = ways[self.cells.choose(len(ways))]
        return np.array(self.done[0].answers[-1], dtype=np.int64).reshape(found.shape)

    def draw_raced(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        raise Refused("it draws by races of exponentials, whose laws are volumes and no comparisons")


def outcomes(run: Callable[[np.ndarray, Histories], Iterable[Any]], cells: Cells) -> list[Weighted]:
    """What ``run(rows, randomness)`` comes to in the cell that is explored.

    Parameters
    ----------
    run
        Gets the row numbers of a batch and its random choices, and returns something for each row.
    cells
        The space that is explored.

    Returns
    -------
    list
        What it returned, and with what probability.
    """
    found: list[Weighted] = []
    for results, paths in explore(run, [1], partial(Histories, cells)):
        found += [(result, path.weight) for result, path in zip(results, paths, strict=True)]
    return found


def laws(
    program: Callable[[], list[Weighted]], cells: Cells, heard: Callable[[int], None] | None = None
) -> dict[Any, Terms]:
    """The probability of each outcome of a program, in all cells.

    Parameters
    ----------
    program
        Returns outcomes with their probabilities, in the cell that is explored.
    cells
        The space.
    heard
        Is told how many cells have been visited.

    Returns
    -------
    dict
        By outcome.

    Raises
    ------
    Limit, Refused
        As the exploration does.
    Unsound
        If the probabilities do not sum to one in every cell.
    """
    found: defaultdict[Any, list[tuple[Where, Any]]] = defaultdict(list)
    for cell in cells.explore(program):
        where = frozenset(cell.literals)
        for outcome, weight in cell.result:
            found[outcome].append((where, weight))
        if heard:
            heard(cells.visited)
    laws = {outcome: added(without_edges(parts, cells), cells) for outcome, parts in found.items()}
    everything = [part for terms in laws.values() for part in terms.items()]
    if vanishes(added([*everything, (frozenset(), cells.number(-1))], cells), cells):
        raise Unsound("the probabilities of all outcomes do not sum to one in every cell; an outcome was forgotten")
    return laws
