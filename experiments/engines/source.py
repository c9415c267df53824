"""Load one source file of a package that cannot be imported here as a whole.

Engines import their distributed runtime, configuration and model code beside a sampler that needs none of it. What such
a file imports from its own packages becomes a stand-in that nothing calls, except the modules that are given.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock


class _StandIns(MetaPathFinder, Loader):
    """Finds every module of these packages: a given one, or one whose names are all stand-ins."""

    def __init__(self, packages: Sequence[str], given: Mapping[str, Mapping[str, Any]]) -> None:
        self.packages, self.given = packages, given

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.packages else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Imported(spec.name, self.given.get(spec.name, {}))

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Imported(ModuleType):
    """A module whose names are given ones, a class to derive from, or stand-ins."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(given)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {}) if name == "RejectionSampler" else MagicMock(name=name)


@contextmanager
def _standing_in(packages: Sequence[str], given: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    finder = _StandIns(packages, given)
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in packages}
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
            del sys.modules[name]
        sys.modules.update(before)


def load(
    path: Path, name: str, packages: Sequence[str], given: Mapping[str, Mapping[str, Any]] | None = None
) -> ModuleType:
    """The module at ``path``, imported as ``name``; of ``packages`` it gets what is ``given``, and stand-ins."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a path that ends in .py has a spec"
    assert spec.loader is not None, "and a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Triton looks for the source of a kernel
    with _standing_in(packages, given or {}):
        spec.loader.exec_module(module)
    return module


def source_version(package: str, variable: str) -> str:
    """The version of what :func:`find` finds; raises ``PackageNotFoundError`` where there is nothing."""
    folder = os.environ.get(variable)
    if not folder:
        return version(package)
    told = [*Path(folder).glob("PKG-INFO"), *Path(folder).glob(f"{package.replace('-', '_')}-*.dist-info/METADATA")]
    found = re.search(r"^Version: (\S+)$", told[0].read_text(encoding="utf-8"), re.M) if told else None
    return found[1] if found else "of unknown version"


def find(package: str, file: str, variable: str) -> Path:
    """A file of an installed package, or of the sources in the folder that an environment variable names.

    Raises ``ValueError`` where neither is there.
    """
    folder = os.environ.get(variable)
    try:
        path = Path(folder) / file if folder else Path(str(distribution(package).locate_file(file)))
    except PackageNotFoundError:
        raise ValueError(f"{package} is not installed; install it, or set {variable} to its sources") from None
    if not path.exists():
        raise ValueError(f"{path} is not there; expected the sources of {package}")
    return path
