"""Finished pieces of long work, so that whoever goes on after a stop starts where it was.

A piece is known by what its result depends on: one of other content is never taken up. Files are written whole or not
at all; what cannot be read is computed again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from experiments.results import canonical, write_arrays

Arrays = dict[str, np.ndarray]

# what damaged files raise
WRONG = (
    *(OSError, ValueError, KeyError, EOFError, RuntimeError, MemoryError, ArithmeticError, TokenError),
    *(zipfile.BadZipFile, zlib.error),
)


class Kept:
    """Pieces in a ``folder``, all of which depend on ``content``."""

    def __init__(self, folder: Path, content: Mapping[str, Any]) -> None:
        self.folder, self.content = folder, dict(content)
        self._own: set[Path] = set()  # what is removed in the end

    def has(self, what: Mapping[str, Any]) -> bool:
        """Whether there is a file of a piece."""
        return self._path(what).is_file()

    def piece(self, what: Mapping[str, Any], make: Callable[[], Arrays]) -> Arrays:
        """The arrays that ``make`` gives, or gave an earlier run; ``what`` is all else that they depend on."""
        path = self.claim(what)
        try:
            with np.load(path, allow_pickle=False) as saved:
                return dict(saved)
        except WRONG:
            found = make()
            write_arrays(path, found)
            return found

    def document(self, what: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        """The same of what can be written as JSON."""
        return json.loads(str(self.piece(what, lambda: {"document": np.array(json.dumps(make()))})["document"]))

    def claim(self, what: Mapping[str, Any]) -> Path:
        """Where a piece of this run is; called for one that it does not ask for, but an earlier run may have left."""
        path = self._path(what)
        self._own.add(path)
        return path

    def remove(self) -> None:
        """Remove the pieces of this run, and the folder where nothing else is in it."""
        for path in self._own:
            with suppress(OSError):
                path.unlink()
        remove_empty(self.folder)

    def _path(self, what: Mapping[str, Any]) -> Path:
        return self.folder / f"{hashlib.sha256(canonical(self.content | dict(what)).encode()).hexdigest()[:32]}.npz"


def remove_empty(folder: Path) -> None:
    """Remove a folder, unless there is something in it."""
    with suppress(OSError):
        folder.rmdir()
