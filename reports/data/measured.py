"""What was measured on devices and comes along: ``reports/measured/*.json``, as the commands write it.

A file is what ``simlab model device``, ``compare``, ``replay`` or ``certify`` wrote on one machine, with versions, or
what became of the steps of ``simlab model device-day``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from reports.data.documents import COMPARISON, DEVICE, MAP, PAIR, REPLAY
from reports.data.files import Unreadable, fits, having, read_json

FOLDER = Path(__file__).parents[1] / "measured"
COMMAND = "make device-day NAME=..."
Documents = dict[str, dict[str, Any]]


class Measured(NamedTuple):
    """Documents by the name of their file."""

    devices: Documents  # what a step costs
    comparisons: Documents  # all methods on the model that comes along
    pairs: Documents  # the same of continuous tokens
    maps: Documents  # where methods pay
    replays: Documents  # every rule in the contexts of a recorded run
    certificates: Documents
    days: Documents


SHAPES = (  # as Measured has them
    *(document.shape for document in (DEVICE, COMPARISON, PAIR, MAP, REPLAY)),
    having("subject", "contract", "verdict", "summary", "lines"),
    having("kind", "name", steps=dict),
)


def read_measured(folder: Path = FOLDER) -> Measured:
    """All that comes along; raises :class:`~reports.data.files.Unreadable` for a file that is none of these."""
    found = Measured(*({} for _ in SHAPES))
    for path in sorted(folder.glob("*.json")):
        document = read_json(path, COMMAND)
        place = next((own for own, shape in zip(found, SHAPES, strict=True) if fits(document, shape)), None)
        if place is None:
            raise Unreadable(
                f"{path} cannot be read: it is of none of simlab model device, compare, replay and certify"
            )
        place[path.stem] = document
    return found
