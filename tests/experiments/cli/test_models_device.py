"""``simlab device``: on a CPU small sizes are measured, and the document says what is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from experiments.cli.main import main
from experiments.models.device import cache_update, measure, plan_for, timed
from simlab.models.process.cache import Cache
from tests.support.cli import usage_error

pytestmark = pytest.mark.cli

PARTS = {"sizes", "forward_1", "forward_8", "sampling", "verification", "cache", "step"}


def test_small_sizes_are_measured_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "device.json"
    assert main(["device", "--device", "cpu", "--small", "--out", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "not measured: small sizes were asked for" in printed
    assert "cache: move" in printed
    found = json.loads(path.read_text())
    assert found["device"].startswith("CPU")
    assert found["versions"]["torch"] == torch.__version__
    for official in ("llamagen-xl", "chameleon-7b"):
        assert found["breakdown"][official] == {"not_measured": "small sizes were asked for"}
    for small in ("llamagen-small", "chameleon-small"):
        parts = found["breakdown"][small]
        assert set(parts) == PARTS
        assert all(parts[part]["ms"] > 0 for part in PARTS - {"sizes", "cache"})
        assert parts["cache"]["in_place"] is True
        assert parts["step"]["host_reads"] == 0
    assert [(entry["decoder"], entry["vocabulary"]) for entry in found["verification"]] == [
        ("sjd", 256),
        ("sjd-pac", 256),
        ("sjd", 1024),
        ("sjd-pac", 1024),
    ]
    for entry in found["verification"]:
        assert entry["eager"]["ms"] > 0
        assert entry["graph"] == entry["compiled"] == {"not_measured": "needs a CUDA device"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without one")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "cuda"], "there is no CUDA device"),
        (["--device", "cpu"], "official size need a CUDA device; expected --small"),
        (["--device", "tpu", "--small"], "is no device; expected cpu or cuda"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(["device", *arguments, "--out", str(tmp_path / "device.json")], capsys)
    assert not (tmp_path / "device.json").exists()


def test_a_cache_that_copies_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def copying(self: Cache, source: torch.Tensor, target: torch.Tensor) -> None:
        self.keys = [store.clone() for store in self.keys]

    monkeypatch.setattr(Cache, "move", copying)
    plan = replace(plan_for("cpu", small=True), warm=1, repeats=1)
    cache = Cache(2, 2, 4, 40, 8, torch.float32, "cpu")
    assert cache_update(cache, plan, place=4, beside=3)["in_place"] is False


def test_calls_are_warm_before_they_count() -> None:
    calls = []
    found = timed(lambda: calls.append(None), replace(plan_for("cpu", small=True), warm=3, repeats=4))
    assert (len(calls), found["repeats"]) == (7, 4)
    assert 0 <= found["least_ms"] <= found["ms"]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_small_sizes_on_a_device() -> None:
    found = measure(plan_for("cuda", small=True))
    assert found["breakdown"]["llamagen-small"]["step"]["device_ms"] > 0
    for entry in found["verification"]:
        assert entry["host_reads"] == 0
        assert entry["eager"]["device_ms"] > 0
        assert entry["graph"]["device_ms"] < entry["eager"]["ms"]
