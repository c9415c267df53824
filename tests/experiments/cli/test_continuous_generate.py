"""``simlab generate`` with a model of continuous tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments.cli.main import main
from experiments.models.continuous.methods import METHODS, NAMES
from tests.support.cli import usage_error
from tests.support.continuous_pair import DIM, write_pair

pytestmark = pytest.mark.cli

QUICK = ("autoregressive", "last-step")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pair(tmp_path_factory.mktemp("pair"), side=12)


def given(models: Path, out: Path, method: str, *more: str) -> list[str]:
    own = ["--models", str(models), "--method", method, "--out", str(out / "grid.png"), "--tokens", str(out / "t.npz")]
    return ["generate", "--model", "fashion-continuous", "--count", "3", "--steps", "3", *own, *more]


@pytest.mark.parametrize(
    "method", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_every_method_draws(method: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drafts = [] if method == "autoregressive" else ["--gamma", "5", "--prefill", "2"]
    drafts += ["--variances", "posterior"] if method == "reflection" else []
    assert main(given(models, tmp_path, method, "--order", "random", *drafts)) == 0
    said = capsys.readouterr().out
    lossless = method not in METHODS or METHODS[method].lossless
    assert f"{method} ({'lossless' if lossless else 'lossy'})  3 images of 9 tokens" in said
    assert Image.open(tmp_path / "grid.png").size[0] > 2 * 12
    with np.load(tmp_path / "t.npz") as saved:
        assert saved["tokens"].shape == (3, 9, DIM)
        assert np.isfinite(saved["tokens"]).all()
        assert (np.sort(saved["places"]) == np.arange(9)).all()
        assert (saved["outcome"][:, :2] == 0).all()
        assert (saved["calls"] <= 9).all()


@pytest.mark.parametrize(
    ("method", "variances", "why"), [("reflection", "learned", "covariance"), ("last-step", "ddim", "adds no noise")]
)
def test_a_method_says_what_variances_it_needs(
    method: str, variances: str, why: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why in usage_error(given(models, tmp_path, method, "--variances", variances), capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_image_is_the_same_in_every_batch(models: Path, tmp_path: Path) -> None:
    found = []
    for batch in ("1", "3"):
        more = "--batch", batch, "--order", "random", "--guidance", "1.5"
        assert main(given(models, tmp_path, "last-step", *more)) == 0
        with np.load(tmp_path / "t.npz") as saved:
            found.append((saved["tokens"], saved["places"]))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-4)
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert (found[0][1][0] != found[0][1][1]).any()


def test_options_of_other_models_are_refused_by_name(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, said in (
        (["--top-k", "5"], "--top-k 5: is not for --model fashion-continuous; expected none"),
        (["--set", "window=3"], "--set window=3: is not for --model fashion-continuous"),
        (["--curve", "a.json"], "--curve a.json: is not for --model fashion-continuous"),
    ):
        assert said in usage_error(given(models, tmp_path, "last-step", *more), capsys)
    for more, said in (
        (["--gamma", "5"], "--gamma 5: is not for --model fashion;"),
        (["--order", "raster"], "--order"),
    ):
        assert said in usage_error(["generate", "--out", str(tmp_path / "a.png"), *more], capsys)
    assert "expected neither" in usage_error(given(models, tmp_path, "autoregressive", "--prefill", "3"), capsys)
    assert "unknown method 'sjd'; expected one of autoregressive" in usage_error(given(models, tmp_path, "sjd"), capsys)
    assert list(tmp_path.iterdir()) == []
