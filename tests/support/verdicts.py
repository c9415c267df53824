"""Verdicts of claims for tests: what is found now, and what was found in 0.17, with the changes that
``docs/verdicts-0.18.md`` lists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from theory.claims import CLAIMS, CheckFailed, Finding

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `([^`]+)` \| `?([\w.-]+)`? \| ([^|]+) \|", re.MULTILINE)

BEFORE = dict(line.split("\t") for line in (Path(__file__).parent / "verdicts-0.17.tsv").read_text().splitlines())
changes, _, moves = (ROOT / "docs" / "verdicts-0.18.md").read_text(encoding="utf-8").partition("now in | where")
CHANGED = {id: (before, now.strip()) for id, before, now in ROW.findall(changes)}
MOVED = {id: to for id, to, _ in ROW.findall(moves)}
KEPT = {id: now for id, now in (BEFORE | {id: now for id, (_, now) in CHANGED.items()}).items() if id not in MOVED}


def decided(id: str, seed: int = 0) -> Finding:
    """The finding on a claim that has no parts."""
    decide = CLAIMS[id].decide
    assert decide is not None
    return decide(seed)


def numbers_of(id: str, kind: str = "counterexample") -> list[dict[str, Any]]:
    """The numbers of every piece of evidence of a kind, one at least."""
    found = [piece.numbers for piece in decided(id).evidence if piece.kind == kind and piece.numbers]
    assert found
    return found


def notices(id: str, place: Any, name: str, broken: Any, patch: pytest.MonkeyPatch, seed: int = 0) -> bool:
    """Whether a claim is decided otherwise, or its check fails, where ``place.name`` is ``broken``."""
    patch.setattr(place, name, broken)
    try:
        return decided(id, seed).verdict != KEPT[id]
    except (CheckFailed, ValueError):  # the second where a law does not even add up
        return True
