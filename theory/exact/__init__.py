"""Exact laws by enumeration, of one step, of a block, of a whole sequence."""

from theory.exact.laws import (
    Law,
    acceptance,
    block_acceptance,
    block_law,
    complete,
    deviation,
    mean,
    merged_unfinished,
    sequence_law,
    step_law,
    target_law,
    transitions,
)

__all__ = [
    "Law",
    "acceptance",
    "block_acceptance",
    "block_law",
    "complete",
    "deviation",
    "mean",
    "merged_unfinished",
    "sequence_law",
    "step_law",
    "target_law",
    "transitions",
]
