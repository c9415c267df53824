"""Elements of pages: figures with captions, tables, texts."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from matplotlib.figure import Figure

TEXTS = Path(__file__).parents[1] / "templates" / "texts.toml"
LONG = 16  # rows of a table that is open at first


@dataclass(frozen=True)
class Picture:
    """A figure on a page."""

    name: str  # of its file
    heading: str
    figure: Figure
    caption: str
    counterpart: str = ""  # the figure or table of a paper that it stands beside


@dataclass(frozen=True)
class Table:
    """A table on a page; cells are text, and all but the first ``words`` of a row are numbers."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    words: int = 1

    @classmethod
    def of(cls, heading: str, records: Sequence[Mapping[str, str]], note: str = "", words: int = 1) -> Table:
        """The table of records that all have the same names, which are its columns."""
        columns = list(records[0]) if records else []
        return cls(heading, columns, [list(record.values()) for record in records], note, words)

    @property
    def long(self) -> bool:
        """Whether it is folded away."""
        return len(self.rows) > LONG


def texts() -> dict[str, Any]:
    """Leads, headings and captions, by page."""
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))


def images(document: dict[str, Any]) -> str:
    """How many images of each method a comparison has, and how many are to come."""
    n, asked = document["n"], document.get("asked", document["n"])
    return f"{n} images of each method" if n == asked else f"so far {n} of {asked} images of each method"


def figure_name(text: dict[str, str]) -> str:
    """The function that draws what a text is of: it is called as the table is, unless it has a name of its own."""
    return text.get("figure", text["table"])


def drawings(figures: ModuleType, page: str) -> dict[str, Callable[..., Figure]]:
    """The functions that draw the figures of a page, by name."""
    return {name: getattr(figures, name) for name in map(figure_name, texts()[page]["pictures"])}


def captioned(drawn: Mapping[str, Figure], captions: Sequence[dict[str, str]], page: str) -> dict[str, Picture]:
    """The figures of a page that were drawn, by name, in the order of their texts."""
    return {
        text["name"]: picture(text, drawn[text["name"]], f"{page}-{text['name']}")
        for text in captions
        if text["name"] in drawn
    }


def picture(text: dict[str, str], figure: Figure, name: str = "", **words: str) -> Picture:
    """A figure with what ``text`` says of it; ``words`` go into the braces of the caption."""
    caption = text["caption"].strip()
    return Picture(
        name or text["name"],
        text["heading"],
        figure,
        caption.format(**words) if words else caption,
        text.get("counterpart", ""),
    )
