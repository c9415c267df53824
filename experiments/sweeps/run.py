"""Run a sweep: compute the missing cells, and write the table, round by round.

=====================  ==================================================================================
cells/KEY.parquet      the finished cells
table.parquet          those of the rounds that are over in one tidy table (:mod:`experiments.sweeps.frames`)
manifest.json          the spec, versions, how many cells, seconds
=====================  ==================================================================================

A round takes as many cells of every configuration (:func:`experiments.sweeps.cells.rounds`), so that each table has all
of them. The last depends on the spec and on nothing else: not on where and in what order cells were computed, nor on
how often the run was killed on the way.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import pandas as pd

from experiments.attempts import Failure
from experiments.interrupts import held_interrupts
from experiments.locks import locked
from experiments.results import canonical, versions, write_json, write_table
from experiments.sweeps.cells import Cell, in_working_order, rounds
from experiments.sweeps.frames import table
from experiments.sweeps.pools import Pool
from experiments.sweeps.spec import Spec
from experiments.sweeps.store import Found, Store


class Listener(Protocol):
    """Receives the progress of a run."""

    def begins(self, cells: int, work: int) -> None:
        """So many cells are to be computed."""

    def ends(self, cell: Cell) -> None:
        """A cell is finished."""

    def shows(self, cells: list[Cell], table: pd.DataFrame) -> None:
        """A round is over that is not the last: the table of all ``cells`` until now."""

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

    Raises :class:`~experiments.locks.Busy` if another run works there, ``OSError`` where a file cannot be
    written, :class:`~experiments.sweeps.pools.Lost` if the workers are gone and :class:`Failed` for cells that failed.
    Whatever it raises, finished cells are saved.
    """
    started = perf_counter()
    with locked(out):
        store = Store(out)
        found = store.find(cells)
        for text in _notes(found, len(cells), out):
            listener.note(text)
        done = {cell.key for cell in found.finished}
        missing = [cell for cell in cells if cell.key not in done]
        listener.begins(len(missing), sum(cell.work for cell in missing))
        failures: list[tuple[Cell, Failure]] = []
        computing, turns = 0.0, rounds(cells)
        last = max(turns)
        for turn in range(last + 1):
            waiting = [cell for cell, own in zip(cells, turns, strict=True) if own == turn and cell.key not in done]
            computing += _compute(store, waiting, pool, listener, failures)
            if failures or (not waiting and turn < last):
                continue
            shown = [cell for cell, own in zip(cells, turns, strict=True) if own <= turn]
            made, kept = table(shown, [store.load(cell) for cell in shown]), sum(cell.key in done for cell in shown)
            count = {"all": len(cells), "kept": kept, "computed": len(shown) - kept, "stale": found.stale}
            seconds = {"all": round(perf_counter() - started, 2), "computing": round(computing, 2)}
            with held_interrupts():  # both say how many rows there are
                write_table(out / "table.parquet", made)
                (out / "manifest.json").unlink(missing_ok=True)  # of another table: a full disk leaves none beside it
                write_json(
                    out / "manifest.json", _about(spec) | {"cells": count, "rows": len(made), "seconds": seconds}
                )
            if turn < last:
                listener.shows(shown, made)
    if failures:
        raise Failed(failures)
    return Done(made, len(found.finished), len(missing))


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


def _compute(
    store: Store, cells: list[Cell], pool: Pool, listener: Listener, failures: list[tuple[Cell, Failure]]
) -> float:
    """Compute and save the cells, and add those that fail; returns the seconds the workers took for them."""
    by_key, seconds = {cell.key: cell for cell in cells}, 0.0
    if not cells:
        return seconds
    with closing(pool(in_working_order(cells))) as outcomes:
        for outcome in outcomes:
            cell = by_key[outcome.key]
            seconds += outcome.seconds
            if isinstance(outcome.result, Failure):
                failures.append((cell, outcome.result))
            else:
                store.save(cell, outcome.result)
            listener.ends(cell)
    return seconds
