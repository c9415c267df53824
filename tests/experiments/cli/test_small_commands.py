"""``simlab run large``, ``convert`` and ``doctor``, what is compiled meanwhile, and what no command loads in vain."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from numba import njit

from experiments.cli import doctor, large
from experiments.cli.compiling import compiling
from experiments.cli.main import main
from simlab.continuous.networks.mar.files import load_kl16, load_mar
from tests.support.mar import SMALL, write_kl16, write_mar

pytestmark = pytest.mark.cli


def test_all_tables_are_made_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = large.tables()
    tiny = dict.fromkeys(names, lambda vocabulary: pd.DataFrame({"vocabulary": [vocabulary]}))
    monkeypatch.setattr(large, "tables", lambda: tiny)
    assert main(["run", "large", "--out", str(tmp_path)]) == 0
    paths = sorted((tmp_path / "large").iterdir())
    assert {path.stem for path in paths} == set(names)
    printed = capsys.readouterr().out
    assert all(str(path) in printed for path in paths)


def test_a_table_that_is_there_is_told_where_the_next_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(vocabulary: int) -> pd.DataFrame:
        raise KeyboardInterrupt

    monkeypatch.setattr(large, "tables", lambda: {"one": lambda vocabulary: pd.DataFrame(), "two": stopped})
    assert main(["run", "large", "--out", str(tmp_path)]) == 130
    told = f"simlab: interrupted; {tmp_path / 'large' / 'one.parquet'} was written before\n"
    assert capsys.readouterr().err == told


def test_a_table_that_cannot_be_written_is_told_and_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = dict.fromkeys(("one", "two"), lambda vocabulary: pd.DataFrame({"vocabulary": [vocabulary]}))
    monkeypatch.setattr(large, "tables", lambda: made)
    (tmp_path / "large" / "two.parquet").mkdir(parents=True)
    assert main(["run", "large", "--out", str(tmp_path)]) == 1
    one, two = (tmp_path / "large" / f"{name}.parquet" for name in made)
    assert capsys.readouterr().err == f"simlab: {two}: Is a directory; {one} was written before\n"


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


def test_the_doctor_names_all_that_an_extra_brings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "installed", lambda name: None if name in ("safetensors", "pillow", "seaborn") else "1")
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.count("missing") == 3


def test_the_doctor_outlives_a_torch_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str, *given: Any) -> Any:
        if name == "torch":
            raise OSError("libcublas.so: cannot open shared object file")
        return found(name, *given)

    found = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", broken)
    assert doctor.device() == (
        "unknown", "torch is there, and cannot be imported: libcublas.so: cannot open shared object file"
    )  # fmt: skip


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


# What is not loaded --------------------------------------------------------------------------------------------------


HEAVY = "numba hypothesis pandas sklearn matplotlib torch ot pyarrow statsmodels"


def runs(line: str, printed: str) -> str:
    """A program that runs a command and looks at what it prints."""
    return f"""
from contextlib import redirect_stdout
from io import StringIO
from experiments.cli.main import main
with redirect_stdout(StringIO()) as told:
    assert main({line.split()}) == 0
assert {printed!r} in told.getvalue()
"""


STEPS = {  # programs one after the other, and what none of them may have loaded by then
    "commands": [
        (runs("--version", "simlab ") + runs("--help", "Usage: simlab"), f"numpy scipy rich {HEAVY}"),
        (runs("run --help", "Usage: simlab run"), f"numpy scipy rich {HEAVY}"),
        (runs("claims", "gsd.speed") + runs("claims sjd.window", "sjd.window"), HEAVY),
        (runs("verify --claim gsd.dynamic.centred", "refuted"), f"scipy.stats {HEAVY}"),
        (runs("prove lantern --at 1/3,1/3,1/3 1/4,1/2,1/4", "TV"), f"scipy.stats {HEAVY}"),
    ],
    "pages": [
        ("import reports.__main__", f"simlab theory experiments {HEAVY}"),
        ("import reports.pages.report, reports.pages.claims", f"seaborn {HEAVY}"),
        ("import reports.site.build", "torch"),
        ("import experiments.models.discrete.replay, experiments.models.continuous.recording", "torch"),
    ],
    "first image": [
        (
            "from experiments.models import choice\nfrom experiments.models.discrete.kind import Discrete\n"
            "from experiments.models.discrete.methods import make_method\n"
            "models = Discrete(); models.target, models.tokenizer, make_method('sjd-ac', models.codebook)",
            "torch._dynamo pandas pydantic simlab.certify",  # a second or more before the first step
        ),
        (
            "import torch\nfrom simlab.models.architectures.transformer import Config, Transformer\n"
            "from simlab.models.checkpoints import filled, shapes_of\n"
            "make = lambda: Transformer(Config(1, 32, 2, 8, (2, 2), 'class', classes=3, multiple=8))\n"
            "weights = {name: torch.zeros(shape) for name, shape in shapes_of(make).items()}\n"
            "filled(make, weights, 'a file', torch.float32, 'cpu')",
            "torch._dynamo",
        ),
    ],
}


@pytest.mark.parametrize("what", ["commands", "pages", pytest.param("first image", marks=pytest.mark.slow)])
def test_what_is_not_needed_is_not_loaded(what: str, tmp_path: Path) -> None:
    """Nothing is compiled, fitted or plotted in vain: in an interpreter of its own."""
    looks = [f"{code}\nassert not {{*{names.split()}}} & sys.modules.keys(), {code!r}" for code, names in STEPS[what]]
    code = "\n".join(["import sys", *looks])
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
