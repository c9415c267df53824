"""Reading one saved file, with errors that name it and the command that makes it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


class Unreadable(ValueError):
    """A saved result that is there but cannot be read; names the file and what would make it anew."""


def read_table(path: Path, made_by: str, columns: Collection[str] = ()) -> pd.DataFrame:
    """The Parquet file at ``path``, which the command ``made_by`` makes and which has these ``columns`` at least.

    Raises ``FileNotFoundError`` where there is none and :class:`Unreadable` where it cannot be read.
    """
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file", str(path))
    import pandas as pd

    try:
        table = pd.read_parquet(path)
    except Exception as error:  # Arrow has errors of its own for each way in which a file can be damaged
        raise unreadable(path, _first_line(error), made_by) from None
    _has(columns, table.columns, path, made_by)
    return table


def read_json(path: Path, made_by: str, keys: Collection[str] = ()) -> dict[str, Any]:
    """The JSON object at ``path``, which the command ``made_by`` makes and which has these ``keys`` at least; raises as
    :func:`read_table`.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise unreadable(path, _first_line(error), made_by) from None
    if not isinstance(found, dict):
        raise unreadable(path, "is no JSON object", made_by)
    _has(keys, found, path, made_by)
    return found


def read_arrays(path: Path, made_by: str, names: Collection[str]) -> dict[str, np.ndarray]:
    """The arrays of these ``names`` at ``path``, beside a document that the command ``made_by`` makes.

    Raises :class:`Unreadable` where the file, or one of them, is missing or cannot be read.
    """
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            _has(names, archive.files, path, made_by)
            return {name: archive[name] for name in sorted(names)}
    except FileNotFoundError:
        raise Unreadable(f"{path} is missing; run `{made_by}` again") from None
    except Unreadable:
        raise
    except Exception as error:  # of archives, and of what they are compressed with, too
        raise unreadable(path, _first_line(error), made_by) from None


def _has(wanted: Collection[str], found: Iterable[str], path: Path, made_by: str) -> None:
    missing = set(wanted) - set(found)
    if missing:
        raise unreadable(path, f"it lacks {', '.join(sorted(missing))}", made_by)


@dataclass(frozen=True)
class Rows:
    """A list of objects that all have these keys, ``least`` of them at least."""

    keys: Mapping[str, Any]
    least: int = 1


def having(*names: str, **shapes: Any) -> dict[str, Any]:
    """The shape of an object: it has ``names``, whatever they hold, and ``shapes``, which hold what they say.

    A shape is a type, the shape of an object, or :class:`Rows`.
    """
    return dict.fromkeys(names, object) | shapes


def fits(value: Any, shape: Any) -> bool:
    """Whether a value of JSON has a shape (:func:`having`)."""
    if isinstance(shape, Rows):
        several = isinstance(value, list) and len(value) >= shape.least
        return several and all(fits(row, shape.keys) for row in value)
    if isinstance(shape, type):
        return isinstance(value, shape)
    return isinstance(value, dict) and all(name in value and fits(value[name], own) for name, own in shape.items())


@dataclass(frozen=True)
class Document:
    """A JSON object that a command saves."""

    path: Path  # in the folder of results
    command: str  # what makes it
    shape: Mapping[str, Any]  # what it has at least: :func:`having`

    def read(self, out: Path) -> dict[str, Any]:
        """The one in ``out``; raises as :func:`read_json`."""
        return self.at(out / self.path)

    def at(self, path: Path) -> dict[str, Any]:
        """The one at ``path``; raises as :func:`read_json`."""
        found = read_json(path, self.command, self.shape)
        wrong = [name for name, shape in self.shape.items() if not fits(found[name], shape)]
        if wrong:
            raise unreadable(path, f"{wrong[0]} is not what it should be", self.command)
        return found

    def there(self, out: Path) -> dict[str, Any] | None:
        """The one in ``out``, if there is one; raises :class:`Unreadable` for another file."""
        return self.read(out) if (out / self.path).exists() else None


def unreadable(path: Path, reason: str, made_by: str) -> Unreadable:
    """The error for a file that is not what it should be."""
    return Unreadable(f"{path} cannot be read: {reason}; remove it and run `{made_by}` again")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
