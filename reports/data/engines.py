"""Certificates of engines that come along, ``experiments/engines/certificates``, and what could not be tried."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from reports.data.files import Unreadable, read_json

FOLDER = Path(__file__).parents[2] / "experiments" / "engines" / "certificates"
COMMAND = "python -m experiments.engines.record"
TRIED = "tried.toml"  # engine: what was tried, and why there is no certificate
KEYS = {"name", "engine", "verdict", "meaning", "summary", "lines", "failure", "acceptance", "command", "contract"}


class Engines(NamedTuple):
    """Certificates, with what they are about; and reasons by engine for those that there is none of."""

    certificates: list[dict[str, Any]]
    tried: dict[str, str]


def read_engines(folder: Path = FOLDER) -> Engines:
    """All that comes along; raises :class:`~reports.data.files.Unreadable` for a file that is no such certificate."""
    found = [(path, read_json(path, COMMAND)) for path in sorted(folder.glob("*.json"), key=lambda path: path.stem)]
    for path, document in found:
        if not document.keys() >= KEYS:
            raise Unreadable(f"{path} cannot be read: it is no certificate of an engine; run `{COMMAND}` again")
    tried = folder / TRIED
    return Engines(
        [document for _, document in found],
        dict(tomllib.loads(tried.read_text(encoding="utf-8"))) if tried.exists() else {},
    )
