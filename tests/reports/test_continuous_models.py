"""The page on a pair of continuous tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.data.continuous_models import Compared, read
from reports.data.files import Unreadable
from reports.pages.continuous_models import page, told
from reports.site.gallery import inline

pytestmark = pytest.mark.exact
TIME = {"batch": 2, "seconds": 0.5, "speedup": 1.25, "speedup_error": 0.1, "cost": 0.2, "predicted": 1.5}
QUALITY = {"accuracy": 0.75, "accuracy_error": 0.1, "frechet_to_ar": 2.5, "frechet_to_held_out": None}


def row(method: str, share: float | None, passes: bool) -> dict[str, Any]:
    check = {"p_value": 0.25 if passes else 1e-9, "passes": passes, "n": 40, "detects": 0.125 if passes else None}
    return {
        "method": method, "lossless": passes, "noisy_end": True, "steps": {"mean": 3.0},
        "acceptance": {"mean": share, "error": None if share is None else 0.01},
        "proposals": {"mean": None, "exhausted": 2, "rejected": 0}, "log_sigma": None, "gap": None,
        "timing": TIME, "quality": QUALITY, "checks": {"accuracy": check},
    }  # fmt: skip


def compared(folder: Path) -> Compared:
    document = {
        "model": {}, "shape": [2, 2], "dimension": 3, "settings": {"steps": 4, "order": "raster"}, "gamma": 5,
        "prefill": 1, "n": 40, "seed": 0, "device": "CPU", "testing": {}, "classes": ["Bag", "Coat"],
        "methods": [row("autoregressive", None, True), row("algorithm-1", 0.5, False)],
    }  # fmt: skip
    (folder / "compare-continuous.json").write_text(json.dumps(document))
    arrays = {"method": np.array(["a", "b"]), "labels": np.array([1, 0, 0]), "accepted": np.full((2, 2, 2), 0.5)}
    np.savez(folder / "compare-continuous.npz", **arrays, images=np.zeros((2, 3, 8, 8), np.uint8))
    found = read(folder)
    assert found is not None
    return found


def test_the_page_says_what_was_found(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    found = compared(tmp_path)
    html = page(found, [], inline)
    for said in ("algorithm-1", "40 images of each method", "steps 4", "TV 0.125", "1.25", "0.500"):
        assert said in html
    rows = told(found.document["methods"]).rows
    assert [cells[2] for cells in rows] == ["no", "yes"]
    assert rows[1][5] == "nothing"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    compared(tmp_path)
    (tmp_path / "compare-continuous.npz").unlink()
    with pytest.raises(Unreadable, match=r"compare-continuous\.npz cannot be read.*simlab compare --model fashion-c"):
        read(tmp_path)
    (tmp_path / "compare-continuous.json").write_text("{}")
    with pytest.raises(Unreadable, match="it lacks device"):
        read(tmp_path)
