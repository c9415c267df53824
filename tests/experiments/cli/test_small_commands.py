"""``simlab large``, ``convert`` and ``doctor``, and what is compiled meanwhile."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from numba import njit

from experiments.cli import doctor, large
from experiments.cli.compiling import compiling
from experiments.cli.main import main
from reports.data.tables import LARGE
from simlab.continuous.networks.mar.files import load_kl16, load_mar
from tests.support.cli import usage_error
from tests.support.mar import SMALL, as_tensors, drawn, mar_shapes, write_kl16, write_mar

pytestmark = pytest.mark.cli


@pytest.mark.slow
def test_a_table_is_written_where_the_report_looks(tmp_path: Path) -> None:
    assert main(["large", "neighbours", "--vocabulary", "256", "--out", str(tmp_path)]) == 0
    table = pd.read_parquet(tmp_path / "large" / "neighbours.parquet")
    assert set(LARGE.columns["neighbours"]) <= set(table.columns)
    assert (table["vocabulary"] == 256).all()


def test_all_tables_are_made_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = large.tables()
    tiny = dict.fromkeys(names, lambda vocabulary: pd.DataFrame({"vocabulary": [vocabulary]}))
    monkeypatch.setattr(large, "tables", lambda: tiny)
    assert main(["large", "--out", str(tmp_path)]) == 0
    paths = sorted((tmp_path / "large").iterdir())
    assert {path.stem for path in paths} == set(names)
    printed = capsys.readouterr().out
    assert all(str(path) in printed for path in paths)


def test_both_files_are_converted(tmp_path: Path) -> None:
    weights = write_mar(tmp_path / "checkpoint-last.pth")
    written = tmp_path / "mar.safetensors"
    assert main(["model", "convert", str(tmp_path / "checkpoint-last.pth"), "--heads", "3", "--out", str(written)]) == 0
    model = load_mar(written, SMALL.heads, torch.float64)
    assert torch.equal(model.mask_token, torch.from_numpy(weights["mask_token"]))
    write_kl16(tmp_path / "kl16.ckpt")
    written = tmp_path / "kl16.safetensors"
    assert main(["model", "convert", str(tmp_path / "kl16.ckpt"), "--out", str(written)]) == 0
    assert load_kl16(written).config.multiples == (1, 1, 2)


def test_nothing_is_converted_where_a_tensor_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = as_tensors(drawn(mar_shapes(), 0))
    del weights["encoder_norm.bias"]
    checkpoint = tmp_path / "checkpoint-last.pth"
    torch.save({"model_ema": weights}, checkpoint)
    given = ["model", "convert", str(checkpoint), "--heads", "3", "--out", str(tmp_path / "a.safetensors")]
    assert "encoder_norm.bias" in usage_error(given, capsys)
    assert list(tmp_path.iterdir()) == [checkpoint]


def test_the_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "numba" in capsys.readouterr().out
    monkeypatch.setitem(doctor.WANTED, "no-such-package", ("nothing", "simlab[nothing]"))
    assert main(["doctor"]) == 0
    line = next(each for each in capsys.readouterr().out.splitlines() if each.startswith("no-such-package"))
    assert line.split()[1] == "missing"
    assert line.endswith("pip install 'simlab[nothing]'")
    monkeypatch.setattr(doctor, "NEEDED", ("no-such-package",))
    assert main(["doctor"]) == 1


def test_kernels_that_are_compiled_are_told_apart_from_others() -> None:
    @njit
    def inner(x: float) -> float:
        return x + 1

    @njit
    def outer(x: float) -> float:
        return inner(x) * 2

    told = []
    with compiling() as compiled:
        compiled.tell = lambda: told.append(True)
        assert outer(1.0) == 4.0
    first = compiled.seconds
    assert first > 0
    assert told == [True]
    with compiling() as compiled:
        assert outer(2.0) == 6.0
    assert compiled.seconds == 0
