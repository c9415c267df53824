"""Where methods pay, on the page of real models: what comes along can be read, and figures say what data say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reports.data.documents import MAP
from reports.data.files import fits
from reports.data.measured import read_measured
from reports.figures import payoff as figures
from reports.pages import payoff_tables
from reports.pages.elements import texts
from reports.pages.models import payoff_pictures

pytestmark = pytest.mark.cli

BATCHES, WINDOWS = (1, 4, 16), (1, 4, 16)


def entry(batch: int, method: str, drafts: int, predicted: float, **more: Any) -> dict[str, Any]:
    settings = {"window": drafts} if drafts else {}
    return {"batch": batch, "method": method, "settings": settings, "rows": 1 + drafts, "predicted": predicted} | more


def document() -> dict[str, Any]:
    """As ``simlab model device --map`` leaves it, of numbers that nobody measured: windows pay below batch 8."""
    predicted = [entry(b, "sjd-ac", w, 2.0 if b < 8 else 0.5) for b in BATCHES for w in WINDOWS]
    measured = [entry(b, "sjd-ac", 4, 2.0 if b < 8 else 0.5, measured=1.8 if b < 8 else 0.4) for b in BATCHES]
    measured += [entry(b, "ar", 0, 1.0, measured=1.0) for b in BATCHES]
    auto = [entry(b, *(("sjd-ac", 4, 2.0) if b < 8 else ("ar", 0, 1.0)), reason="so", of_best=1.05) for b in BATCHES]
    target = [{"batch": b, "rows": r, "seconds": 1e-3 * (4 + b * r)} for b in BATCHES for r in (1, 2, 5)]
    return {
        "kind": "map", "device": "CPU", "threads": 1, "clock": "CPU seconds", "versions": {},
        "sampling": {"guidance": 1.0}, "costs": {"target": target, "versions": {"torch": "2.0"}},
        "predicted": predicted, "measured": measured, "auto": auto,
    }  # fmt: skip


def test_what_comes_along_is_a_map() -> None:
    found = read_measured().maps["map"]
    assert fits(found, MAP.shape)
    assert {chosen["batch"] for chosen in found["auto"]} == {1, 4, 16, 64}
    assert all(np.isfinite(entry["measured"]) and entry["measured"] > 0 for entry in found["measured"])
    assert all(chosen["of_best"] >= 1 for chosen in found["auto"])
    assert len(payoff_tables.pays(found).chosen.rows) == 4  # type: ignore[union-attr]


def test_it_is_told_how_far_predictions_are_off_and_what_is_taken() -> None:
    told = payoff_tables.pays(document())
    assert told is not None
    assert all(number in told.said for number in ("0.90", "0.80", "1.05"))
    assert [row[2:4] for row in told.chosen.rows] == [["1", "2.00 ×"], ["4", "2.00 ×"], ["16", "1.00 ×"]]
    assert ["ar" in row[0] for row in told.chosen.rows] == [False, False, True]
    assert payoff_tables.pays(None) is None


def test_every_figure_has_words_and_draws_what_was_measured() -> None:
    captions = texts()["models"]["payoff"]
    drawn = payoff_pictures(document(), captions)
    assert list(drawn) == ["pays", "pays-map", "pays-most", "pays-cost"]
    assert [text.get_text() for text in drawn["pays-most"].figure.axes[0].texts] == [
        "the most by calls: 0.50, sjd-ac, 1 drafts"
    ]
    (ax,) = drawn["pays"].figure.axes
    marked = [line.get_ydata() for line in ax.lines if line.get_linestyle() == "None"]
    assert [list(np.asarray(values)) for values in marked] == [[1.8, 1.8, 0.4]]
    assert {text.get_text() for text in drawn["pays-map"].figure.axes[0].texts} == {"1.80", "0.40"}
    assert payoff_pictures(None, captions) == {}


def test_methods_are_told_apart_by_their_start_and_their_drafts() -> None:
    started = entry(1, "sjd-ac", 4, 1.0) | {"settings": {"window": 4, "initial": "sample-above"}}
    assert figures.family(started) == "sjd-ac, sample-above"
    assert figures.window(started) == 4
