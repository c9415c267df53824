"""Positions of a sequence that are alike, and rows of one kind.

Counts of theirs are added up, and more cases are drawn that have what looks odd.
"""

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


@dataclass(frozen=True)
class Wanted:
    """What a drawn case has to look at: one of some positions, a row of q of a kind, both, or anything."""

    positions: Positions | None = None
    kind: str = ""  # of how q differs from p

    @property
    def start(self) -> int:
        """The first position."""
        return self.positions.start if self.positions else 0

    def up_to(self, last: int) -> Sequence[int]:
        """The positions of a sequence with so many tokens before its last one; none where any will do."""
        return self.positions.up_to(last) if self.positions else ()


ANYTHING = Wanted()
POSITIONS = (
    *(Positions(start) for start in (1, 4, 8, 16, 32)),
    *(Positions(start, by) for by in (2, 8, 32) for start in range(by)),
)
# the last of eight or 32, and the next one
LAST_AND_NEXT = tuple(Wanted(Positions(start, by)) for start, by in ((7, 8), (8, 8), (31, 32), (32, 32)))


def those_with(position: int) -> Iterator[Positions]:
    """Those that a position is one of."""
    return (one for one in POSITIONS if position in one.up_to(position))
