"""``simlab convert`` on small checkpoints in MAR's published layout."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from experiments.cli.main import main
from simlab.continuous.networks.mar.files import load_kl16, load_mar
from tests.support.mar import SMALL, as_tensors, drawn, mar_shapes, write_kl16, write_mar

pytestmark = pytest.mark.cli


def test_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = write_mar(tmp_path / "checkpoint-last.pth")
    written = tmp_path / "mar.safetensors"
    assert main(["convert", str(tmp_path / "checkpoint-last.pth"), "--heads", "3", "--out", str(written)]) == 0
    assert f"weights {written}, " in capsys.readouterr().out
    model = load_mar(written, SMALL.heads, torch.float64)
    assert torch.equal(model.mask_token, torch.from_numpy(weights["mask_token"]))
    write_kl16(tmp_path / "kl16.ckpt")
    written = tmp_path / "kl16.safetensors"
    assert main(["convert", str(tmp_path / "kl16.ckpt"), "--out", str(written)]) == 0
    assert load_kl16(written).config.multiples == (1, 1, 2)


def test_nothing_is_written_of_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = as_tensors(drawn(mar_shapes(), 0))
    del weights["encoder_norm.bias"]
    torch.save({"model_ema": weights}, tmp_path / "checkpoint-last.pth")
    before = sorted(tmp_path.iterdir())
    for name, said in (("a.safetensors", "is missing encoder_norm.bias"), ("a.pt", "ends in .safetensors")):
        given = ["convert", str(tmp_path / "checkpoint-last.pth"), "--heads", "3", "--out", str(tmp_path / name)]
        with pytest.raises(SystemExit, match="2"):
            main(given)
        assert said in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
