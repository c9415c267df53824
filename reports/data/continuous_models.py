"""Reading what ``simlab compare --model fashion-continuous`` has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from reports.data.files import Unreadable, read_json

SOURCE, ARRAYS = Path("compare-continuous.json"), Path("compare-continuous.npz")
COMMAND = "simlab compare --model fashion-continuous"
KEPT = Path(__file__).parents[1] / "measured" / "continuous"  # a comparison of many images, that comes along
KEYS = {"model", "shape", "dimension", "settings", "gamma", "prefill", "n", "seed", "device", "testing", "methods"}
NAMES = {"method", "labels", "accepted", "images"}


class Compared(NamedTuple):
    """A document, and the arrays beside it."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


def read(out: Path) -> Compared | None:
    """The comparison in ``out``, if there is one; raises :class:`~reports.data.files.Unreadable` for what is none."""
    if not (out / SOURCE).exists():
        return None
    document = read_json(out / SOURCE, COMMAND)
    if KEYS - document.keys():
        lacks = ", ".join(sorted(KEYS - document.keys()))
        raise Unreadable(f"{out / SOURCE} cannot be read: it lacks {lacks}; run `{COMMAND}` again")
    try:
        with np.load(out / ARRAYS, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in NAMES}
    except (OSError, KeyError, ValueError, EOFError, BadZipFile) as error:
        raise Unreadable(f"{out / ARRAYS} cannot be read: {error}; run `{COMMAND}` again") from None
    return Compared(document, arrays)
