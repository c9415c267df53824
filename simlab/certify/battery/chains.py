"""The battery of operators of one block: that of ``verify``, and blocks without rounding in eight bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from simlab.certify.battery import verifying
from simlab.certify.battery.blocks import Named, large_blocks, long_blocks, small_blocks
from simlab.certify.contracts.base import in_turn
from simlab.certify.contracts.blocks import Block, joint
from simlab.certify.contracts.operators.arrays import Arrays
from simlab.certify.contracts.operators.chains import ChainCase
from simlab.certify.contracts.operators.layouts import Layout
from simlab.certify.contracts.verifying import OfBlock, VerifyCase


@cache
def cases(layout: Layout, arrays: Arrays) -> tuple[ChainCase, ...]:
    """The battery, the simplest first."""
    if arrays.coarse:
        return tuple(_case(layout, arrays, named, True) for named in coarse_blocks())
    found = [_case(layout, arrays, named, True) for named in small_blocks()]
    few = next(case for case in found if case.name == "one draft, two tokens")
    found.append(ChainCase("two calls in turn", few.block, in_turn(few.events[0]), layout=layout, arrays=arrays))
    return (*found, *(_case(layout, arrays, named, False) for named in (*long_blocks(), *large_blocks())))


def _case(layout: Layout, arrays: Arrays, named: Named, small: bool) -> ChainCase:
    events = tuple(OfBlock(named.block, events) for events in named.events)
    return ChainCase(named.name, named.block, events, small, layout=layout, arrays=arrays)


@cache
def coarse_blocks() -> tuple[Named, ...]:
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
    return tuple(Named(name, block, (joint(block),)) for name, block in blocks.items())


@cache
def both_ends(layout: Layout, arrays: Arrays) -> tuple[ChainCase, ...]:
    """Those of ``verify``: a mass of a billionth, and rows that are equal but for rounding.

    A token of less than 6e-8 loses every race of noise in single precision: there the mass is 1e-7.
    """
    if arrays.coarse:
        return ()
    if not layout.noisy:
        return tuple(_as_operator(case, layout, arrays) for case in verifying.both_ends())
    rare, rest = [1e-7, 1 - 1e-7], [0.5, 0.5]
    blocks = [Block.of_rows(np.array([rare, rest]), np.array([draft])) for draft in ([1.0, 0.0], rest)]
    return tuple(
        ChainCase("a mass of 1e-7", block, (OfBlock(block, joint(block)),), True, True, layout=layout, arrays=arrays)
        for block in blocks
    )


def simplest(layout: Layout, arrays: Arrays) -> Iterator[ChainCase]:
    """Blocks with few tokens and simple rows, from the smallest up."""
    if arrays.coarse:
        yield from cases(layout, arrays)
        return
    for case in verifying.simplest():
        yield _as_operator(case, layout, arrays)


def _as_operator(case: VerifyCase, layout: Layout, arrays: Arrays) -> ChainCase:
    return ChainCase(case.name, case.block, case.events, case.small, case.both_ends, layout=layout, arrays=arrays)
