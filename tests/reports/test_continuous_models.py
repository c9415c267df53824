"""The page on a pair of continuous tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.data.models import read_pair as read
from reports.pages.continuous_models import page, told_apart_table
from reports.site.gallery import inline
from tests.support.page_documents import save_pair

pytestmark = pytest.mark.exact


def test_the_page_says_what_was_found(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    found = read(save_pair(tmp_path))
    assert found is not None
    html = page(found, [], inline)
    for said in ("algorithm-1", "40 images", "steps 4", "TV 0.125", "1.25", "0.500"):
        assert said in html
    for row in found.document["methods"]:
        row["timing"] = []  # of a first table
    assert "speedup, batch" not in page(found, [], inline)
    rows = told_apart_table(found.document["methods"]).rows
    assert [cells[2] for cells in rows] == ["no", "yes"]
    assert rows[1][5] == "nothing"
