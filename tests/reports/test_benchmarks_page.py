"""Shares of the speed of reading memory, of versions before and of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from experiments.bench.verifying import setting
from reports.site import build as site
from tests.support.page_documents import BENCH, RATIO


@pytest.mark.exact
def test_a_run_stands_beside_versions_before(tmp_path: Path) -> None:
    shares = [
        RATIO | {"what": setting(size, where, 0.25, blocks), "against": against}
        for against in ("reading alone", "reading the same rows")
        for size in (1024, 16384)
        for where in ("inside", "beyond")
        for blocks in ("rejecting", "accepting")
    ]
    told = {"kind": "share", "value": 0.5, "at_least": None, "at_most": None, "met": None}
    read: list[dict[str, Any]] = [*cast("Any", BENCH["ratios"]), *(one | told for one in shares)]
    (tmp_path / "bench.json").write_text(json.dumps(BENCH | {"ratios": read}), encoding="utf-8")
    assert site.build(tmp_path).problems == []
    figure = next(tmp_path.rglob("bench-reading*.svg"))
    for label in ("rejecting, 0.25.0", "accepting, 0.26.0", "accepting, reading the same rows", "accepting, this run"):
        assert label in figure.read_text(encoding="utf-8")
