"""What is packed and how: versions agree, services call `.ci/run`, and simlab alone runs without what draws figures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.cli, pytest.mark.slow]

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PLOTTING = {"matplotlib", "seaborn", "torch", "jupyterlab", "ipykernel", "sphinx", "transformers", "triton", "pytest"}


def name(requirement: str) -> str:
    """The package of a requirement."""
    found = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert found
    return found[0].lower()


def test_what_is_said_of_the_project_is_the_same_everywhere() -> None:
    """But for the version, of which tests/experiments/cli/test_readme.py sees it."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    meta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert cited["license"] == PROJECT["license"] == meta["license"].rpartition("/")[2]
    assert meta["description"] == PROJECT["description"]
    assert PROJECT["description"].lower() in cited["title"].lower()
    assert set(cited["keywords"]) <= set(PROJECT["keywords"]) == set(meta["keywords"])


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", ".gitlab-ci.yml"])
def test_every_service_runs_what_a_person_runs(path: str) -> None:
    jobs = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    steps = [step.get("run") for step in jobs["jobs"]["run"]["steps"]] if "jobs" in jobs else jobs["run"]["script"]
    assert ".ci/run" in steps


def test_what_others_read_of_the_project_is_valid() -> None:
    paths = [ROOT / ".pre-commit-config.yaml", *(ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]
    assert len(paths) > 3
    for path in paths:
        assert yaml.safe_load(path.read_text(encoding="utf-8")), path


def test_linters_see_the_programs_that_hooks_of_a_commit_see() -> None:
    linted = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--show-files", "."], cwd=ROOT, text=True, capture_output=True
    )
    files = [path for path in (ROOT / ".ci").iterdir() if path.is_file()]  # beside them, what Python has compiled
    programs = [path for path in files if "python" in path.read_text(encoding="utf-8").splitlines()[0]]
    assert programs
    for path in programs:
        assert str(path) in linted.stdout.splitlines()


def test_an_image_takes_in_nothing_that_a_checkout_has_made() -> None:
    """What git ignores at the top of a checkout is ignored there as well."""
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for each in (".venv", ".engines", "out/", "docs/_build/", "docs/written/", "dist/"):
        assert each in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
        assert each.rstrip("/") in left_out


def test_what_is_installed_has_every_file_of_the_packages() -> None:
    """But pictures of the documentation."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    packed = {path for name, patterns in listed.items() for each in patterns for path in (ROOT / name).glob(each)}
    told = subprocess.run(["git", "ls-files", *listed], cwd=ROOT, text=True, capture_output=True, check=True)
    files = {ROOT / name for name in told.stdout.splitlines() if not name.endswith(".py")}
    assert len(files) > 100
    assert {path for path in files - packed if path.parent != ROOT / "reports" / "images"} == set()


def test_simlab_alone_brings_nothing_that_draws() -> None:
    assert PLOTTING & set(map(name, PROJECT["dependencies"])) == set()
    assert {"matplotlib", "seaborn"} <= set(map(name, EXTRAS["report"]))


def test_every_extra_that_is_named_to_a_person_exists() -> None:
    named = {
        extra
        for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "experiments").rglob("*.py")]
        for found in re.findall(r"simlab\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    assert {"report", "torch", "engines"} <= named
    assert named <= EXTRAS.keys()


def test_binder_installs_what_there_is_and_opens_notebooks() -> None:
    folder = ROOT / ".binder"
    asked = dict(line.split(maxsplit=1) for line in (folder / "requirements.txt").read_text().splitlines())
    assert (folder / asked.pop("--constraint")).resolve() == ROOT / "constraints.txt"
    extra = re.fullmatch(r"\.\[(\w+)\]", asked.pop("--editable"))
    assert extra
    assert not asked
    assert {"jupyterlab", "jupytext", "ipywidgets"} <= set(map(name, EXTRAS[extra[1]]))
    version = (folder / "runtime.txt").read_text().strip().removeprefix("python-")
    assert PROJECT["requires-python"] == f">={version}"
    assert os.access(folder / "postBuild", os.X_OK)
    (command,) = re.findall("^jupytext.*", (folder / "postBuild").read_text(), re.M)
    done = subprocess.run([Path(sys.executable).parent / command.split()[0], "--help"], text=True, capture_output=True)
    assert "set-default-viewer" in done.stdout


@pytest.mark.parametrize("package", ["simlab", "theory", "experiments", "reports"])
def test_every_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


# Without what draws figures -------------------------------------------------------------------------------------


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which neither torch nor what draws figures can be imported, for child processes as well."""
    for package in ("matplotlib", "seaborn", "torch"):
        (tmp_path / "absent" / package).mkdir(parents=True)
        text = f"raise ModuleNotFoundError('absent', name={package!r})\n"
        (tmp_path / "absent" / package / "__init__.py").write_text(text)
    return os.environ | {"PYTHONPATH": f"{tmp_path / 'absent'}{os.pathsep}{ROOT}"}


def simlab(bare: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from experiments.cli.main import run_process; run_process()"
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True)


def test_a_certificate_is_made_without_what_draws_its_page(bare: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def verify(p, q, drafts, rng):\n    return drafts\n")
    done = simlab(bare, tmp_path, "certify", "mine.py:verify", "--calls", "64", "--processes", "0")
    assert done.stderr == "simlab: pages with figures need matplotlib: pip install 'simlab[report]'\n"
    assert "certificate  out/certify/certificate.json" in done.stdout
    assert "the page" not in done.stdout
    assert not (tmp_path / "out" / "certify" / "certificate.html").exists()


def test_a_claim_is_decided_with_its_page(bare: dict[str, str], tmp_path: Path) -> None:
    done = simlab(bare, tmp_path, "verify", "--claim", "gsd.dynamic.centred")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "claims" / "gsd.dynamic.centred.html").exists()


def test_a_command_that_draws_says_what_it_needs(bare: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    done = simlab(bare, tmp_path, "report")
    assert done.returncode == 2
    assert done.stderr == "simlab: pages with figures need matplotlib: pip install 'simlab[report]'\n"


def test_doctor_tells_of_a_package_that_is_broken(bare: dict[str, str], tmp_path: Path) -> None:
    done = simlab(bare, tmp_path, "doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "torch is there, and cannot be imported: absent" in done.stdout


def test_a_rule_is_shown(bare: dict[str, str], tmp_path: Path) -> None:
    done = simlab(bare, tmp_path, "prove", "grouped", "--at", "1/3,1/3,1/3", "1/4,1/2,1/4", "--set", "labels=0,0,1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "11/12" in done.stdout
