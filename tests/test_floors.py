"""The four floors: imports run only down, and no floor opens a file of a floor above.

``simlab`` knows nothing of what stands on it; ``theory`` uses ``simlab``, ``experiments`` both, and ``reports`` may
look at all of them. Every import of every file is read from its source, those inside functions too, and every string
that names a floor, or a file in it, as code that opens files would.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.property

ROOT = Path(__file__).parents[1]
FLOORS = ("simlab", "theory", "experiments", "reports")  # from the ground up
HOUSE = {*FLOORS, "notebooks", "tests", "conftest"}


class Imported(NamedTuple):
    """An import of a file."""

    names: tuple[str, ...]  # dotted: the modules, or what is taken from one
    first: bool  # whether it is carried out when the file is loaded
    typing: bool  # whether only type checkers read it


@cache
def imports(source: str) -> list[Imported]:
    """Every import of a file, those inside functions too; a relative one names no module."""
    tree = ast.parse(source)
    typing = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    unread = {id(node) for block in typing for node in ast.walk(block)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = tuple(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(f"{node.module}.{alias.name}" for alias in node.names if not node.level)
        else:
            continue
        found.append(Imported(names, node in tree.body, id(node) in unread))
    return found


def imported(source: str) -> set[str]:
    """The top-level packages that a file imports."""
    return {name.partition(".")[0] for each in imports(source) for name in each.names}


def climbs(floor: str, source: str) -> set[str]:
    """What a file of ``floor`` imports that does not stand on its floor or below."""
    return (imported(source) & HOUSE) - set(FLOORS[: FLOORS.index(floor) + 1])


FILES = [(floor, path) for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]


def test_there_is_something_to_check() -> None:
    assert {floor for floor, _ in FILES} == set(FLOORS)
    assert "simlab" in imported((ROOT / "theory" / "exact" / "laws.py").read_text())


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


# Circles ---------------------------------------------------------------------------------------------------------


def modules_imported(source: str, known: set[str]) -> set[str]:
    """Those of ``known`` that a file imports, inside functions too; what only type checkers read does not count."""
    names = {name for each in imports(source) if not each.typing for name in each.names}
    return {name if name in known else name.rpartition(".")[0] for name in names} & known


def circle(files: dict[str, str], depth: int | None = None) -> list[str]:
    """Modules that import each other in a circle, of ``files`` by their module's name; none if there is none.

    With a ``depth``, packages: what is the same in so many parts of its name is one.
    """

    def package(name: str) -> str:
        return ".".join(name.split(".")[:depth])

    graph: dict[str, set[str]] = {}
    for name, source in files.items():
        graph.setdefault(package(name), set()).update(map(package, modules_imported(source, set(files))))
    try:
        TopologicalSorter({name: found - {name} for name, found in graph.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def modules() -> dict[str, str]:
    """The source of every file of the floors, by the name of its module."""
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for _, path in FILES]
    return {name: path.read_text() for name, (_, path) in zip(names, FILES, strict=True)}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(modules()) == []


def test_no_packages_of_the_certifier_import_each_other_in_a_circle() -> None:
    certifier = {name: source for name, source in modules().items() if name.startswith("simlab.certify.")}
    assert "simlab.certify.contracts.scripted" in certifier
    assert circle(certifier, 3) == []


def test_a_circle_is_seen() -> None:
    files = {"a": "from b import c", "b.c": "def f():\n    import d", "d": "import a"}
    assert set(circle(files)) == {"a", "b.c", "d"}
    assert circle(files | {"d": "if TYPE_CHECKING:\n    import a"}) == []
    packages = {"a.one": "import b.one", "b.one": "", "b.two": "import a.two", "a.two": "import a.one"}
    assert circle(packages) == []
    assert set(circle(packages, 1)) == {"a", "b"}


def docstrings(tree: ast.AST) -> set[int]:
    """The ``id`` of every node that is a docstring: prose may name any floor."""
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, scopes) and node.body]
    return {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}


def names_above(floor: str, source: str) -> set[str]:
    """Strings in the code of ``floor`` that are the name of a floor above, or a path or module in one."""
    above = FLOORS[FLOORS.index(floor) + 1 :]
    if not re.search(rf"[\"']({'|'.join(above)})", source):
        return set()
    tree = ast.parse(source)
    prose = docstrings(tree)
    strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in prose}
    return {s for s in strings if isinstance(s, str) and re.fullmatch(rf"({'|'.join(above)})([/.][\w./*-]*)?", s)}


DRAWS = ("experiments/cli/report.py", "experiments/terminal.py")  # they start `python -m reports`, a program


@pytest.mark.parametrize("floor", FLOORS[:-1])
def test_no_floor_opens_a_file_of_a_floor_above(floor: str) -> None:
    found = {str(path.relative_to(ROOT)): names_above(floor, path.read_text()) for f, path in FILES if f == floor}
    found = {path: up - {"reports"} if path in DRAWS else up for path, up in found.items()}
    assert {path: up for path, up in found.items() if up} == {}


@pytest.mark.parametrize(
    ("floor", "source", "up"),
    [
        ("theory", 'Path(__file__).parents[1] / "reports" / "published"', {"reports"}),
        ("theory", 'open("reports/published/results.csv")', {"reports/published/results.csv"}),
        ("simlab", 'files("theory.published")', {"theory.published"}),
        ("theory", '"""reports"""\nopen("simlab/rules/base.py")', set()),
        ("theory", 'print("reports of others")', set()),
    ],
)
def test_a_file_above_is_seen(floor: str, source: str, up: set[str]) -> None:
    assert names_above(floor, source) == up


# the rooms of real models and of decoders on a device, where torch is imported when a file is loaded
TORCH = (
    "torch",
    "simlab.continuous.networks",
    "simlab.models",
    "simlab.decoders.compiled.tensors",
    "simlab.decoders.graph",
    "simlab.decoders.triton",
    "experiments.engines.lmdeploy",
    "experiments.engines.sglang",
    "experiments.engines.vllm",
    "experiments.engines.vllm_ascend",
    "experiments.engines.vllm_runner",
    "experiments.models",
    "experiments.training",
)


def within(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def needs_torch(source: str) -> bool:
    """Whether loading a file loads torch, or a room that does; imports inside functions do not count."""
    return any(within(name, TORCH) for each in imports(source) if each.first for name in each.names)


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
