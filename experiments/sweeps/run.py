"""Run a sweep: compute the missing cells, then write the table.

=====================  ==================================================================================
cells/KEY.parquet      the finished cells
table.parquet          all of them in one tidy table (:mod:`experiments.sweeps.frames`)
manifest.json          the spec, versions, how many cells, seconds
=====================  ==================================================================================

The table depends on the spec and on nothing else: not on where and in what order cells were computed, nor on how often
the run was killed on the way.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import pandas as pd

from experiments.results import versions, write_json, write_table
from experiments.sweeps.cells import Cell, in_working_order
from experiments.sweeps.frames import table
from experiments.sweeps.pools import Failure, Pool
from experiments.sweeps.spec import Spec, canonical
from experiments.sweeps.store import Found, Store, locked


class Listener(Protocol):
    """Receives the progress of a run."""

    def begins(self, cells: int, work: int) -> None:
        """So many cells are to be computed."""

    def ends(self, cell: Cell) -> None:
        """A cell is finished."""

    def note(self, text: str) -> None:
        """Something a person should know."""


class Failed(RuntimeError):
    """Cells that failed, each with the reason; the others are finished and saved."""

    def __init__(self, failures: list[tuple[Cell, Failure]]) -> None:
        super().__init__(f"{len(failures)} cells failed")
        self.failures = failures


class Done(NamedTuple):
    """A complete run."""

    table: pd.DataFrame
    found: int  # cells that were there already
    computed: int


def run_sweep(spec: Spec, cells: list[Cell], out: Path, pool: Pool, listener: Listener) -> Done:
    """Run the ``cells`` of ``spec`` in ``pool`` and write table and manifest to ``out``.

    Raises :class:`~experiments.sweeps.store.Busy` if another run works there, ``OSError`` where a file cannot be
    written, :class:`~experiments.sweeps.pools.Lost` if the workers are gone and :class:`Failed` for cells that failed.
    Whatever it raises, finished cells are saved.
    """
    started = perf_counter()
    with locked(out):
        store = Store(out)
        found = store.find(cells)
        for text in _notes(found, len(cells), out):
            listener.note(text)
        done = set(map(store.path, found.finished))
        waiting = [cell for cell in cells if store.path(cell) not in done]
        computing = _compute(store, waiting, pool, listener)
        made = table(cells, [store.load(cell) for cell in cells])
        write_table(out / "table.parquet", made)
        count = {"all": len(cells), "kept": len(found.finished), "computed": len(waiting), "stale": found.stale}
        seconds = {"all": round(perf_counter() - started, 2), "computing": round(computing, 2)}
        write_json(out / "manifest.json", _about(spec) | {"cells": count, "rows": len(made), "seconds": seconds})
    return Done(made, len(found.finished), len(waiting))


def _about(spec: Spec) -> dict[str, Any]:
    digest = hashlib.sha256(canonical(spec.written).encode()).hexdigest()
    return {"spec": spec.written, "spec_sha256": digest, "versions": versions()}


def _notes(found: Found, count: int, out: Path) -> list[str]:
    notes = [f"{path} cannot be read; the cell is computed again" for path in found.unreadable]
    if found.finished:
        notes.append(f"{len(found.finished)} of {count} cells are there already")
    if found.others:
        others = ", ".join(found.others)
        notes.append(f"some of them were computed by simlab {others}; remove {out / 'cells'} to compute them again")
    if found.stale:
        notes.append(f"{found.stale} files in {out / 'cells'} are of another spec; they are left alone")
    return notes


def _compute(store: Store, cells: list[Cell], pool: Pool, listener: Listener) -> float:
    """Compute and save the cells; returns the seconds the workers took for them."""
    cells = in_working_order(cells)
    by_key = {cell.key: cell for cell in cells}
    listener.begins(len(cells), sum(cell.work for cell in cells))
    failures, seconds = [], 0.0
    if not cells:
        return seconds
    with closing(pool(cells)) as outcomes:
        for outcome in outcomes:
            cell = by_key[outcome.key]
            seconds += outcome.seconds
            if isinstance(outcome.result, Failure):
                failures.append((cell, outcome.result))
            else:
                store.save(cell, outcome.result)
            listener.ends(cell)
    if failures:
        raise Failed(failures)
    return seconds
