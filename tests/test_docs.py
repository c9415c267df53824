"""The documentation is built without a warning."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli.main import main

pytestmark = [pytest.mark.cli, pytest.mark.slow]

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built of a copy of what it reads, with the verdicts on one paper; notebooks are tested as such."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("docs", "reports/images", "simlab/certify", "experiments/specs", "notebooks"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("_build", "written", "__pycache__"))
    for name in ("CHANGELOG.md", "CITATION.cff"):
        shutil.copyfile(ROOT / name, copy / name)
    assert main(["verify", "--paper", "leviathan", "--out", str(copy / "out")]) == 0
    command = [
        sys.executable,
        "-P",
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-b",
        "html",
        "-D",
        "nb_execution_mode=off",
        "docs",
        "site",
    ]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return copy / "site"


def test_every_verdict_leads_to_its_page(site: Path) -> None:
    from theory.claims import CLAIMS

    page = (site / "written" / "papers" / "leviathan.html").read_text(encoding="utf-8")
    for id, claim in CLAIMS.items():
        if claim.paper == "leviathan":
            assert f'href="../../report/claims/{id}.html"' in page
            assert (site / "report" / "claims" / f"{id}.html").is_file()


def test_every_command_rule_and_decoder_is_there(site: Path) -> None:
    from experiments.cli.main import app
    from simlab.decoders import DECODERS
    from simlab.rules import RULES

    commands = (site / "written" / "commands.html").read_text(encoding="utf-8")
    assert all(f"<h2>simlab {each.name}" in commands for each in app.registered_commands)
    methods = (site / "written" / "methods.html").read_text(encoding="utf-8")
    assert all(f">{name}</span>" in methods for name in (*RULES, *DECODERS))
