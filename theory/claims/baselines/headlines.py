"""A result of ours on block verification to take home."""

from __future__ import annotations

from theory.claims.headlines import Result

TAKE_HOME = (
    Result(
        "block.optimal",
        "Block verification accepts the most",
        "The mass that accepts a prefix of drafts is at most that of drafting its beginning and letting the target go "
        "on, for every beginning. Block verification reaches all of these bounds at once, and linear programs agree.",
    ),
)
