"""Read the results of ``simlab compare``, ``simlab replay`` and ``simlab model device``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reports.data.files import are_rows, read_arrays, read_json, unreadable

SOURCE = Path("compare", "compare.json")
KEPT = Path(__file__).parents[1] / "measured" / "epyc-compare.json"  # comes along, with what is drawn of its images
REPLAY, DEVICE, MAP = Path("replay", "replay.json"), Path("device.json"), Path("map.json")
COMMAND = "simlab compare --out out/compare"
RECORD_COMMAND = "simlab record --out out/rows.npz"
REPLAY_COMMAND = "simlab replay out/rows.npz --out out/replay"
DEVICE_COMMAND = "simlab model device --device cuda --out out/device.json"
MAP_COMMAND = "simlab model device --map --out out/map.json"
REPLAY_KEYS = {"recording", "rows", "windows", "rules"}
MAP_KEYS = {"device", "threads", "clock", "versions", "sampling", "costs", "predicted", "measured", "auto"}
KEYS = {
    "model", "shape", "vocabulary", "classes", "sampling", "n", "seed", "device", "threads", "machine", "clock",
    "versions", "memory", "nearest_codes", "testing", "methods", "locality",
}  # fmt: skip
METHOD = {
    "method", "decoder", "rule", "drafter", "lossless", "nodes", "rows", "steps", "compression", "committed",
    "accepted", "quality", "distortion", "checks", "timing",
}  # fmt: skip
TIMING = {"batch", "seconds", "step_ms", "ms", "speedup", "speedup_error", "predicted", "peak_bytes"}
PARTS = "model", "sampling", "verification", "drafting", "cache"  # of a step
DEVICE_KEYS = {"device", "versions", "small", "window", "breakdown", "verification"}
NAMES = {"method", "labels", "shown", "images", "steps", "kept", "offsets", "locality", "locality_error"}


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
    return _comparison(out / SOURCE) if (out / SOURCE).exists() else None


def kept() -> Compared:
    """The comparison that comes along; raises as :func:`read`."""
    return _comparison(KEPT)


def _comparison(path: Path) -> Compared:
    document = read_json(path, COMMAND)
    if not is_comparison(document):
        raise unreadable(path, "it is no comparison of methods", COMMAND)
    arrays, own = path.with_suffix(".npz"), [row["method"] for row in document["methods"]]
    found = read_arrays(arrays, COMMAND, NAMES)
    if found["method"].tolist() != own or len(found["labels"]) != document["n"]:
        raise unreadable(arrays, f"it is not of the methods and images of {path.name}", COMMAND)
    return Compared(document, found)


def is_comparison(document: dict[str, Any]) -> bool:
    """Whether ``simlab compare`` wrote this."""
    methods: Any = document.get("methods")
    told = document.keys() >= KEYS and bool(methods) and are_rows(methods, METHOD)
    return told and all(are_rows(row["timing"], TIMING) for row in methods)


def is_device(document: dict[str, Any]) -> bool:
    """Whether ``simlab model device`` wrote this."""
    return document.keys() >= DEVICE_KEYS


def is_map(document: dict[str, Any]) -> bool:
    """Whether ``simlab model device --map`` wrote this."""
    return document.keys() >= MAP_KEYS


def is_replay(document: dict[str, Any]) -> bool:
    """Whether ``simlab replay`` wrote this of a model of tokens."""
    return document.keys() >= REPLAY_KEYS


def read_replay(out: Path) -> dict[str, Any] | None:
    """The replay in ``out``, if there is one; raises as :func:`read`."""
    return _read(out / REPLAY, REPLAY_KEYS, REPLAY_COMMAND)


def read_device(out: Path) -> dict[str, Any] | None:
    """The times of steps on a device, if they were measured; raises as :func:`read`."""
    return _read(out / DEVICE, DEVICE_KEYS, DEVICE_COMMAND)


def read_map(out: Path) -> dict[str, Any] | None:
    """Where methods pay, if it was measured; raises as :func:`read`."""
    return _read(out / MAP, MAP_KEYS, MAP_COMMAND)


def _read(path: Path, keys: set[str], command: str) -> dict[str, Any] | None:
    return read_json(path, command, keys) if path.exists() else None
