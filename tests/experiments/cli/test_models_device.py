"""``simlab model device``: on a CPU small sizes are measured, and the document says what is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from experiments.cli.main import main
from experiments.models.device import SMALL, WAYS, llamagen, measure, plan_for, timed, whole_step
from simlab.models.process.cache import Window

pytestmark = pytest.mark.cli

TIMED = {"forward_1", "forward_8", "sampling", "verification", "step"}


def test_small_sizes_are_measured_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, mine = tmp_path / "device.json", tmp_path / "device.parts" / "mine.txt"
    mine.parent.mkdir()
    mine.touch()
    assert main(["model", "device", "--device", "cpu", "--small", "--out", str(path)]) == 0
    assert list(mine.parent.iterdir()) == [mine]
    printed = capsys.readouterr().out
    assert "step: cache" in printed
    found = json.loads(path.read_text())
    assert found["device"].startswith("CPU")
    assert found["versions"]["torch"] == torch.__version__
    assert found["bandwidth"]["gigabytes_per_second"] > 0
    for official in ("llamagen-xl", "chameleon-7b"):
        assert found["breakdown"][official].keys() == {"not_measured"}
    for small in ("llamagen-small", "chameleon-small"):
        parts = found["breakdown"][small]
        assert set(parts) == TIMED | {"sizes", "cache", "parts", "step_graph"}
        assert all(parts[part]["ms"] > 0 for part in TIMED)
        assert parts["step"]["in_place"] is True
        assert parts["step_graph"].keys() == {"not_measured"}
        assert set(parts["parts"]) == {"model", "sampling", "verification", "drafting", "cache"}
        assert 0 < parts["parts"]["cache"]["ms"] < parts["step"]["ms"] * 10
    assert [(entry["decoder"], entry["vocabulary"]) for entry in found["verification"]] == [
        (decoder, vocabulary) for vocabulary in (256, 1024) for decoder in ("sjd", "sjd-ac", "sjd-pac")
    ]
    for entry in found["verification"]:
        assert entry["eager"]["ms"] > 0
        assert entry["eager"]["bandwidth"] > 0
        assert entry["bytes"] == 4 * entry["vocabulary"] * (entry["nodes"] + 1 + 8)
        assert entry["host_reads"] == 0
        assert all(entry[way].keys() == {"not_measured"} for way in WAYS if way != "eager")


def test_events_are_recorded_where_the_device_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the stream of the device that is measured, whichever is the current one."""
    streams: list[object] = []

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self, stream: object = "of the current device") -> None:
            streams.append(stream)

        def elapsed_time(self, other: object) -> float:
            return 1.0

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"of {device}")
    found = timed(lambda: None, replace(plan_for("cuda:1", small=True), warm=0, repeats=2))
    assert streams == ["of cuda:1"] * 4
    assert found["device_ms"] == 1.0


def test_a_cache_that_copies_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    attend = Window.attend

    def copying(self: Window, layer: int, *given: torch.Tensor) -> torch.Tensor:
        found = attend(self, layer, *given)
        self.cache.keys[layer] = self.cache.keys[layer].clone()
        return found

    monkeypatch.setattr(Window, "attend", copying)
    plan = replace(plan_for("cpu", small=True), warm=1, repeats=1)
    assert whole_step(llamagen(SMALL, plan), plan)["step"]["in_place"] is False


def test_calls_are_warm_before_they_count() -> None:
    calls = []
    found = timed(lambda: calls.append(None), replace(plan_for("cpu", small=True), warm=3, repeats=4))
    assert (len(calls), found["repeats"]) == (7, 4)
    assert 0 <= found["least_ms"] <= found["ms"]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_small_sizes_on_a_device(tmp_path: Path) -> None:
    *_, found = measure(plan_for("cuda", small=True), tmp_path)
    assert found["breakdown"]["llamagen-small"]["step"]["device_ms"] > 0
    assert found["breakdown"]["llamagen-small"]["step_graph"]["device_ms"] > 0
    for entry in found["verification"]:
        assert entry["host_reads"] == 0
        assert all(entry[way]["device_ms"] > 0 for way in ("eager", "graph", "compiled", "compiled graph"))
        assert entry["graph"]["device_ms"] < entry["eager"]["ms"]
