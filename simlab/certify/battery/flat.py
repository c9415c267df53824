"""The battery of operators of a batch: that of ``verify_batch``, and batches of many sequences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from simlab.certify.battery import batches
from simlab.certify.contracts.base import Counted
from simlab.certify.contracts.batches import BatchCase
from simlab.certify.contracts.blocks import Block, joint
from simlab.certify.contracts.operators.arrays import Arrays
from simlab.certify.contracts.operators.batches import APART, MANY, BatchLayout, OperatorBatchCase, Pairs, Pooled
from simlab.certify.contracts.verifying import OfBlock


@cache
def cases(layout: BatchLayout, arrays: Arrays) -> tuple[OperatorBatchCase, ...]:
    """Those of ``verify_batch`` that can be called so, and batches of many sequences."""
    fitting = [case for case in batches.cases() if layout.ragged or _alike(case.blocks)]
    return (*(_as_operator(case, layout, arrays) for case in fitting), *_many(layout, arrays))


def _many(layout: BatchLayout, arrays: Arrays) -> Iterator[OperatorBatchCase]:
    """Many sequences of two kinds: the one before and the one 32 before are of the other kind."""
    one = Block.of_rows(np.array([[0.5, 0.2, 0.3], [0.2, 0.2, 0.6]]), np.array([[0.2, 0.6, 0.2]]))
    other = Block.of_rows(np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]]), np.array([[0.6, 0.2, 0.2]]))
    two = Block.of_rows(np.array([[0.3, 0.7, 0.0], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]]), np.array([[0.6, 0.2, 0.2]] * 2))
    for count in MANY:
        blocks = tuple((two if layout.ragged else other) if (b + b // 32) % 2 else one for b in range(count))
        starts = np.cumsum([0, *(len(block.p) for block in blocks)])[:-1].tolist()
        events: list[Counted] = []
        for block in dict.fromkeys(blocks):
            tokens = OfBlock(block, joint(block))
            for low, high in ((0, 32), (32, 64), (64, count)):
                places = tuple(starts[b] for b in range(low, min(high, count)) if blocks[b] is block)
                if places:
                    events.append(Pooled(f"gamma = {block.gamma}, sequences {low} to {high - 1}", tokens, places))
        drafted = np.cumsum([0, *(block.gamma for block in blocks)])[:-1].tolist()  # the first draft of each
        for what, places in {"sequences": list(range(count)), "drafts": drafted}.items():
            for apart in APART:
                pairs = _pairs(blocks, places, apart)
                if pairs and (layout.ragged or what == "sequences"):
                    of = _first(blocks[pairs[0][0]]), _first(blocks[pairs[0][1]])
                    events.append(Pairs(f"{what} {apart} apart", of, tuple((starts[a], starts[b]) for a, b in pairs)))
        yield OperatorBatchCase(f"{count} sequences", blocks, tuple(events), layout=layout, arrays=arrays)


def _first(block: Block) -> OfBlock:
    return OfBlock(Block(block.p[:1], (), 0), joint(Block(block.p[:1], (), 0)))


def _pairs(blocks: tuple[Block, ...], places: list[int], apart: int) -> list[tuple[int, int]]:
    """Sequences whose places are ``apart``, of the same two kinds in every pair, none of them twice."""
    found: list[tuple[int, int]] = []
    for a in range(len(blocks)):
        b = places.index(places[a] + apart) if places[a] + apart in places else a
        kinds = (blocks[a], blocks[b]) == tuple(blocks[k] for k in found[0]) if found else True
        if a != b and kinds and not {a, b} & {k for pair in found for k in pair}:
            found.append((a, b))
    return found


@cache
def both_ends(layout: BatchLayout, arrays: Arrays) -> tuple[OperatorBatchCase, ...]:
    """Those of ``verify_batch``; where all sequences must have as many drafts, the same with a draft in each."""
    if layout.ragged:
        return tuple(_as_operator(case, layout, arrays) for case in batches.both_ends())
    half = Block.of_rows(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.5, 0.5]]))
    return tuple(
        OperatorBatchCase(case.name, both, (batches.together(both),), True, True, True, layout, arrays)
        for case in batches.both_ends()
        for both in [(case.blocks[0], half)]
    )


def simplest(layout: BatchLayout, arrays: Arrays) -> Iterator[OperatorBatchCase]:
    """Those of ``verify_batch`` that can be called so, from the smallest up."""
    for case in batches.simplest():
        if layout.ragged or _alike(case.blocks):
            yield _as_operator(case, layout, arrays)


def _as_operator(case: BatchCase, layout: BatchLayout, arrays: Arrays) -> OperatorBatchCase:
    ends = case.enumerated, case.both_ends
    return OperatorBatchCase(case.name, case.blocks, case.events, case.small, *ends, layout, arrays)


def _alike(blocks: tuple[Block, ...]) -> bool:
    return len({block.gamma for block in blocks}) == 1 and blocks[0].gamma > 0
