"""What becomes of a statement, and how it is found out: the part that rules, verifiers and decoders have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

import numpy as np

from theory.symbolic.cells import Cell, Cells, Limit
from theory.symbolic.small_rows import Row
from theory.symbolic.space import Point

Outcome = Literal["proven", "counterexample", "unknown"]
Progress = Callable[[int], Any]  # told how many cells are done

__all__ = ["Answer", "Outcome", "Progress", "ProofAttempt", "arrays", "rows_in_words"]


@dataclass(frozen=True)
class Answer:
    """What has become of a statement.

    Attributes
    ----------
    outcome
        ``proven``, ``counterexample`` or ``unknown``.
    subject, statement
        What was asked, in words.
    size
        How many tokens, drafts and so on.
    assumed
        Of the rows.
    cells
        How many cells were visited.
    seconds
        How long it took.
    why
        Of a counterexample what is wrong there, of ``unknown`` the cell and the limit that was reached.
    rows
        Of a counterexample the rows, by name.
    values
        What comes out at these rows, by name.
    spaces
        The spaces that were cut into cells, with everything that the solver was asked.
    """

    outcome: Outcome
    subject: str
    statement: str
    size: str
    assumed: str
    cells: int
    seconds: float
    why: str = ""
    rows: Mapping[str, Row] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    spaces: tuple[Cells, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        if self.outcome == "proven":
            return f"proven for all {self.assumed}, {self.size}: {self.statement} ({self.cells:,} cells)"
        if self.outcome == "counterexample":
            rows = ", ".join(f"{name} = ({', '.join(map(str, row))})" for name, row in self.rows.items())
            return f"refuted, {self.size}: {self.statement} fails at {rows}{': ' + self.why if self.why else ''}"
        return f"unknown, {self.size}: {self.statement}; {self.why}"


def up_to(sizes: Sequence[int]) -> str:
    """The V for which something is asked, in words: ``V = 2 to 4`` where none between is left out, else all of them."""
    asked = sorted(set(sizes))
    without_gaps = len(asked) > 1 and asked == [*range(asked[0], asked[-1] + 1)]
    return f"V = {asked[0]} to {asked[-1]}" if without_gaps else f"V = {', '.join(map(str, asked))}"


def rows_in_words(zeros: bool) -> str:
    """What is assumed of rows, in words."""
    return "real rows" if zeros else "real rows without zeros"


@dataclass
class ProofAttempt:
    """A statement that is being settled, in one space after the other.

    Attributes
    ----------
    subject, statement, assumed
        As of an :class:`Answer`.
    progress
        Is told how many cells of all spaces have been visited.
    spaces
        Those there are so far.
    """

    subject: str
    statement: str
    assumed: str
    progress: Progress | None = None
    spaces: list[Cells] = field(default_factory=list)
    begun: float = field(default_factory=perf_counter)

    def answer(self, outcome: Outcome, size: str, **more: Any) -> Answer:
        """An answer; ``more`` are the fields that it has besides."""
        return Answer(
            outcome,
            self.subject,
            self.statement,
            size,
            self.assumed,
            sum(cells.visited for cells in self.spaces),
            perf_counter() - self.begun,
            spaces=tuple(self.spaces),
            **more,
        )

    def settled(
        self,
        size: str,
        look: Callable[[], Cell[bool] | None],
        simple: Callable[[Point | None], Mapping[str, Row] | None],
    ) -> Answer | None:
        """What becomes of it in one space; None where it is true.

        Parameters
        ----------
        size
            Of the space, in words.
        look
            Finds a cell in which it is false; None if there is none.
        simple
            From a point of that cell, if one is known, to rows at which it is false, if they are found.

        Returns
        -------
        Answer or None
            A counterexample, or unknown.
        """
        try:
            failing = look()
        except Limit as limit:  # it may be false all the same, and simply so
            rows = simple(None)
            why = str(limit)
        else:
            if failing is None:
                return None
            rows = simple(failing.point)
            where = " and ".join(map(self.spaces[-1].told, failing.literals)) or "somewhere"
            why = f"it may fail where {where}, but no rational rows are known"
        return self.answer("unknown", size, why=why) if rows is None else self.answer("counterexample", size, rows=rows)

    def first_false(self, cells: Cells, program: Callable[[], bool]) -> Cell[bool] | None:
        """The first cell in which a program returns False."""
        before = sum(each.visited for each in self.spaces if each is not cells)
        for cell in cells.explore(program):
            if self.progress:
                self.progress(before + cells.visited)
            if not cell.result:
                return cell
        return None


def arrays(rows: Mapping[str, Iterable[Any]]) -> dict[str, np.ndarray]:
    """Rows as exact arrays."""
    return {name: np.array(list(row), dtype=object) for name, row in rows.items()}
