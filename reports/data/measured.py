"""What was measured on devices and comes along: ``reports/measured/*.json``, as the commands write it.

A file is what ``simlab model device``, ``simlab compare`` or ``simlab replay`` wrote on one machine, with versions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from reports.data.files import Unreadable, read_json
from reports.data.models import is_comparison, is_device, is_map, is_replay

FOLDER = Path(__file__).parents[1] / "measured"
COMMAND = "make measured NAME=..."


class Measured(NamedTuple):
    """Documents by the name of their file."""

    devices: dict[str, dict[str, Any]]  # what a step costs
    comparisons: dict[str, dict[str, Any]]  # all methods on the model that comes along
    maps: dict[str, dict[str, Any]]  # where methods pay
    replays: dict[str, dict[str, Any]]  # every rule in the contexts of a recorded run


def read_measured(folder: Path = FOLDER) -> Measured:
    """All that comes along; raises :class:`~reports.data.files.Unreadable` for a file that is none of these."""
    found = Measured({}, {}, {}, {})
    for path in sorted(folder.glob("*.json")):
        document = read_json(path, COMMAND)
        if is_device(document):
            found.devices[path.stem] = document
        elif is_comparison(document):
            found.comparisons[path.stem] = document
        elif is_map(document):
            found.maps[path.stem] = document
        elif is_replay(document):
            found.replays[path.stem] = document
        else:
            raise Unreadable(f"{path} cannot be read: it is of none of simlab model device, compare and replay")
    return found
