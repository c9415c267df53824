"""Cached kernels go when a compiled source has changed, and only then."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import simlab
from simlab.kernel_cache import SOURCES, drop_stale_kernels
from simlab.rules import Grouped, Speculative
from simlab.rules.compiled import dispatch

pytestmark = pytest.mark.exact


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two compiled sources with a kernel cached beside each, and a source that is not compiled."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    for folder in (tmp_path, tmp_path / "compiled"):
        (folder / "__pycache__").mkdir(parents=True)
        (folder / "__pycache__" / "kernel.nbi").touch()
        (folder / "__pycache__" / "kernel.1.nbc").touch()
    for path in ("one_compiled.py", "compiled/other.py", "plain.py"):
        (tmp_path / path).write_text("x = 1")
    return tmp_path


def kernels(package: Path) -> int:
    return len(list(package.rglob("*.nb[ic]")))


def test_kernels_of_unknown_sources_go_and_those_of_known_ones_stay(package: Path) -> None:
    assert drop_stale_kernels(package)
    assert kernels(package) == 0
    (package / "compiled" / "__pycache__" / "new.nbi").touch()
    assert not drop_stale_kernels(package)
    assert kernels(package) == 1


@pytest.mark.parametrize(
    ("changed", "dropped"), [("one_compiled.py", True), ("compiled/other.py", True), ("plain.py", False)]
)
def test_a_changed_source_drops_all(package: Path, changed: str, dropped: bool) -> None:
    drop_stale_kernels(package)
    (package / "__pycache__" / "new.nbi").touch()
    os.utime(package / changed, ns=(1, 1))
    assert drop_stale_kernels(package) == dropped
    assert kernels(package) == (not dropped)


def test_kernels_elsewhere_are_left_alone(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    assert not drop_stale_kernels(package)
    assert kernels(package) == 4


def test_sources_whose_functions_are_compiled_as_they_stand_count_as_well() -> None:
    """As ``normals`` does of ``njit(...)(normals.box_muller)``."""
    package = Path(simlab.__file__).parent
    watched = {path for pattern in SOURCES for path in package.rglob(pattern)}
    inlined = set[str]()
    for path in watched:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("njit"):
                inlined |= {each.value.id for each in node.args if isinstance(each, ast.Attribute)}  # type: ignore[attr-defined]
    assert {"philox", "exponentials", "normals"} <= inlined <= {path.stem for path in watched}


@pytest.mark.parametrize("name", ["_accept", "residual"])
def test_code_is_named_by_what_it_calls(name: str) -> None:
    """Kernels that two processes have compiled are read by a third, which takes for one what is named alike.

    What is called by the type of a rule is named as its form is: a function around it would be named alike for all.
    ``residual`` calls ``weights``.
    """
    chosen, row = getattr(dispatch, name), np.array([0.5, 0.3, 0.2])

    @njit
    def calling(rule: Any, p: np.ndarray, q: np.ndarray, x: int) -> Any:
        return chosen(rule, p, q, x)

    for rule in (Grouped([0, 0, 1]), Speculative()):
        calling(dispatch.compiled(rule), row, row[::-1].copy(), 1)
    code = " ".join(calling.inspect_llvm().values())
    wanted = {"_accept_any", "lossless_accept"} if name == "_accept" else {"_weights_any", "lossless_weights"}
    assert wanted <= set(re.findall(r"6simlab5rules8compiled\d[a-z]+?\d+([a-z_]+?)B\d", code))
    assert "by_type" not in code
