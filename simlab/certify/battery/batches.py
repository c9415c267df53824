"""The battery of ``verify_batch``: sequences of different lengths and rows, few and many at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from simlab.certify.battery.blocks import Named, large_blocks, small_blocks, token_classes
from simlab.certify.contracts.base import (
    at_intervals,
    in_turn,
)
from simlab.certify.contracts.batches import BatchCase, OfRows
from simlab.certify.contracts.blocks import Block, Events, joint
from simlab.certify.contracts.verifying import OfBlock

PRINCIPAL = ("two sequences of one draft", "one sequence without drafts, one of one")


@cache
def cases() -> tuple[BatchCase, ...]:
    """The battery, the simplest first."""
    found = [*_small_ones()]
    few = found[1]
    found.append(BatchCase("two calls in turn", few.blocks, in_turn(few.events[0])))
    found.append(BatchCase("many calls in turn", few.blocks, at_intervals(few.events[0])))
    return (*found, *_of_small_blocks(), *_large_ones())


def _small_ones() -> Iterator[BatchCase]:
    """Two or three sequences, all their tokens together."""
    half, other, third = [[0.7, 0.3], [0.2, 0.8]], [[0.25, 0.75], [0.6, 0.4]], [[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]]
    few, more = [[0.4, 0.6]], [[0.8, 0.2]]
    one, two = _block(half, few), _block(other, more)
    yield _small("two sequences of one draft", (one, two), enumerated=True)
    yield _small("one sequence without drafts, one of one", (_block([[0.35, 0.65]], []), one), enumerated=True)
    yield _small("one sequence of one draft, one without", (two, _block([[0.1, 0.9]], [])), enumerated=True)
    yield _small("one sequence of two drafts, one of one", (_block(third, [[0.9, 0.1], [0.5, 0.5]]), one))
    yield _small("one sequence of one draft, one of two", (two, _block(third, [[0.1, 0.9], [0.4, 0.6]])))
    yield _small("three sequences, two of them alike", (one, one, two))
    even, certain = [0.5, 0.5], [1.0, 0.0]
    rejected = _block([[0.9, 0.1], even, even], [certain, certain])
    yield _small("two sequences of two certain drafts", (rejected, rejected))
    named = {found.name: found.block for found in small_blocks()}
    for name in ("certain drafts, accepted with 0.995", "certain drafts, accepted half the time"):
        yield _small(f"{name}; one draft", (named[name], two))
    for name in (
        "one token as likely in both",
        "rows differ, three tokens",
        "q proportional to 1/p",
        "q one-hot, as a greedy draft",
    ):
        yield _small(f"{name}; no drafts", (named[name], _block([[0.2, 0.3, 0.5]], [])))
    for name in ("disjoint supports", "zeros in p"):
        yield _small(f"{name}; no drafts", (named[name], _block([[0.1, 0.2, 0.3, 0.4]], [])))


def _of_small_blocks() -> Iterator[BatchCase]:
    """All small blocks of the battery that have the same vocabulary, as one batch."""
    by_size: dict[int, list[Named]] = {}
    for named in small_blocks():
        by_size.setdefault(named.block.vocabulary, []).append(named)
    for size, found in sorted(by_size.items()):
        yield _wide(f"{len(found)} sequences of {size} tokens", found)


def _large_ones() -> Iterator[BatchCase]:
    for named in large_blocks()[1:4]:
        block, size = named.block, named.block.vocabulary
        short_one = Block(block.p[1:], block.q[1:], 0)
        labels = named.events[0].labels
        events = Events("two tokens, by class", (0, 1), labels), *token_classes(short_one.p, short_one.q, size)
        one = Named("one draft", short_one, events)
        yield _wide(f"two sequences of {size} tokens", [named, one])


def _wide(name: str, found: list[Named]) -> BatchCase:
    """Events of each sequence, and first tokens of three neighbours, the last of which are the first of the next."""
    blocks = tuple(named.block for named in found)
    starts = np.cumsum([0, *(len(block.p) for block in blocks)]).tolist()
    own = [
        OfRows(f"{named.name}: {events.name}", (OfBlock(named.block, events),), (start,))
        for named, start in zip(found, starts, strict=False)
        for events in named.events
    ]
    firsts = [OfBlock(named.block, Events("first token", (0,), named.events[0].labels)) for named in found]
    together = [
        OfRows(f"first tokens of sequences {b} to {end - 1}", tuple(firsts[b:end]), tuple(starts[b:end]))
        for b in range(0, len(found) - 1, 2)
        for end in [min(b + 3, len(found))]
    ]
    return BatchCase(name, blocks, (*own, *together))


@cache
def both_ends() -> tuple[BatchCase, ...]:
    """Two tokens, the first with a mass of a billionth: drafted, it must come out with the coins at one of their ends.

    No more than that can be asked of single precision, in which 1 - 1e-9 is 1.
    """
    rest = _block([[0.5, 0.5]], [])
    return tuple(
        _small(
            f"a mass of 1e-9, drafted with {draft[0]}",
            (_block([[1e-9, 1 - 1e-9], [0.5, 0.5]], [draft]), rest),
            enumerated=True,
            both_ends=True,
        )
        for draft in ([1.0, 0.0], [0.5, 0.5])
    )


def simplest() -> Iterator[BatchCase]:
    """Two sequences of two tokens, then ragged ones and three tokens, from the smallest up."""
    even, high, low, one = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [1.0, 0.0]
    for first, second, q in ((even, high, low), (high, even, low), (low, high, even), (even, one, high)):
        lone, drafted = _block([second], []), _block([first, second], [q])
        other, longer = _block([second, first], [first]), _block([first, second, first], [q, first])
        batches: list[tuple[Block, ...]] = [(_block([first], []), lone), (drafted, lone), (lone, drafted)]
        batches += [(drafted, drafted), (drafted, other), (drafted, lone, other), (longer, other), (other, longer)]
        for blocks in batches:
            gammas = [block.gamma for block in blocks]
            yield _small(f"V = 2, gammas {', '.join(map(str, gammas))}", blocks, enumerated=sum(gammas) < 3)
    third, rising = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    yield _small("V = 3, gammas 1, 0", (_block([third, rising], [rising]), _block([third], [])), enumerated=True)


def _small(name: str, blocks: tuple[Block, ...], enumerated: bool = False, both_ends: bool = False) -> BatchCase:
    return BatchCase(name, blocks, (together(blocks),), True, enumerated, both_ends)


def together(blocks: tuple[Block, ...]) -> OfRows:
    """All tokens of all sequences."""
    starts = tuple(np.cumsum([0, *(len(block.p) for block in blocks)]).tolist()[:-1])
    return OfRows("all tokens together", tuple(OfBlock(block, joint(block)) for block in blocks), starts)


def _block(p: list[list[float]], q: list[list[float]]) -> Block:
    return Block(tuple(np.array([row]) for row in p), tuple(np.array([row]) for row in q), 0)
