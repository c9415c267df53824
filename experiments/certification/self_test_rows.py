"""Rows of a self-test, each found once: what an interrupted one has found is in its journal."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from experiments.journal import Journal

Row = dict[str, Any]
Tell = Callable[[str, int], None]  # what is found now, and how many rows are there


class Rows:
    """Rows by table, contract and name, each found once: those of an interrupted command are in its journal."""

    def __init__(self, journal: Journal, tell: Tell) -> None:
        self.journal, self.tell = journal, tell
        self.found: dict[tuple[str, ...], Row] = {tuple(names): row for names, row in journal.earlier}

    def add(self, names: tuple[str, ...], row: Row) -> None:
        self.found[names] = row
        self.journal.add([names, row])

    def row(self, *names: str, find: Callable[[], Row]) -> Row:
        """The row of that name, which is found now if it is not there."""
        if names not in self.found:
            self.tell(" ".join(names[1:]), len(self.found))
            self.add(names, find())
        return self.found[names]

    def drawn(self, names: tuple[Any, ...], find: Callable[[], Row]) -> Row:
        """The row of one that is drawn."""
        return self.row(*_drawn(names), find=find)

    def has_drawn(self, names: tuple[Any, ...]) -> bool:
        """Whether that row is there."""
        return _drawn(names) in self.found

    def side_by_side(self, tasks: dict[tuple[str, ...], Callable[[], Row]]) -> dict[tuple[str, ...], Row]:
        """The rows of these names, found two at a time, in processes that may start others."""
        with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            at_work = {pool.submit(find): names for names, find in tasks.items() if names not in self.found}
            try:
                for done in as_completed(at_work):
                    self.tell(" ".join(at_work[done][1:]), len(self.found))
                    self.add(at_work[done], done.result())
            finally:
                pool.shutdown(cancel_futures=True)  # after an interrupt, no others begin
        return {names: self.found[names] for names in tasks}


def _drawn(names: tuple[Any, ...]) -> tuple[str, ...]:
    return "drawn", *map(str, names)
