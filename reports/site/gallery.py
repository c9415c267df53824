"""Figures on pages, each also saved as PDF and SVG, with the numbers it shows as CSV."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
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
    """Draws figures for pages that stand ``above`` the folder of the site, and collects their files."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}  # of each figure, by their suffix

    def on(self, above: str = "") -> Draw:
        """What draws figures on a page; ``above`` leads from its folder to the site's."""
        return partial(self._draw, above)

    def _draw(self, above: str, name: str, figure: Figure, title: str) -> Markup:
        if name in self.files:
            raise ValueError(f"two figures are called {name}")
        drawn = inline(name, figure, title) + Markup(
            '<p class="file"><a href="{0}.pdf">PDF</a> <a href="{0}.svg">SVG</a> '
            '<a href="{0}.csv" title="the numbers it shows">CSV</a> '
            '<span class="soft">cite as: simlab {1}, figure {2}</span></p>'
        ).format(f"{above}{FOLDER}/{name}", version("simlab"), name)
        self.files[name] = {".pdf": saved(figure, "pdf"), ".svg": saved(figure, "svg"), ".csv": data(figure)}
        return drawn

    def write(self, out: Path) -> None:
        """Write ``figures/NAME.pdf``, ``.svg`` and ``.csv`` under ``out``; those no longer drawn go away."""
        folder = out / FOLDER
        for name, files in self.files.items():
            for suffix, written in files.items():
                write(folder / f"{name}{suffix}", partial(Path.write_bytes, data=written))
        for path in folder.glob("*.pdf"):
            if path.stem not in self.files and MARK in path.read_bytes():
                path.with_suffix(".svg").unlink(missing_ok=True)
                path.with_suffix(".csv").unlink(missing_ok=True)
                path.unlink()


def inline(name: str, figure: Figure, title: str) -> Markup:
    """The figure on a page that stands for itself: pixels as PNG, anything else as SVG."""
    return png(figure, title) if any(ax.images for ax in figure.axes) else svg(figure, title)


def saved(figure: Figure, kind: str) -> bytes:
    """The figure as ``pdf`` or ``svg``, the same bytes for the same figure."""
    lay_out(figure)
    buffer = io.BytesIO()
    dates = {"pdf": {"CreationDate": None, "ModDate": None}, "svg": {"Date": None}}
    figure.savefig(buffer, format=kind, metadata={"Creator": MARK.decode(), **dates[kind]})
    return buffer.getvalue()
