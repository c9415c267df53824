"""What a page on a sweep shows: figures with captions, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure

LONG = 16  # rows of a table that is shown at once


@dataclass(frozen=True)
class Picture:
    """A figure on a page."""

    name: str  # of its file
    heading: str
    figure: Figure
    caption: str
    counterpart: str = ""  # the figure or table of a paper that it stands beside


@dataclass(frozen=True)
class Sheet:
    """A table on a page; cells are text, and all but the first ``words`` of a row are numbers."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    words: int = 1

    @property
    def long(self) -> bool:
        """Whether it is folded away."""
        return len(self.rows) > LONG


@dataclass(frozen=True)
class Content:
    """Everything on the page of a study."""

    lead: str
    pictures: Sequence[Picture]
    sheets: Sequence[Sheet] = field(default=())
