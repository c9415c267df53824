"""The page on speculative decoding of images, 2024 to 2026: one table of all methods, and what lossy ones spend.

A pure function of ``reports/measured/image-methods/methods.json``, which ``experiments/measurements/image_methods.py``
writes and which comes along.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.data.files import read_json
from reports.figures.image_methods import trade
from reports.pages.elements import Table, picture, texts
from reports.site.gallery import Draw
from reports.site.html import Entries, template

FILE, TITLE = "image-methods.html", "Methods for images"
KEPT = Path(__file__).parents[1] / "measured" / "image-methods" / "methods.json"
COMMAND = "python -m experiments.measurements.image_methods"


def read(path: Path = KEPT) -> dict[str, Any]:
    """The table; raises :class:`~reports.data.files.Unreadable`."""
    return read_json(path, COMMAND, {"n", "rows", "points", "columns"})


def page(found: dict[str, Any], entries: Entries, draw: Draw) -> str:
    """The page as HTML."""
    text = texts()["image_methods"]
    rows = [[cell.replace("`", "") for cell in row["cells"]] for row in found["rows"]]
    return template("image_methods.html").render(
        heading="Speculative decoding of images, 2024 to 2026",
        lead=[paragraph.format(n=found["n"]) for paragraph in text["lead"].strip().split("\n\n")],
        table=Table("methods", found["columns"], rows, words=len(found["columns"])),
        sentences=[(row["method"], row["sentence"]) for row in found["rows"] if row["sentence"]],
        pictures=[picture(text["picture"], trade(found), "image-methods-trade")],
        draw=draw,
        entries=entries,
        here=FILE,
    )
