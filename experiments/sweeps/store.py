"""The folder of a sweep: finished cells, and partial results of an interrupted run.

Every file is written beside its place and moved there, so whatever is there is whole. A cell that cannot be read, or is
not what its name says, counts as not computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from errno import EISDIR
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from experiments.results import versions, write_table
from experiments.sweeps.cells import Cell

# what a file of which any bit may be another makes of its readers
UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError),
    *(ArithmeticError, MemoryError, RecursionError, pa.ArrowException),
)


class Found(NamedTuple):
    """The files that earlier runs have left."""

    finished: list[Cell]
    unreadable: list[Path]
    stale: int  # files of other cells, of another spec or format
    others: list[str]  # other versions of simlab that finished cells come from


class Store:
    """The cells in ``folder``, which must be locked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cells"
        self.versions = versions()
        self.folder.mkdir(parents=True, exist_ok=True)
        for pattern in (".table.parquet.*", ".manifest.json.*", "cells/.*.parquet.*"):  # what a killed run began
            for leftover in folder.glob(pattern):
                leftover.unlink(missing_ok=True)

    def path(self, cell: Cell) -> Path:
        """Where a cell is."""
        return self.folder / f"{cell.key}.parquet"

    def save(self, cell: Cell, frame: pd.DataFrame) -> None:
        """Write a finished cell; the file says what it is."""
        frame.attrs = {"cell": cell.content, "versions": self.versions, "digest": digest(frame)}
        write_table(self.path(cell), frame)

    def load(self, cell: Cell) -> pd.DataFrame:
        """A finished cell; raises ``OSError`` or ``ValueError`` where it cannot be read or is another."""
        frame = pd.read_parquet(self.path(cell))
        if frame.attrs.get("cell") != cell.content or frame["replicate"].tolist() != list(range(cell.first, cell.stop)):
            raise ValueError(f"{self.path(cell)} holds another cell than its name says")
        if frame.attrs.get("digest") != digest(frame):
            raise ValueError(f"{self.path(cell)} holds other numbers than were written")
        return frame

    def find(self, wanted: Iterable[Cell]) -> Found:
        """Which of the cells ``wanted`` are there, and what else is; raises ``OSError`` for a folder in the place
        of one."""
        present = {path.name for path in self.folder.glob("*.parquet")}
        found = Found([], [], 0, [])
        for cell in wanted:
            name = self.path(cell).name
            if name not in present:
                continue
            present.remove(name)
            if self.path(cell).is_dir():
                raise IsADirectoryError(EISDIR, "is a folder; expected the file of a cell, or nothing", self.path(cell))
            try:
                by = self.load(cell).attrs["versions"]["simlab"]
            except UNREADABLE:
                found.unreadable.append(self.path(cell))
                continue
            found.finished.append(cell)
            if by != self.versions["simlab"] and by not in found.others:
                found.others.append(by)
        return found._replace(stale=len(present))


def digest(frame: pd.DataFrame) -> str:
    """The SHA-256 of names, types and values of the columns; NaN is one value, whatever its sign and payload."""
    known = frame.where(frame.notna(), np.nan)  # a file keeps that there is none, not the bits that stood there
    table = pa.Table.from_pandas(known, preserve_index=False).replace_schema_metadata()
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(stream.getvalue()).hexdigest()
