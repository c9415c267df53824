"""``simlab generate --prompt``: images of texts from small files in published layouts, and clear words where none can
be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")
from PIL import Image

from experiments.cli.main import main
from experiments.cli.prompts import PAINTERS
from simlab.models.text_to_image import KINDS
from simlab.models.text_to_image.base import Drawn
from tests.support.published import lumina_files, vqgan_files

pytestmark = pytest.mark.cli
LENGTH = 2 * 5 + 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("published") / "lumina"
    lumina_files(home, 1)
    vqgan_files(home / "vqgan.ckpt")
    return home


def command(folder: Path, out: Path, *arguments: str) -> list[str]:
    files = "--out", str(out / "grid.png"), "--tokens", str(out / "tokens.npz")
    return ["generate", "--model", "lumina", "--models", str(folder), "--size", "32x64", *files, *arguments]


def test_an_image_of_each_prompt(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = "--prompt", "a dog", "--prompt", "a cat"
    assert main(command(folder, tmp_path, *prompts, "--method", "sjd-ac", "--top-k", "5", "--count", "3")) == 0
    printed = capsys.readouterr()
    assert "sjd-ac (lossless)" in printed.out
    assert not printed.err
    picture = np.asarray(Image.open(tmp_path / "grid.png"))
    assert picture.shape == (2 * (4 + 6) + 6, 2 * (8 + 6) + 6, 3)
    assert (picture != 255).any()
    with np.load(tmp_path / "tokens.npz", allow_pickle=False) as saved:
        assert saved["tokens"].shape == (3, LENGTH)
        assert saved["prompts"].tolist() == ["a dog", "a cat", "a dog"]
        assert (saved["steps"] <= LENGTH).all()


def test_rules_over_a_codebook(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "--method", "sjd+lantern", "--set", "neighbours.count=2", "--set", "delta=0.2", "--prompt", "a dog"
    assert main(command(folder, tmp_path, *settings)) == 0
    assert "sjd+lantern (lossy)" in capsys.readouterr().out
    with np.load(tmp_path / "tokens.npz", allow_pickle=False) as saved:
        tokens = saved["tokens"][0].reshape(-1)
    assert (tokens[[4, 9, 10, 11]] == [6, 6, 7, 8]).all()  # ends of lines and of the image where they belong
    assert (tokens[[0, 1, 2, 3, 5, 6, 7, 8]] < 6).all()


def test_one_that_fails_is_told_and_the_others_are_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import simlab.models.text_to_image as texts

    draw = texts.draw

    def one_fails(*arguments: Any, **more: Any) -> Any:
        for each in draw(*arguments, **more):
            yield Drawn(0, None, None, 3, "the rows hold NaN") if each.prompt == 0 else each

    monkeypatch.setattr(texts, "draw", one_fails)
    prompts = "--prompt", "a dog", "--prompt", "a cat", "--method", "ar"
    assert main(command(folder, tmp_path, *prompts)) == 1
    printed = capsys.readouterr()
    assert "'a dog': the rows hold NaN" in printed.err
    with np.load(tmp_path / "tokens.npz", allow_pickle=False) as saved:
        assert saved["prompts"].tolist() == ["a cat"]


def test_the_command_knows_all_models() -> None:
    assert tuple(KINDS) == PAINTERS
