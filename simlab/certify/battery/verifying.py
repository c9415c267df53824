"""The battery of blocks: small ones, long ones and large vocabularies, calls in turn, and coins at their ends.

It is that of ``verify``, and of operators of one block; for rows in eight bits there are blocks without rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from simlab.arrays import Array
from simlab.certify.battery.blocks import HardBlock, large_blocks, long_blocks, small_blocks
from simlab.certify.contracts.arrays import DOUBLE, Arrays
from simlab.certify.contracts.blocks import Block
from simlab.certify.contracts.cases import BlocksCase
from simlab.certify.contracts.events import Events, at_intervals, in_turn, joint
from simlab.certify.contracts.layouts import Layout
from simlab.certify.contracts.verifying import VERIFY

PRINCIPAL = ("one draft, two tokens", "rows differ, three tokens")


@cache
def cases(layout: Layout = VERIFY, arrays: Arrays = DOUBLE) -> tuple[BlocksCase, ...]:
    """The battery, the simplest first."""

    def case(name: str, block: Block, events: tuple[Events, ...], small: bool = False) -> BlocksCase:
        return BlocksCase(name, (block,), events, small, layout=layout, arrays=arrays)

    def known(named: HardBlock, small: bool = False) -> BlocksCase:
        return case(named.name, named.block, tuple(one.of(named.block) for one in named.events), small)

    if arrays.coarse:
        return tuple(known(named, small=True) for named in coarse_blocks())
    found = [known(named, small=True) for named in small_blocks()]
    (block,), (events, *_) = found[0].blocks, found[0].events
    found.append(case("two calls in turn", block, in_turn(events)))
    if not layout.coins:
        found.append(case("many calls in turn", block, at_intervals(events)))
    return (*found, *(known(named) for named in (*long_blocks(), *large_blocks())))


@cache
def coarse_blocks() -> tuple[HardBlock, ...]:
    """Blocks without rounding where numbers have eight bits: ratios, residuals and CDFs are multiples of 1/256."""
    found = {
        "one draft, two tokens": ([[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5]]),
        "two drafts, two tokens": ([[0.75, 0.25], [0.25, 0.75], [0.125, 0.875]], [[0.5, 0.5]] * 2),
        "one draft, three tokens": ([[0.25, 0.375, 0.375], [0.5, 0.125, 0.375]], [[0.5, 0.25, 0.25]]),
        "certain drafts of three tokens": ([[0.5, 0.375, 0.125], [0.25, 0.25, 0.5]], [[1.0, 0.0, 0.0]]),
        "one draft, four tokens": ([[0.125, 0.125, 0.375, 0.375], [0.25] * 4], [[0.5, 0.25, 0.125, 0.125]]),
        "disjoint supports": ([[0.25, 0.75, 0.0, 0.0], [0.25] * 4], [[0.0, 0.0, 0.5, 0.5]]),
        "zeros in p": ([[0.0, 0.75, 0.25, 0.0], [0.25] * 4], [[0.25, 0.25, 0.25, 0.25]]),
        "q = p": ([[0.625, 0.375], [0.25, 0.75]], [[0.625, 0.375]]),
        "p one-hot": ([[0.0, 1.0, 0.0], [0.25, 0.25, 0.5]], [[0.25, 0.5, 0.25]]),
        "a mass of 1/256": ([[1 / 256, 255 / 256], [0.5, 0.5]], [[1.0, 0.0]]),
    }
    blocks = {name: Block.of_rows(np.array(p), np.array(q)) for name, (p, q) in found.items()}
    return tuple(HardBlock(name, block, (joint(block),)) for name, block in blocks.items())


@cache
def both_ends(layout: Layout = VERIFY, arrays: Arrays = DOUBLE) -> tuple[BlocksCase, ...]:
    """Cases for coins at their ends.

    Two tokens, the first with a mass of a billionth: drafted, it must come out with the coins at one of their ends.
    (That a rare token comes out that was not drafted, or is the last of its row, is not asked: 1 - 1e-9 is 1 in single
    precision.) And rows that are equal but for rounding, so that a draft can be rejected where the residual is zero.
    A token of less than 6e-8 loses every race of noise in single precision: there the mass is 1e-7.
    """
    if arrays.coarse:
        return ()
    rare, rest = 1e-7 if layout.noisy else 1e-9, [0.5, 0.5]
    p, equal = np.array([[rare, 1 - rare], rest]), np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    rarely = tuple(
        _small(name, p, np.array([draft]), layout, arrays, both_ends=True)
        for draft in ([1.0, 0.0], rest)
        for name in ("a mass of 1e-7" if layout.noisy else f"a mass of 1e-9, drafted with {draft[0]}",)
    )
    above = equal[:1] * (1 + 8 * 2.0**-arrays.bits)
    rounded = _small("q above p by a rounding error", equal, above, layout, arrays)
    return rarely if layout.noisy else (rounded, *rarely)


def simplest(layout: Layout = VERIFY, arrays: Arrays = DOUBLE) -> Iterator[BlocksCase]:
    """Blocks with few tokens and simple rows, from the smallest up."""
    if arrays.coarse:
        yield from cases(layout, arrays)
        return
    for size, gamma in ((2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (2, 3)):
        rows = _simple_rows(size)
        for shift in range(len(rows)):
            for other in range(1, len(rows)):
                p = np.array([rows[(shift + i) % len(rows)] for i in range(gamma + 1)])
                q = np.array([rows[(shift + other + i) % len(rows)] for i in range(gamma)])
                yield _small(f"V = {size}, gamma = {gamma}", p, q, layout, arrays)


def _simple_rows(size: int) -> list[list[float]]:
    """Rows of halves, quarters and nothing, the simplest first."""
    rows = {
        2: [[1, 1], [3, 1], [1, 3], [1, 0], [0, 1]],
        3: [[2, 1, 1], [1, 2, 1], [1, 1, 2], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0]],
        4: [[1, 1, 1, 1], [4, 3, 2, 1], [1, 2, 3, 4], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]],
    }[size]
    return [[weight / sum(row) for weight in row] for row in rows]


def _small(name: str, p: Array, q: Array, layout: Layout, arrays: Arrays, both_ends: bool = False) -> BlocksCase:
    block = Block.of_rows(p, q)
    events = (joint(block).of(block),)
    return BlocksCase(name, (block,), events, True, both_ends=both_ends, layout=layout, arrays=arrays)
