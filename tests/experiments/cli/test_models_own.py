"""One's own model in the commands, and the guide to it: its files run, and print what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
from PIL import Image

from experiments.cli.main import main
from simlab.models.architectures.backbone import PARTS
from simlab.models.check import CHECKS
from tests.support.cli import files_of, usage_error, written

pytestmark = pytest.mark.cli

GUIDE = (Path(__file__).parents[3] / "docs" / "own-models.md").read_text(encoding="utf-8")
FILES = files_of(GUIDE)
SHOWN = dict(re.findall(r"```text\n\$ ([^\n]*)\n(.*?)```", GUIDE, re.S))


@pytest.fixture
def folder(here: Path) -> Path:
    """A folder with the files of the guide, as the current one."""
    return written(here, FILES)


def lines(text: str) -> list[str]:
    """Without times, which are a machine's."""
    return [re.sub(r"^first step .*|\d+\.\d s$", "...", line.rstrip()) for line in text.strip().splitlines()]


def test_the_guide_shows_these_files() -> None:
    assert list(FILES) == ["function.py", "mine.py", "broken.py", "language.py"]
    assert GUIDE.count("```python") == len(FILES)
    assert all(f"`{part}`" in GUIDE for part in PARTS)
    assert all(f"| {check} |" in GUIDE for check in CHECKS)
    assert len(FILES["mine.py"].split("class Mine")[1].split("def make")[0].strip().splitlines()) < 40


@pytest.mark.parametrize("file", ["function.py", "language.py"])
def test_a_script_prints_what_is_shown(file: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile((folder / file).read_text(), file, "exec"), {"__name__": "__main__"})
    assert lines(capsys.readouterr().out) == lines(SHOWN[f"python {file}"])


