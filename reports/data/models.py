"""What ``simlab compare`` has saved, and ``simlab replay`` and ``simlab device`` beside it: read, never computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from reports.data.runs import Unreadable, read_json
from reports.pages import device_tables as models_device

SOURCE, ARRAYS = Path("compare", "compare.json"), Path("compare", "compare.npz")
REPLAY, DEVICE = Path("replay", "replay.json"), Path("device.json")
COMMAND = "simlab compare --out out/compare"
RECORD, REPLAYED = "simlab record --out out/rows.npz", "simlab replay out/rows.npz --out out/replay"
HEAD = {
    "model", "shape", "vocabulary", "classes", "sampling", "n", "seed", "device", "threads", "versions", "memory",
    "nearest_codes", "testing", "methods", "locality",
}  # fmt: skip
ROW = {
    "method", "decoder", "rule", "drafter", "lossless", "nodes", "steps", "compression", "committed", "accepted",
    "quality", "distortion", "checks", "timing",
}  # fmt: skip
HELD = {"method", "labels", "shown", "images", "steps", "kept", "offsets", "locality", "locality_error"}


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
    """The comparison in ``out``, if there is one; raises :class:`~reports.data.runs.Unreadable` for what is none."""
    if not (out / SOURCE).exists():
        return None
    document = read_json(out / SOURCE, COMMAND)
    methods = document["methods"] if document.keys() >= HEAD else None
    if (
        not isinstance(methods, list)
        or not methods
        or not all(isinstance(row, dict) and row.keys() >= ROW for row in methods)
    ):
        raise Unreadable(f"{out / SOURCE} cannot be read: it is no comparison of methods; run `{COMMAND}` again")
    return Compared(document, _arrays(out / ARRAYS, [row["method"] for row in methods]))


def _arrays(path: Path, methods: list[str]) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            found = {name: archive[name] for name in sorted(HELD & set(archive.files))}
    except FileNotFoundError:
        raise Unreadable(f"{path} is missing; run `{COMMAND}` again") from None
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise Unreadable(f"{path} cannot be read: {error}; run `{COMMAND}` again") from None
    if HELD - found.keys() or found["method"].tolist() != methods:
        raise Unreadable(f"{path} cannot be read: it is not of the methods of {SOURCE.name}; run `{COMMAND}` again")
    return found


def read_replay(out: Path) -> dict[str, Any] | None:
    """What was replayed, if anything was; raises as :func:`read`."""
    return _read(out / REPLAY, {"recording", "rows", "windows", "rules"}, REPLAYED)


def read_device(out: Path) -> dict[str, Any] | None:
    """What a step costs on a device, if that was measured; raises as :func:`read`."""
    return _read(out / DEVICE, models_device.KEYS, models_device.COMMAND)


def _read(path: Path, keys: set[str], command: str) -> dict[str, Any] | None:
    if not path.exists():
        return None
    document = read_json(path, command)
    if not keys <= document.keys():
        lacks = ", ".join(sorted(keys - document.keys()))
        raise Unreadable(f"{path} cannot be read: it lacks {lacks}; run `{command}` again")
    return document
