"""Describe a deviation that no known bug explains: what comes out too often or too rarely, and in which cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Case
from simlab.certify.contracts.events import Every
from simlab.certify.engine.evidence import ALIKE

CONDITIONS: dict[str, Callable[[Case], bool]] = {
    "calls that are counted by their number": lambda case: all(isinstance(events, Every) for events in case.events),
    "calls in turn": lambda case: all(events.calls > 1 for events in case.events),
    "more than 512 tokens": lambda case: _size(case) > 512,
    "more than 64 tokens": lambda case: _size(case) > 64,
    "more than four drafts or tokens in turn": lambda case: case.length > 5,
    "more than two tokens in turn": lambda case: case.length > 2,
    "tokens without mass": lambda case: bool((case.events[0].law == 0).any()),
}


def _size(case: Case) -> int:
    return int(getattr(case, "vocabulary", 0))


def deviation(case: Case, k: int, counts: Array, where: str = "") -> str:
    """Which event of the kind k of a case is off by most, where they were seen so often, or have these shares.

    It is told as of the case, or of ``where``, if that is given.

    One that the target excludes comes first, however rare: nothing else says as plainly that something is wrong.
    """
    events = case.events[k]
    found, law = events.shares(counts)
    off = np.abs(found - law)
    excluded = (law == 0) & (found > ALIKE)
    if excluded.any():
        off[~excluded] = 0
    most = int(off.argmax())
    seen, wanted = _told_apart(float(found[most]), float(law[most]))
    return f"{events.name} of {where or case.name}: {events.format(most)} comes out with {seen} in place of {wanted}"


def _told_apart(found: float, law: float) -> tuple[str, str]:
    """Two shares with four digits, or as many more as tell them apart."""
    return next(
        (told for digits in range(4, 18) if len(set(told := (f"{found:.{digits}g}", f"{law:.{digits}g}"))) > 1),
        (f"{found:.4g}", f"{law:.4g}"),
    )


def condition(cases: Sequence[Case], fails: Mapping[int, bool]) -> str:
    """The first of ``CONDITIONS`` that holds in all cases that fail and in none of those that surely do not."""
    wrong = [cases[i] for i, failed in fails.items() if failed]
    right = [cases[i] for i, failed in fails.items() if not failed]
    for told, holds in CONDITIONS.items():
        if wrong and right and all(map(holds, wrong)) and not any(map(holds, right)):
            return f"only in cases with {told}"
    return ""
