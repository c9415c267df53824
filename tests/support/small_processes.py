"""The small worlds that decoders are enumerated over: random tables, on a line and on grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simlab.processes import TableProcess
from theory.example_processes import random_process

# vocabulary, length, grid, share of zeros
WORLDS = {
    "line": (2, 4, None, 0.0),
    "line with zeros": (3, 3, None, 0.35),
    "grid": (2, 4, (2, 2), 0.0),
    "grid with zeros": (2, 6, (3, 2), 0.3),
    "wide grid": (2, 6, (2, 3), 0.0),
    "column": (2, 4, (4, 1), 0.2),
}


def world(name: str, seed: int = 1) -> TableProcess:
    vocabulary, length, shape, zeros = WORLDS[name]
    return random_process(seed, vocabulary, length, shape, zeros)


def pair(seed: int, vocabulary: int, length: int, zeros: float = 0) -> tuple[TableProcess, TableProcess]:
    """A target and a draft process, on a line."""
    target, draft = (random_process(seed + shift, vocabulary, length, zeros=zeros) for shift in (0, 500))
    return target, draft


def constant(row: Sequence[Any], length: int) -> TableProcess:
    """The same row after every prefix."""
    return TableProcess(len(row), length, lambda prefix: list(row))


def drafts(name: str, decoder: Any) -> dict[str, TableProcess]:
    """The draft process of decoders that need one: another table."""
    return {"draft": world(name, seed=100)} if decoder.needs_draft else {}
