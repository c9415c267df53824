"""Figures on pages, each also saved as a PDF, with the numbers it shows as CSV."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from experiments.results import write
from reports.site.figure_data import data
from reports.site.html import lay_out, png, svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[str, "Figure", str], Markup]  # a name for the file, the figure, what it shows

FOLDER = "figures"
MARK = b"simlab figure"  # in the files, so that those of earlier runs are known again


class Gallery:
    """Draws figures for pages that stand ``above`` the folder of the site, and collects their PDFs and numbers."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.numbers: dict[str, bytes] = {}

    def on(self, above: str = "") -> Draw:
        """What draws figures on a page; ``above`` leads from its folder to the site's."""
        return partial(self._draw, above)

    def _draw(self, above: str, name: str, figure: Figure, title: str) -> Markup:
        if name in self.files:
            raise ValueError(f"two figures are called {name}")
        place = f"{above}{FOLDER}/{name}"
        link = '<p class="file"><a href="{0}.pdf">PDF</a> <a href="{0}.csv" title="the numbers it shows">CSV</a></p>'
        drawn = inline(name, figure, title) + Markup(link).format(place)
        self.files[name], self.numbers[name] = pdf(figure), data(figure)
        return drawn

    def write(self, out: Path) -> None:
        """Write ``figures/NAME.pdf`` and ``.csv`` under ``out``; those of earlier runs that are not drawn go away."""
        folder = out / FOLDER
        for name in self.files:
            write(folder / f"{name}.pdf", partial(Path.write_bytes, data=self.files[name]))
            write(folder / f"{name}.csv", partial(Path.write_bytes, data=self.numbers[name]))
        for path in folder.glob("*.pdf"):
            if path.stem not in self.files and MARK in path.read_bytes():
                path.with_suffix(".csv").unlink(missing_ok=True)
                path.unlink()


def inline(name: str, figure: Figure, title: str) -> Markup:
    """The figure on a page that stands for itself: pixels as PNG, anything else as SVG."""
    return png(figure, title) if any(ax.images for ax in figure.axes) else svg(figure, title)


def pdf(figure: Figure) -> bytes:
    """The figure as PDF, the same bytes for the same figure."""
    lay_out(figure)
    buffer = io.BytesIO()
    metadata = {"Creator": MARK.decode(), "CreationDate": None, "ModDate": None}
    figure.savefig(buffer, format="pdf", metadata=metadata)
    return buffer.getvalue()
