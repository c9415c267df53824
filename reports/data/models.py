"""Read comparisons of methods (``simlab compare``): a document, and the arrays beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reports.data.documents import COMPARISON, PAIR, REPLAY
from reports.data.files import read_arrays, read_json, unreadable

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
    return _comparison(out / COMPARISON.path) if (out / COMPARISON.path).exists() else None


def kept() -> Compared:
    """The comparison that comes along; raises as :func:`read`."""
    return _comparison(KEPT)


def _comparison(path: Path) -> Compared:
    document, arrays = COMPARISON.at(path), path.with_suffix(".npz")
    found = read_arrays(arrays, COMPARISON.command, NAMES)
    own = [row["method"] for row in document["methods"]]
    if found["method"].tolist() != own or len(found["labels"]) != document["n"]:
        raise unreadable(arrays, f"it is not of the methods and images of {path.name}", COMPARISON.command)
    return Compared(document, found)


def read_pair(out: Path) -> Compared | None:
    """The comparison of continuous tokens in ``out``, if there is one; raises as :func:`read`."""
    return _pair(out / PAIR.path)


def kept_pair() -> Compared | None:
    """The one that comes along, if there is one; raises as :func:`read`."""
    return _pair(KEPT_PAIR / PAIR.path.name)


def _pair(path: Path) -> Compared | None:
    if not path.exists():
        return None
    return Compared(PAIR.at(path), read_arrays(path.with_suffix(".npz"), PAIR.command, NAMES_OF_PAIR))


def read_replay(out: Path) -> dict[str, Any] | None:
    """The replay of rows in ``out``, if there is one and it is not of trajectories; raises as :func:`read`."""
    path = out / REPLAY.path
    if not path.exists():
        return None
    recording = read_json(path, REPLAY.command).get("recording")
    return None if isinstance(recording, dict) and CONTINUOUS in recording else REPLAY.at(path)
