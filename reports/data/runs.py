"""Saved sweeps: what ``simlab run`` leaves, found and read, never computed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import experiments

SPECS = Path(experiments.__file__).with_name("specs")  # those that come with simlab
TABLE, MANIFEST, CELLS = "table.parquet", "manifest.json", "cells"


class Unreadable(ValueError):
    """A saved result that is there but cannot be read; names the file and what would make it anew."""


class Unsuitable(ValueError):
    """A table that does not have what a figure shows; names what is missing."""


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
    def changed(self) -> bool:
        """Whether simlab comes with another spec of this name."""
        own = SPECS / f"{self.name}.toml"
        return own.exists() and tomllib.loads(own.read_text(encoding="utf-8")) != self.spec

    @property
    def again(self) -> str:
        """The command line that runs it again; a spec that does not come with simlab is a file somewhere."""
        known = (SPECS / f"{self.name}.toml").exists() and not self.changed
        return command(self.name if known else f"{self.name}.toml", self.folder)


def command(name: str, folder: Path | str) -> str:
    """The command line that makes or finishes the sweep ``name`` in ``folder``."""
    return f"simlab run {name} --out {Path(folder).as_posix()}"


def shipped() -> dict[str, str]:
    """The specs that come with simlab: names and titles."""
    written = (tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(SPECS.glob("*.toml")))
    return {spec["name"]: spec["title"] for spec in written}


def find(folders: Iterable[Path]) -> list[Path]:
    """The folders of sweeps among ``folders`` and what stands directly in them, finished or not, each once."""
    found: dict[Path, Path] = {}
    for folder in folders:
        for path in [folder, *sorted(folder.glob("*/"))]:
            if any((path / name).exists() for name in (TABLE, MANIFEST, CELLS)):
                found.setdefault(path.resolve(), path)
    return list(found.values())


def read(folder: Path) -> Run:
    """The sweep in ``folder``.

    Raises ``FileNotFoundError`` where it has not been finished and :class:`Unreadable` where a file is not what it
    should be.
    """
    manifest = _manifest(folder / MANIFEST)
    spec = manifest["spec"]
    table = read_table(folder / TABLE, command(spec["name"], folder))
    missing = {"process", "decoder", "rule", "seed", "replicate", "steps", "tokens", "compression"} - set(table.columns)
    if missing or len(table) != manifest["rows"]:
        what = f"lacks {', '.join(sorted(missing))}" if missing else f"has {len(table)} rows, not {manifest['rows']}"
        raise Unreadable(_told(folder / TABLE, what, command(spec["name"], folder)))
    return Run(spec["name"], spec["title"], spec, manifest, table, folder)


def read_table(path: Path, made_by: str) -> pd.DataFrame:
    """The Parquet file at ``path``, which the command ``made_by`` makes.

    Raises ``FileNotFoundError`` where there is none and :class:`Unreadable` where it cannot be read.
    """
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file", str(path))
    try:
        return pd.read_parquet(path)
    except Exception as error:  # Arrow has errors of its own for each way in which a file can be damaged
        raise Unreadable(_told(path, _first_line(error), made_by)) from None


def read_json(path: Path, made_by: str) -> dict[str, Any]:
    """The JSON object at ``path``, which the command ``made_by`` makes; raises as :func:`read_table`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise Unreadable(_told(path, _first_line(error), made_by)) from None
    if not isinstance(found, dict):
        raise Unreadable(_told(path, "is no JSON object", made_by))
    return found


def _manifest(path: Path) -> dict[str, Any]:
    made_by = command("SPEC", path.parent)
    manifest = read_json(path, made_by)
    spec = manifest.get("spec")
    told = isinstance(spec, dict) and all(isinstance(spec.get(key), str) for key in ("name", "title"))
    if not told or not {"rows", "versions", "cells"} <= manifest.keys():
        raise Unreadable(_told(path, "is no manifest of a sweep", made_by))
    return manifest


def _told(path: Path, what: str, made_by: str) -> str:
    return f"{path} cannot be read: {what}; remove it and run `{made_by}` again"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
