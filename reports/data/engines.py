"""Certificates of engines that come along, ``experiments/engines/certificates``, and what could not be tried."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from reports.data.files import read_json

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
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stem)
    tried = folder / TRIED
    return Engines(
        [read_json(path, COMMAND, KEYS) for path in paths],
        dict(tomllib.loads(tried.read_text(encoding="utf-8"))) if tried.exists() else {},
    )
