"""Find and read saved sweeps (``simlab run``)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd

import experiments
from reports.data.files import fits, read_json, read_table, unreadable

SPECS = Path(experiments.__file__).with_name("specs")  # those that come with simlab
KEPT = Path(__file__).parents[1] / "measured" / "studies"  # runs that come along
TABLE, MANIFEST, CELLS = "table.parquet", "manifest.json", "cells"
COLUMNS = ("process", "decoder", "rule", "seed", "replicate", "steps", "tokens", "compression")


@dataclass(frozen=True)
class Run:
    """A finished sweep."""

    name: str
    title: str
    spec: dict[str, Any]  # as it was written
    manifest: dict[str, Any]
    table: pd.DataFrame
    folder: Path

    @property
    def _shipped(self) -> dict[str, Any]:
        """The spec of this name that simlab comes with, empty if there is none."""
        own = SPECS / f"{self.name}.toml"
        return tomllib.loads(own.read_text(encoding="utf-8")) if own.exists() else {}

    @property
    def changed(self) -> bool:
        """Whether simlab comes with another spec of this name."""
        return self._shipped not in ({}, self.spec)

    @property
    def so_far(self) -> str:
        """How many of its cells the table of a run that was stopped has; empty where it has all."""
        counts = self.manifest["cells"]
        if not fits(counts, dict.fromkeys(("all", "kept", "computed"), int)):
            return ""
        there = counts["kept"] + counts["computed"]
        return "" if there >= counts["all"] else f"so far {there:,} of {counts['all']:,} cells"

    @property
    def again(self) -> str:
        """The command line that runs it again; a spec that does not come with simlab is a file somewhere."""
        own, seeds = self._shipped, self.spec.get("seeds")
        if own == self.spec:
            return command(self.name, self.folder)
        if isinstance(seeds, list) and own | {"seeds": seeds} == self.spec:  # simlab run --seed
            return " ".join([command(self.name, self.folder), *(f"--seed {seed}" for seed in seeds)])
        return command(f"{self.name}.toml", self.folder)


def command(name: str, folder: Path | str) -> str:
    """The command line that makes or finishes the sweep ``name`` in ``folder``."""
    return f"simlab run {quote(name)} --out {quote(Path(folder).as_posix())}"


def shipped() -> dict[str, str]:
    """The specs that come with simlab: names and titles."""
    written = (tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(SPECS.glob("*.toml")))
    return {spec["name"]: spec["title"] for spec in written}


def find(folders: Iterable[Path]) -> list[Path]:
    """The folders of sweeps among ``folders`` and what stands directly in them, finished or not, each once.

    A manifest alone makes none: ``simlab verify`` leaves one too.
    """
    found: dict[Path, Path] = {}
    for folder in folders:
        for path in [folder, *sorted(folder.glob("*/"))]:
            if any((path / name).exists() for name in (TABLE, CELLS)):
                found.setdefault(path.resolve(), path)
    return list(found.values())


def read(folder: Path) -> Run:
    """The sweep in ``folder``.

    Raises ``FileNotFoundError`` where it has not been finished and :class:`~reports.data.files.Unreadable` where a file
    is not what it should be.
    """
    manifest = _manifest(folder / MANIFEST)
    spec = manifest["spec"]
    made_by = command(spec["name"], folder)
    table = read_table(folder / TABLE, made_by, COLUMNS)
    if len(table) != manifest["rows"]:
        raise unreadable(folder / TABLE, f"has {len(table)} rows, not {manifest['rows']}", made_by)
    return Run(spec["name"], spec["title"], spec, manifest, table, folder)


def _manifest(path: Path) -> dict[str, Any]:
    made_by = command("SPEC", path.parent)
    manifest = read_json(path, made_by)
    spec = manifest.get("spec")
    named = isinstance(spec, dict) and all(isinstance(spec.get(key), str) for key in ("name", "title"))
    if not named or not {"rows", "versions", "cells"} <= manifest.keys():
        raise unreadable(path, "is no manifest of a sweep", made_by)
    return manifest
