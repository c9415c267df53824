"""Reading what ``simlab compare --model fashion-continuous`` has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reports.data.files import read_arrays, read_json

SOURCE, ARRAYS = Path("compare-continuous.json"), Path("compare-continuous.npz")
COMMAND = "simlab compare --model fashion-continuous"
KEPT = Path(__file__).parents[1] / "measured" / "continuous"  # a comparison of many images, that comes along
KEYS = {"model", "shape", "dimension", "settings", "gamma", "prefill", "n", "seed", "device", "testing", "methods"}
NAMES = {"method", "labels", "accepted", "images"}


class Compared(NamedTuple):
    """A document, and the arrays beside it."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


def is_pair(document: dict[str, Any]) -> bool:
    """Whether ``simlab compare --model fashion-continuous`` wrote this."""
    return document.keys() >= KEYS


def read(out: Path) -> Compared | None:
    """The comparison in ``out``, if there is one; raises :class:`~reports.data.files.Unreadable` for what is none."""
    if not (out / SOURCE).exists():
        return None
    document = read_json(out / SOURCE, COMMAND, KEYS)
    return Compared(document, read_arrays(out / ARRAYS, COMMAND, NAMES))
