"""What a program with random choices comes to on rows of unknowns: each outcome, and its probability in every cell.

Outcomes of drafts, coins and draws are followed one after the other, a run of the program for each, so that a run
compares only what its own outcomes need. That an outcome may be impossible, as of a token with a mass of 0, is decided
on its way alone, which ends there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.randomness import Enumerator, Path, Purpose
from simlab.randomness.base import Lane
from simlab.randomness.enumerator import Outcome
from theory.symbolic.cells import Cells, Unsound
from theory.symbolic.piecewise import Terms, Where, added, vanishes, without_edges
from theory.symbolic.unknown import Refused, Unknown

Weighted = tuple[Any, Any]  # an outcome, and its probability

__all__ = ["Histories", "laws", "outcomes"]


class Impossible(Exception):
    """A choice was followed where its probability is 0, which adds nothing to what is looked for."""


class Histories(Enumerator):
    """Random choices, one outcome of each a run: the ways through a program take all of them, one after the other.

    A run goes on only where the outcome has a positive probability, and compares only what its own outcomes need. Each
    choice is one of its own, whatever position, purpose and lane it is asked for: that no random number is used twice
    is for others to see.
    """

    def __init__(self, cells: Cells, paths: list[Path]) -> None:
        super().__init__(paths)
        self.cells = cells

    def choose(self, outcomes: Callable[[int], Iterable[Outcome]]) -> list[Any]:
        return [self._one([(answer, (chance,)) for answer, chance in outcomes(0)])]

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        sides = [self._one([(True, (chance,)), (False, (1 - chance,))]) for chance in probability.ravel().tolist()]
        return np.array(sides, dtype=bool).reshape(probability.shape)

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        chances = probability[0].tolist()
        first = [(count, (*chances[:count], 1 - chance)) for count, chance in enumerate(chances)]
        return np.array([self._one([*first, (len(chances), tuple(chances))])], dtype=np.int64)

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: Lane = 0) -> Array:
        tokens = [self.token(row) for row in pmf[0].tolist()]
        return np.array(tokens, dtype=np.int64).reshape(pmf.shape[:2])

    def draw_raced(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        raise Refused("it draws by races of exponentials, whose laws are volumes and no comparisons")

    def token(self, row: list[Any]) -> int:
        """A token, drawn by its mass in a row ``[V]``, which need not sum to one."""
        whole = sum(row)
        scaled = row if _is(whole, 1) else [mass / whole for mass in row]
        token: int = self._one([(token, (mass,)) for token, mass in enumerate(scaled)])
        return token

    def _one(self, ways: list[tuple[Any, tuple[Any, ...]]]) -> Any:
        """One of some outcomes, each with the factors of its probability."""
        left = [way for way in ways if not any(_is(factor, 0) for factor in way[1])]
        outcome, factors = left[self.cells.choose(len(left))] if len(left) > 1 else left[0]
        row, answers, weight = self.done[0]
        for factor in factors:
            if not factor > 0:  # what is below 0 is no probability: the others do not sum to one without it
                raise Impossible
            weight = weight if _is(factor, 1) else weight * factor
        self.done = [Path(row, (*answers, outcome), weight)]
        return outcome


def _is(number: Any, value: int) -> bool:
    """Whether a number is this one everywhere."""
    if isinstance(number, Unknown):
        return number.den is None and bool(number.num == value)
    return bool(number == value)


def outcomes(run: Callable[[np.ndarray, Histories], Iterable[Any]], cells: Cells) -> list[Weighted]:
    """What ``run(rows, randomness)`` comes to in the cell that is explored.

    Parameters
    ----------
    run
        Gets the row numbers of a batch of one and its random choices, and returns something for each row.
    cells
        The space that is explored.

    Returns
    -------
    list
        What it returned, and with what probability; nothing where that is 0.
    """
    randomness = Histories(cells, [Path(0, (), 1)])
    try:
        (result,) = run(np.zeros(1, dtype=np.int64), randomness)
    except Impossible:
        return []
    return [(result, randomness.done[0].weight)]


def laws(
    program: Callable[[], list[Weighted]], cells: Cells, progress: Callable[[int], None] | None = None
) -> dict[Any, Terms]:
    """The probability of each outcome of a program, in all cells.

    Parameters
    ----------
    program
        Returns outcomes with their probabilities, in the cell that is explored.
    cells
        The space.
    progress
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
        if progress:
            progress(cells.visited)
    laws = {outcome: added(without_edges(parts, cells), cells) for outcome, parts in found.items()}
    everything = [part for terms in laws.values() for part in terms.items()]
    if vanishes(added([*everything, (frozenset(), cells.number(-1))], cells), cells):
        raise Unsound(
            "the probabilities of all outcomes do not sum to one in every cell; an outcome was forgotten, or is none"
        )
    return laws
