"""Every link of the built site leads somewhere: to a file that is there, and to a place in it. Nothing is fetched.

And no page takes long to load.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
LARGEST = 900_000  # bytes of a page: three hundred claims with their pictures
AFTER_ALL = 900  # of handlers of one event: the report is copied beside the site before


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", warn, priority=AFTER_ALL)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def warn(app: Sphinx, exception: Exception | None) -> None:
    """A warning for each dead link, and each page that is too large, which ``-W`` makes an error."""
    if exception is None and app.builder.format == "html":
        for path in sorted(Path(app.outdir).rglob("*.html")):
            if (size := path.stat().st_size) >= LARGEST:
                LOGGER.warning("%s has %d bytes; expected less than %d", path, size, LARGEST)
        for page, link in dead_links(Path(app.outdir)):
            LOGGER.warning("%s: %s leads nowhere", page, link)


def dead_links(site: Path) -> Iterator[tuple[str, str]]:
    """Page and link, for every link within ``site`` that does not lead to a file of it or to an id in one."""

    @cache
    def read(path: Path) -> Page:
        return Page(path.read_text(encoding="utf-8"))

    for path in sorted(site.rglob("*.html")):
        for link in sorted(read(path).links):
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment) if target.suffix == ".html" else ""
            elsewhere = bool(parts.scheme or parts.netloc)
            if not elsewhere and not (target.is_file() and (not place or place in read(target).places)):
                yield str(path.relative_to(site)), link


class Page(HTMLParser):
    """Where a page leads to, and the places in it that others may lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.places.add(value)
