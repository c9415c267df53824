"""The page on methods for images: every row of the kept table, and every lossy method in the figure."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from reports.data.files import Unreadable
from reports.figures.image_methods import trade
from reports.pages import image_methods
from reports.site.gallery import inline

pytestmark = pytest.mark.exact


def test_every_method_is_on_the_page() -> None:
    found = image_methods.read()
    page = unescape(image_methods.page(found, [("Index", "index.html")], inline))
    assert all(f"<td>{row['method']}</td>" in page for row in found["rows"])
    assert all(f"<dt>{row['method']}</dt>" in page for row in found["rows"] if row["sentence"])


def test_every_lossy_method_is_in_the_figure() -> None:
    found = image_methods.read()
    drawn = {text.get_text() for legend in trade(found).legends for text in legend.get_texts()}
    counted = {row["method"] for row in found["rows"] if (row["measured"] or {}).get("tokens")}
    shown = {point["method"] for point in found["points"]} | counted
    lossless = {row["method"] for row in found["rows"] if row["lossless"]}
    assert drawn == (shown - lossless) | {"lossless", "frontier: gained is spent"}
    assert {row["method"] for row in found["rows"]} - lossless <= drawn


def test_no_draft_gains_more_than_it_spends() -> None:
    points = [point for point in image_methods.read()["points"] if point["of"] == "draft"]
    assert points
    assert all(point["gained"] <= point["tv"] + 1e-12 for point in points)


def test_another_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "methods.json"
    path.write_text(json.dumps({"rows": []}), encoding="utf-8")
    with pytest.raises(Unreadable, match="it lacks columns, n, points"):
        image_methods.read(path)
