"""Pages of the site for tests: what is on one, what is dead, and results that are saved, damaged or not there."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd


class Page(HTMLParser):
    """The links and the anchors of a page, its tags and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tags.add(tag)
        if tag == "a" and told.get("href"):
            self.links.append(str(told["href"]))
        if told.get("id"):
            self.anchors.add(str(told["id"]))

    def handle_data(self, data: str) -> None:
        self.text += data


@lru_cache(maxsize=64)
def _read(path: Path, written: int) -> Page:
    """The page as it was when it was ``written``; many links lead to one page."""
    return Page(path)


def dead(path: Path) -> list[str]:
    """The links of the page at ``path`` that lead nowhere; those to papers are not followed."""
    found = []
    for link in Page(path).links:
        if link.startswith("https://arxiv.org/abs/"):
            continue
        file, _, anchor = link.partition("#")
        goal = (path.parent / file).resolve() if file else path
        if not goal.exists() or (anchor and anchor not in _read(goal, goal.stat().st_mtime_ns).anchors):
            found.append(link)
    return found


def fetched(text: str) -> list[str]:
    """What a page would load from elsewhere, or run that it was not made with."""
    return re.findall(r"src=.?http|<link[^>]* href=.?http|url\(.?http|@import|<script src", text)


def whole_pdf(data: bytes) -> bool:
    """Whether a PDF has one page and every object is where its table of contents says."""
    start = int(re.search(rb"startxref\s+(\d+)\s+%%EOF\s*$", data)[1])  # type: ignore[index]
    entries = re.findall(rb"(\d{10}) \d{5} n", data[start:])
    placed = all(re.match(rb"\d+ 0 obj", data[int(at) : int(at) + 12]) for at in entries)
    return data.startswith(b"%PDF-1") and bool(entries) and placed and b"/Count 1 " in data


# Results -----------------------------------------------------------------------------------------------------------


def empty(folder: Path, **more: Any) -> Path:
    """Results with nothing in them but a verdict; ``more`` is said by ``verdicts.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = {"simlab": "0", "seed": 0, "failed": {}, "headlines": [], "results": [], "claims": []}
    write(folder / "verdicts.json", verdicts | more)
    write(folder / "manifest.json", {"measured": False, "sequences": 0, "versions": {}, "seconds": {"all": 1.0}})
    return folder


def write(path: Path, document: Any) -> Path:
    """A document as JSON, at ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def other_document(path: Path) -> None:
    """Columns, keys or arrays are not there."""
    if path.suffix == ".parquet":
        pd.read_parquet(path).iloc[:, :1].to_parquet(path)
    else:
        path.write_text("{}", encoding="utf-8")


def no_document(path: Path) -> None:
    path.write_text("no document", encoding="utf-8")


DAMAGES = (cut, other_document, no_document)
