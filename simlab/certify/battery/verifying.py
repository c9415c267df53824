"""The battery of ``verify``: small blocks, long ones and large vocabularies, calls in turn, and coins at their ends."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from simlab.arrays import Array
from simlab.certify.battery.blocks import Named, large_blocks, long_blocks, small_blocks
from simlab.certify.contracts.base import (
    at_intervals,
    in_turn,
)
from simlab.certify.contracts.blocks import Block, joint
from simlab.certify.contracts.verifying import OfBlock, VerifyCase

PRINCIPAL = ("one draft, two tokens", "rows differ, three tokens")


@cache
def cases() -> tuple[VerifyCase, ...]:
    """The battery, the simplest first."""
    found = [_case(named, small=True) for named in small_blocks()]
    few = next(case for case in found if case.name == "one draft, two tokens")
    found.append(VerifyCase("two calls in turn", few.block, in_turn(few.events[0])))
    found.append(VerifyCase("many calls in turn", few.block, at_intervals(few.events[0])))
    return (*found, *(_case(named) for named in (*long_blocks(), *large_blocks())))


def _case(named: Named, small: bool = False) -> VerifyCase:
    events = tuple(OfBlock(named.block, events) for events in named.events)
    return VerifyCase(named.name, named.block, events, small)


# Small ones ----------------------------------------------------------------------------------------------------


@cache
def both_ends() -> tuple[VerifyCase, ...]:
    """Cases for coins at their ends.

    Two tokens, the first with a mass of a billionth: drafted, it must come out with the coins at one of their ends.
    (That a rare token comes out that was not drafted, or is the last of its row, is not asked: 1 - 1e-9 is 1 in single
    precision.) And rows that are equal but for rounding, so that a draft can be rejected where the residual is zero.
    """
    rare, rest = [1e-9, 1 - 1e-9], [0.5, 0.5]
    p = np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    return (
        _small("q above p by a rounding error", p, p[:1] * (1 + 2.0**-50)),
        *(
            _small(f"a mass of 1e-9, drafted with {draft[0]}", np.array([rare, rest]), np.array([draft]), True)
            for draft in ([1.0, 0.0], rest)
        ),
    )


def simplest() -> Iterator[VerifyCase]:
    """Blocks with few tokens and simple rows, from the smallest up."""
    for size, gamma in ((2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (2, 3)):
        rows = _simple_rows(size)
        for shift in range(len(rows)):
            for other in range(1, len(rows)):
                p = np.array([rows[(shift + i) % len(rows)] for i in range(gamma + 1)])
                q = np.array([rows[(shift + other + i) % len(rows)] for i in range(gamma)])
                yield _small(f"V = {size}, gamma = {gamma}", p, q)


def _simple_rows(size: int) -> list[list[float]]:
    """Rows of halves, quarters and nothing, the simplest first."""
    rows = {
        2: [[1, 1], [3, 1], [1, 3], [1, 0], [0, 1]],
        3: [[2, 1, 1], [1, 2, 1], [1, 1, 2], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0]],
        4: [[1, 1, 1, 1], [4, 3, 2, 1], [1, 2, 3, 4], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]],
    }[size]
    return [[weight / sum(row) for weight in row] for row in rows]


def _small(name: str, p: Array, q: Array, both_ends: bool = False) -> VerifyCase:
    block = Block.of_rows(p, q)
    return VerifyCase(name, block, (OfBlock(block, joint(block)),), True, both_ends)
