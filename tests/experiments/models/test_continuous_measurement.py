"""What is measured on the trained pair: a run that goes on where it was killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.models.continuous.kind import Continuous
from experiments.models.continuous.measurement import Setting, begun, measured, settings

pytestmark = pytest.mark.property


def test_a_run_goes_on_from_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    there = {"images": 2, "seed": 0, "cost": {"target": 1}, "settings": {"gamma 2": 1}}
    path.write_text(json.dumps(there))
    assert begun(path, 2, 0, lambda: {}) == there
    for images, seed in ((3, 0), (2, 1)):
        new = {"images": images, "seed": seed, "cost": {"target": 2}, "settings": {}}
        assert begun(path, images, seed, lambda: {"target": 2}) == new


def test_settings_have_names_of_their_own() -> None:
    names = [name for name, _ in settings()]
    assert len(names) == len(set(names))


@pytest.mark.slow
def test_a_setting_is_measured() -> None:
    found = measured(Continuous(), Setting(gamma=8), 2, 0)
    assert 0 < found["acceptance"]["mean"] < 1
    assert found["calls"]["mean"] < 49
    assert found["unfinished"] == 0
