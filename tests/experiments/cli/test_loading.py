"""What is not loaded: a first answer is there at once, and pages are drawn by whoever has only the files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cli

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
            "from experiments.models.methods import make_method\n"
            "models = Discrete(); models.target, models.tokenizer, make_method('sjd-ac', models.codebook)",
            "torch._dynamo pandas pydantic simlab.certify",  # a second or more before the first step
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_a_module_does_not_need_is_not_loaded(code: str, names: str, tmp_path: Path) -> None:
    assert loaded(code, names, tmp_path)[1] == []
