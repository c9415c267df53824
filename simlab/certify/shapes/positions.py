"""Positions of a sequence that are alike: counts of theirs are added up, and more cases are drawn that look there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Positions:
    """Those from ``start`` on, or one in ``by`` of them; the first token of a sequence is at 0."""

    start: int
    by: int = 1

    @property
    def key(self) -> tuple[str, int]:
        return f"one position in {self.by}", self.start

    def up_to(self, last: int) -> Sequence[int]:
        """Those of a sequence with so many tokens before its last one."""
        return range(self.start, last + 1, self.by)


POSITIONS = (
    *(Positions(start) for start in (1, 4, 8, 16, 32)),
    *(Positions(start, by) for by in (2, 8, 32) for start in range(by)),
)
# the last of eight or 32, and the next one
LAST_AND_NEXT = Positions(7, 8), Positions(8, 8), Positions(31, 32), Positions(32, 32)


def those_with(position: int) -> Iterator[Positions]:
    """Those that a position is one of."""
    return (one for one in POSITIONS if position in one.up_to(position))
