"""The four floors: imports run only down.

``simlab`` knows nothing of what stands on it; ``theory`` uses ``simlab``, ``experiments`` both, and ``reports`` may
look at all of them. Every import of every file is read from its source, those inside functions too.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.property

ROOT = Path(__file__).parents[1]
FLOORS = ("simlab", "theory", "experiments", "reports")  # from the ground up
HOUSE = {*FLOORS, "notebooks", "tests", "conftest"}


def imported(source: str, package: str) -> set[str]:
    """The top-level packages a file imports; a relative import is its own package."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(package if node.level else node.module or "")
    return {name.partition(".")[0] for name in names}


def climbs(floor: str, source: str) -> set[str]:
    """What a file of ``floor`` imports that does not stand on its floor or below."""
    return (imported(source, floor) & HOUSE) - set(FLOORS[: FLOORS.index(floor) + 1])


FILES = [(floor, path) for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]


def test_there_is_something_to_check() -> None:
    assert {floor for floor, _ in FILES} == set(FLOORS)
    assert "simlab" in imported((ROOT / "theory" / "exact.py").read_text(), "theory")


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_run_only_down(floor: str) -> None:
    found = {str(path.relative_to(ROOT)): climbs(floor, path.read_text()) for f, path in FILES if f == floor}
    assert {path: up for path, up in found.items() if up} == {}


@pytest.mark.parametrize(
    ("floor", "source", "up"),
    [
        ("simlab", "import theory.exact", {"theory"}),
        ("simlab", "def f():\n    from experiments.cli.main import main", {"experiments"}),
        ("theory", "import numpy, reports.pages.report as page", {"reports"}),
        ("experiments", "from tests import oracles", {"tests"}),
        ("experiments", "from theory import exact\nfrom . import cli", set()),
        ("reports", "from experiments import results", set()),
    ],
)
def test_an_import_that_climbs_is_seen(floor: str, source: str, up: set[str]) -> None:
    assert climbs(floor, source) == up


# the rooms of real models, where torch is imported when a file is loaded
TORCH = ("torch", "simlab.models", "experiments.models", "experiments.training")


def within(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def needs_torch(source: str) -> bool:
    """Whether loading a file loads torch, or a room that does; imports inside functions do not count."""
    names: list[str] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return any(within(name, TORCH) for name in names)


def test_the_main_job_needs_no_torch() -> None:
    """No file but those of the rooms of real models loads torch when it is loaded; a function that needs it may."""
    loaded = set()
    for _, path in FILES:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not within(module.removesuffix(".__init__"), TORCH) and needs_torch(path.read_text()):
            loaded.add(module)
    assert loaded == set()


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("import torch", True),
        ("from torch import nn", True),
        ("from simlab import models", True),
        ("from experiments.training import loop", True),
        ("def f():\n    import torch", False),
        ("import torchless", False),
        ("from experiments.cli.run import run_command", False),
    ],
)
def test_a_file_that_loads_torch_is_seen(source: str, needs: bool) -> None:
    assert needs_torch(source) == needs