@pytest.mark.parametrize("command", [command for command in SHOWN if command.startswith("simlab ")])
def test_a_command_prints_what_is_shown(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(command.split()[1:])
    assert status == (1 if "broken" in command else 0)
    assert lines(capsys.readouterr().out) == lines(SHOWN[command])


# what else a model may bring ---------------------------------------------------------------------------------------

MORE = """
import torch
from mine import Mine


class More(Mine):
    def pixels(self, tokens):
        grey = tokens.float().reshape(-1, 1, 6, 6) / 31
        return grey.repeat_interleave(2, 2).repeat_interleave(2, 3)


def more():
    torch.manual_seed(1)
    model = More()
    model.draft = Mine()
    model.codebook = torch.arange(32)[:, None] / 31
    return model
"""
SMALL = ["--count", "4", "--seed", "3"]


@pytest.fixture
def more(folder: Path) -> Path:
    (folder / "more.py").write_text(MORE)
    return folder


def saved(path: str) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def test_images_where_the_model_brings_pixels(more: Path) -> None:
    for method in ("ar", "sjd-ac", "speculative", "sjd+grouped"):
        given = ["--model", "more.py:more", "--method", method, "--out", "grid.png", "--tokens", "tokens.npz"]
        extra = ["--set", "labels.groups=4"] if "grouped" in method else []
        assert main(["generate", *given, *SMALL, *extra]) == 0
        assert np.asarray(Image.open("grid.png")).shape == (2 * (3 * 12 + 6) + 6,) * 2
        found = saved("tokens.npz")
        assert found["tokens"].shape == (4, 36)
        assert found["labels"].tolist() == [0, 1, 0, 1]


def test_a_module_and_a_file_are_one_model(more: Path) -> None:
    drawn = []
    for spec, batch in (("mine.py:make", "4"), ("mine:make", "3")):
        assert main(["generate", "--model", spec, "--method", "sjd-ac", *SMALL, "--batch", batch]) == 0
        drawn.append(saved("out/tokens.npz")["tokens"])
    assert np.array_equal(*drawn)


def test_rows_are_recorded(more: Path) -> None:
    given = ["--model", "more.py:more", "--count", "2", "--calls", "3", "--out", "rows.npz", "--set", "window=4"]
    assert main(["record", *given]) == 0
    assert saved("rows.npz")["codebook"].shape == (32, 1)


@pytest.mark.parametrize(
    ("right", "wrong", "method", "told"),
    [
        ("model.codebook", "model.draft.config.vocabulary = 31; model.codebook", "speculative", "(31, (6, 6))"),
        ("repeat_interleave(2, 2).repeat_interleave(2, 3)", "squeeze(1)", "ar", "pixels(tokens) is (4, 6, 6)"),
        ("return self.head(features)", "return features.log()", "sjd", "rows hold NaN"),
        ("tokens.float()", "tokens.float().mul(torch.nan)", "ar", "pixels(tokens) holds NaN; expected numbers"),
        (
            'labels = "cat", "dog"',
            'labels = "cat", "dog", "eel"',
            "ar",
            "more.py:more: has 3 labels; expected at most 2",
        ),
        ('labels = "cat", "dog"', 'labels = "cat"', "ar", "more.py:more: labels is 'cat'; expected the names"),
        ('labels = "cat", "dog"', "labels = 2", "ar", "more.py:more: labels is 2; expected the names"),
        ("torch.manual_seed(1)", "raise SystemExit(3)", "ar", "called without arguments, raises SystemExit: 3"),
    ],
)
def test_a_part_that_is_wrong_is_named_and_nothing_is_written(
    right: str, wrong: str, method: str, told: str, more: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert right in MORE + FILES["mine.py"]
    for file in ("mine.py", "more.py"):
        (more / file).write_text((more / file).read_text().replace(right, wrong))
    assert told in usage_error(["generate", "--model", "more.py:more", "--method", method, *SMALL], capsys)
    assert not list(more.glob("out/*"))


def test_the_other_images_are_written_beside_one_that_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows of the second class are no numbers."""
    right = "return self.label(given)[:, None]"
    assert right in FILES["mine.py"]
    wrong = f"{right}.masked_fill((given == 1)[:, None, None], torch.nan)"
    (folder / "partly.py").write_text(FILES["mine.py"].replace(right, wrong))
    given = ["generate", "--model", "partly.py:make", "--method", "sjd", "--tokens", "out/tokens.npz", *SMALL]
    assert main(given) == 1
    printed = capsys.readouterr()
    assert "image 1: " in printed.err
    assert "2 of 4 images" in printed.err
    with np.load("out/tokens.npz") as found:
        assert found["labels"].tolist() == [0, 0]
        assert len(found["tokens"]) == len(found["steps"]) == 2


def test_pictures_of_few_bits_and_a_model_without_labels(more: Path) -> None:
    """Tokens are written under the name that was asked for."""
    text = MORE.replace("def more():", "def few():").replace("return model", "model.labels = None\n    return model")
    (more / "few.py").write_text(text.replace("tokens.float()", "tokens.bfloat16()"))
    given = ["--model", "few.py:few", "--method", "ar", "--out", "grid.png", "--tokens", "drawn/tokens"]
    assert main(["generate", *given, *SMALL]) == 0
    assert np.asarray(Image.open("grid.png")).std() > 0
    assert [path.name for path in (more / "drawn").iterdir()] == ["tokens"]
    assert saved("drawn/tokens")["labels"].tolist() == [0] * 4


def test_tokens_are_written_before_pictures_are_made(more: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (more / "wrong.py").write_text(MORE.replace("return grey", "return grey.sum(1)  # "))
    given = ["--model", "wrong.py:more", "--method", "ar", "--tokens", "tokens.npz"]
    assert "pixels(tokens) is" in usage_error(["generate", *given, *SMALL], capsys)
    assert saved("tokens.npz")["tokens"].shape == (4, 36)


def test_where_tokens_go_is_tried_before_they_are_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out" / "tokens.npz").mkdir(parents=True)
    monkeypatch.setattr("experiments.models.discrete.kind.serve", None)
    told = usage_error(["generate", "--model", "mine.py:make", "--out", "grid.png", *SMALL], capsys)
    assert told == f"simlab: --tokens {Path('out', 'tokens.npz')}: is a folder; expected a file\n"


def test_a_check_of_what_is_no_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "check", "mine.py:Mine"]) == 0
    (folder / "linear.py").write_text("import torch\nlayer = torch.nn.Linear(2, 2)\n")
    capsys.readouterr()
    assert main(["model", "check", "linear.py:layer"]) == 1
    told = capsys.readouterr().out
    assert "parts: is missing config, condition, null, embed, features, logits" in told
    assert re.search("not checked, .*: sizes, condition", told)
