"""Read comparisons of methods (``simlab compare``): a document, and the arrays beside it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reports.data.documents import COMPARISON, PAIR, REPLAY
from reports.data.files import Document, read_arrays, read_json, unreadable

MEASURED = Path(__file__).parents[1] / "measured"
KEPT = MEASURED / "epyc-compare.json"  # comes along, with what is drawn of its images
KEPT_PAIR = MEASURED / "continuous"  # a comparison of many images of continuous tokens, that comes along
CONTINUOUS = "continuous"  # in the manifest of a recording of trajectories
RECORD_COMMAND = "simlab record --out out/rows.npz"
PARTS = "model", "sampling", "verification", "drafting", "cache"  # of a step
NAMES = {"method", "labels", "shown", "images", "steps", "kept", "offsets", "locality", "locality_error"}
NAMES_OF_PAIR = {"method", "labels", "accepted", "images"}


class Compared(NamedTuple):
    """What ``simlab compare`` wrote."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]

    @property
    def methods(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.document["methods"]
        return rows

    @property
    def compression(self) -> dict[str, np.ndarray]:
        """Tokens a call of every image, by method."""
        rows, columns = self.document["shape"]
        names = [row["method"] for row in self.methods]
        return {name: rows * columns / steps for name, steps in zip(names, self.arrays["steps"], strict=True)}


def read(out: Path) -> Compared | None:
    """The comparison in ``out``, if there is one; raises :class:`~reports.data.files.Unreadable` for what is none."""
    return _compared(out / COMPARISON.path, COMPARISON, NAMES)


def kept() -> Compared | None:
    """The comparison that comes along; raises as :func:`read`."""
    return _compared(KEPT, COMPARISON, NAMES)


def read_pair(out: Path) -> Compared | None:
    """The comparison of continuous tokens in ``out``, if there is one; raises as :func:`read`."""
    return _compared(out / PAIR.path, PAIR, NAMES_OF_PAIR)


def kept_pair() -> Compared | None:
    """The one that comes along, if there is one; raises as :func:`read`."""
    return _compared(KEPT_PAIR / PAIR.path.name, PAIR, NAMES_OF_PAIR)


def _compared(path: Path, saved: Document, names: Collection[str]) -> Compared | None:
    if not path.exists():
        return None
    document, arrays = saved.at(path), path.with_suffix(".npz")
    found = read_arrays(arrays, saved.command, names)
    own = [row["method"] for row in document["methods"]]
    if found["method"].tolist() != own or len(found["labels"]) != document["n"]:
        raise unreadable(arrays, f"it is not of the methods and images of {path.name}", saved.command)
    return Compared(document, found)


def read_replay(out: Path) -> dict[str, Any] | None:
    """The replay of rows in ``out``, if there is one and it is not of trajectories; raises as :func:`read`."""
    path = out / REPLAY.path
    if not path.exists():
        return None
    recording = read_json(path, REPLAY.command).get("recording")
    return None if isinstance(recording, dict) and CONTINUOUS in recording else REPLAY.at(path)
