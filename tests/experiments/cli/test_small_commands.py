"""``simlab run large``, ``convert`` and ``doctor``, what is compiled meanwhile, and what no command loads in vain."""

from __future__ import annotations

import json
import subprocess
import sys
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
    assert main(["run", "large", "neighbours", "--vocabulary", "256", "--out", str(tmp_path)]) == 0
    table = pd.read_parquet(tmp_path / "large" / "neighbours.parquet")
    assert set(LARGE.columns["neighbours"]) <= set(table.columns)
    assert (table["vocabulary"] == 256).all()


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


# What is not loaded --------------------------------------------------------------------------------------------------


HEAVY = "numba hypothesis pandas sklearn matplotlib torch ot pyarrow statsmodels"
NUMERICAL = f"numpy scipy rich {HEAVY}"
EXACT = f"scipy.stats {HEAVY}"


def loaded(code: str, names: str, folder: Path) -> tuple[str, list[str]]:
    """What is printed by ``code`` in an interpreter of its own, and which modules of these names it has loaded."""
    code += f"\nimport json\nprint(json.dumps([name for name in {names.split()} if name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys\n{code}"], capture_output=True, text=True, cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    printed, _, found = done.stdout.rstrip().rpartition("\n")
    return printed, json.loads(found)


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ({"--version": "simlab ", "--help": "Usage: simlab", "run --help": "Usage: simlab run"}, NUMERICAL),
        ({"claims": "gsd.speed", "claims sjd.window": "sjd.window"}, HEAVY),
        (
            {"verify --claim gsd.dynamic.centred": "refuted", "prove lantern --at 1/3,1/3,1/3 1/4,1/2,1/4": "TV"},
            EXACT,
        ),
    ],
    ids=["help", "claims", "exact"],
)
def test_commands_load_nothing_that_they_do_not_need(lines: dict[str, str], names: str, tmp_path: Path) -> None:
    """Nothing is compiled, fitted or plotted for them; one process runs those of which the same is asked."""
    code = "".join(f"\nassert main({line.split()}) == 0\nprint('<end>')" for line in lines)
    told, found = loaded(f"from experiments.cli.main import main{code}", names, tmp_path)
    *each, _ = f"{told}\n".split("<end>\n")
    assert all(printed in own for printed, own in zip(lines.values(), each, strict=True))
    assert found == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import reports.__main__", f"simlab theory experiments {HEAVY}"),
        ("import reports.pages.report, reports.pages.claims", f"seaborn {HEAVY}"),
        ("import reports.site.build", "torch"),
        ("import experiments.models.discrete.replay, experiments.models.continuous.recording", "torch"),
        pytest.param(
            "from experiments.models import choice\nfrom experiments.models.discrete.kind import Discrete\n"
            "from experiments.models.discrete.methods import make_method\n"
            "models = Discrete(); models.target, models.tokenizer, make_method('sjd-ac', models.codebook)",
            "torch._dynamo pandas pydantic simlab.certify",  # a second or more before the first step
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_a_module_does_not_need_is_not_loaded(code: str, names: str, tmp_path: Path) -> None:
    assert loaded(code, names, tmp_path)[1] == []
