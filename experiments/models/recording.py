"""Recordings on disk, of either kind of token: compressed ``.npz`` without pickles, read without torch.

Beside its arrays a file holds a ``manifest``, JSON, that says which run it is of and what kind it is.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments import kept

if TYPE_CHECKING:
    import pandas as pd

WRONG = (*kept.WRONG, IndexError, TypeError)  # what bad files raise

MANIFEST = "manifest"
EXPECTED = "expected a file that simlab record wrote"
SHOWN = 4  # arrays of a file that is no recording

Notify = Callable[[int, int], None]  # what is done, and what there is to do


class RecordingError(ValueError):
    """A file that is no recording."""


class Replayed(NamedTuple):
    """What rules do with a recording."""

    counts: dict[str, Any]  # what it was computed of
    rules: list[dict[str, Any]]  # a line a rule
    table: pd.DataFrame | None = None  # a line for each rule and image, where there is one


class Recording(ABC):
    """A file of recorded drafts.

    Raises :class:`RecordingError` for a file that is missing or is no recording.
    """

    holds: str  # what there is of a draft

    def __init__(self, path: Path) -> None:
        self.path, (self._file, self.manifest) = path, opened(path)

    @abstractmethod
    def __len__(self) -> int:
        """Drafts."""

    @abstractmethod
    def told(self) -> str:
        """What is in it, for a person."""

    def _check_holds(self, arrays: Iterable[str], described: Iterable[str]) -> None:
        """Raise :class:`RecordingError` unless there are these arrays, and the manifest says so much."""
        for what, names, there in (
            ("is no recording, or a part of one: it", arrays, self._file.files),
            ("its manifest", described, self.manifest),
        ):
            if missing := [name for name in names if name not in there]:
                raise RecordingError(f"{self.path}: {what} has no {', '.join(missing)}; {EXPECTED}")

    def _member(self, name: str) -> np.ndarray:
        self._check_holds((name,), ())
        try:
            return np.asarray(self._file[name])
        except WRONG as error:
            raise wrong(self.path, error) from None


def opened(path: Path) -> tuple[Any, dict[str, Any]]:
    """The arrays of a file, and its manifest. Raises :class:`RecordingError` for what is none."""
    if path.exists() and not path.is_file():
        raise RecordingError(f"{path}: is no file; expected one that simlab record wrote")
    try:
        file = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise RecordingError(f"{path}: there is no such file; expected one that simlab record wrote") from None
    except OSError as error:
        raise wrong(path, error) from None
    except WRONG:
        file = None  # NumPy takes any text for a pickle
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise RecordingError(f"{path}: is no .npz file, or a part of one; {EXPECTED}")
    if MANIFEST not in file.files:
        holds = ", ".join(file.files[:SHOWN]) + ", …" * (len(file.files) > SHOWN) or "nothing"
        raise RecordingError(f"{path}: is no recording: it has no {MANIFEST}, but {holds}; {EXPECTED}")
    try:
        manifest = json.loads(str(file[MANIFEST]))
    except (json.JSONDecodeError, RecursionError):
        raise RecordingError(f"{path}: its manifest is no JSON; {EXPECTED}") from None
    except WRONG as error:
        raise wrong(path, error) from None
    if not isinstance(manifest, dict):
        raise RecordingError(f"{path}: its manifest is {manifest!r}; expected one that simlab record wrote")
    try:
        json.dumps(manifest, allow_nan=False)  # a replay writes it down again
    except ValueError:
        raise RecordingError(f"{path}: its manifest holds NaN or infinity, which JSON has not; {EXPECTED}") from None
    return file, manifest


def wrong(path: Path, error: Exception) -> RecordingError:
    """What to say of a file that raised an error; what is said already stays."""
    if isinstance(error, RecordingError):
        return error
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return RecordingError(f"{path}: {reason}; {EXPECTED}")
